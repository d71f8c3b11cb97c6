import * as z from 'zod';
import { administratorRoles } from '../../../config/schema/console-options.ts';
import { count, text } from '../../../control/shown-node.ts';
import { highestLimit, usualLimit } from '../collections.ts';

/** `GET /api/me`: who has logged in. */
export const administrator = z.object({ name: text, role: z.enum(administratorRoles) });

/** `POST /api/login`. */
export const passwordLogin = z.object({ username: text, password: text.meta({ format: 'password' }) });

/** The query that says which sessions, locks, bans or uploads are meant. */
const whichItems = z.object({
  id: z.array(text).describe('ID of an item; several are given by several parameters.'),
  account: text.describe('Name of an account.'),
  address: text.describe('Address, or a range in CIDR notation, that theirs lies in.'),
});
export const listedItems = whichItems.extend({
  limit: z.int().min(1).max(highestLimit).default(usualLimit).describe('Most items that are listed.'),
});
export const removedItems = whichItems.extend({
  all: z.enum(['1']).describe('Says that no other parameter means everything.'),
});

/** `DELETE /api/sessions` and the like. */
export const removedCount = z.object({ removed: count });
