import * as z from 'zod';
import { integer, largestSizeBytes, number } from '../lib/option-types.ts';

/** `server.events`: the journal. */
export const journalOptions = z
  .strictObject({
    retention_days: number(0.01, 36_500).default(30).describe('Days that events are kept in the journal.'),
    maximum_file_size: integer(65_536, largestSizeBytes)
      .default(67_108_864)
      .describe('Size of a journal file, in bytes, after which the next one begins.'),
  })
  .describe('The event journal.');
