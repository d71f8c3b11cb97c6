import * as z from 'zod';
import { count, text, time } from '../../../control/shown-node.ts';
import { accountLimits } from '../limits.ts';

/** An account, with what the current configuration and the journal say about it. */
export const accountView = z.object({
  name: text,
  source: z
    .enum(['configuration', 'accounts_file', 'login'])
    .describe(
      'How svc knows the account. `login`: an authentication endpoint accepted a login of the account, and the journal or a session mentions the account.',
    ),
  method: text.describe('UUID of the authentication method of the account; empty if it is not known.'),
  enabled: z.boolean().describe('False if the account or its group is disabled.'),
  problem: text.describe('Why nobody can log in to the account as it is configured; empty if there is no such reason.'),
  group: text.describe('UUID of the group of the account; empty if it is not known.'),
  group_name: text.describe('Name of the group; empty if it has none.'),
  home: text.describe('Home folder on disk; empty if only the authentication endpoint knows it.'),
  quota_bytes: count.nullable().describe('Null without a quota.'),
  used_bytes: count.nullable().describe('Bytes that count towards the quota; null without a quota, and until they are counted.'),
  last_login: z
    .object({ time, address: text, service: text.describe('UUID.'), method: text.describe('UUID.') })
    .nullable()
    .describe('The newest login in the journal. Null if none was found; while `logins_complete` is false, one may still be found.'),
  sessions: z
    .array(z.object({ service: text.describe('UUID.'), count, last_used: time }))
    .describe('The sessions of the account, one item for each service where it has any.'),
});
export type AccountView = z.infer<typeof accountView>;

/** The reply to `GET /api/accounts`. */
export const accountPage = z.object({
  items: z.array(accountView).describe('Sorted by name.'),
  total: count.describe('Number of accounts that match.'),
  next: text.nullable().describe('`cursor` of the next page; null on the last one.'),
  logins_since: time.nullable().describe('Time of the oldest login that was read from the journal.'),
  logins_complete: z.boolean().describe('False while logins are still being read from the journal. The first request starts the reading.'),
});
export type AccountPage = z.infer<typeof accountPage>;

export const accountQuery = z.object({
  search: text.describe('Part of the name; upper and lower case do not matter.'),
  group: text.describe('UUID of the group.'),
  limit: z.int().min(1).max(accountLimits.max).default(accountLimits.usual).describe('Maximum number of accounts.'),
  cursor: text.describe('`next` of the previous page.'),
});

/** The items that have the names of held uploads. */
export const heldTargets = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      target: z
        .object({
          size: z.number().describe('Size in bytes.'),
          modified: time,
          outcome: z
            .enum(['replaced', 'numbered', 'refused'])
            .describe('Result of a release: it replaces the item, the upload gets a numbered name, or the release fails.'),
        })
        .nullable()
        .optional()
        .describe('The item that has the name of the upload; null if the name is free.'),
      error: z.string().optional().describe('Why nothing was found out; absent if `target` is given.'),
      code: z.string().optional().describe('The reason as a code, such as `not-found` if the upload is no longer held.'),
    }),
  ),
});
export type HeldTargets = z.infer<typeof heldTargets>;
