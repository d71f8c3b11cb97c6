import * as z from 'zod';
import { integer } from '../../lib/option-types.ts';
import type { UploadLimits } from './upload-store.ts';

const longestLifeS = 2_592_000;

/** `server.uploads`: uploads that may take several requests. */
export const uploadOptions = z
  .strictObject({
    expire_after: integer(60, longestLifeS)
      .default(86_400)
      .describe('Seconds without a request after which an unfinished resumable upload is removed.'),
    maximum_per_account: integer(1, 1_000_000).default(1000).describe('Maximum number of unfinished resumable uploads of one account.'),
  })
  .describe('Unfinished resumable uploads.');

/** Converts the options into limits. */
export function uploadLimits({ expire_after, maximum_per_account }: z.infer<typeof uploadOptions>): UploadLimits {
  return { expireAfterMs: expire_after * 1000, maxPerAccount: maximum_per_account };
}
