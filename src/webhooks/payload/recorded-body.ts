import * as z from 'zod';

/**
 * How a body is kept with the record of its delivery, so that the very same bytes can be sent again: as text, or as what
 * stands before and behind the journal's lines.
 */
export const recordedBody = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ before: z.string(), after: z.string() }),
  z.strictObject({ query: z.array(z.tuple([z.string(), z.string()])) }),
]);
export type RecordedBody = z.infer<typeof recordedBody>;
