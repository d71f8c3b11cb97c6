import { definitions } from './catalogue.ts';

/** The IDs of events by their names in the code. docs/reference/events.md lists them by number. */
export const eventIds = Object.fromEntries(Object.entries(definitions).map(([name, { id }]) => [name, id])) as Record<
  keyof typeof definitions,
  number
>;

/** The events that report a complete file: uploaded, released from review, or renamed to its final name. */
export const arrivalIds: readonly number[] = [eventIds.fileUploaded, eventIds.sftpFileUploaded];
