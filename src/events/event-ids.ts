import { definitions } from './catalogue.ts';

/** Event IDs by name in the code. */
export const eventIds = Object.fromEntries(Object.entries(definitions).map(([name, { id }]) => [name, id])) as Record<
  keyof typeof definitions,
  number
>;

/** The events about a complete file at its final path: uploaded, released from review, or renamed from a temporary name. */
export const arrivalIds: readonly number[] = [eventIds.fileUploaded, eventIds.sftpFileUploaded];
