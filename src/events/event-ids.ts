import { definitions } from './catalogue.ts';

/** The ID of each event by its name in the code. docs/reference/events.md lists the events by ID. */
export const eventIds = Object.fromEntries(Object.entries(definitions).map(([name, { id }]) => [name, id])) as Record<
  keyof typeof definitions,
  number
>;

/**
 * The events which report that a complete file has its final path. The file was uploaded, released from review, or renamed from a temporary
 * name.
 */
export const arrivalIds: readonly number[] = [eventIds.fileUploaded, eventIds.sftpFileUploaded];
