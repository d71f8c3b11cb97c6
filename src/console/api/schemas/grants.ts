import * as z from 'zod';
import { shownGrants } from '../../../control/shown-grants.ts';
import { highestLimit, usualLimit } from '../collections.ts';

export const grantList = z.object({ items: z.array(shownGrants), total: z.number() });
export const grantQuery = z.object({
  account: z.string().optional().describe('Name of an account.'),
  limit: z.int().min(1).max(highestLimit).default(usualLimit).describe('Maximum number of items.'),
});
export const revokedGrants = z.object({
  revoked: z.array(z.string()).describe('IDs of those that ended, including those created with them.'),
});
