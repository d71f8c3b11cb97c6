import { definitions } from './catalogue.ts';

/** IDs of events by their names in the code (docs/reference/events.md has them by number). */
export const eventIds = Object.fromEntries(Object.entries(definitions).map(([name, { id }]) => [name, id])) as Record<
  keyof typeof definitions,
  number
>;

/** Events of files that are complete: uploaded, released from review, or renamed to their final names. */
export const arrivalIds: readonly number[] = [eventIds.fileUploaded, eventIds.sftpFileUploaded];
