import * as z from 'zod';

/** Things as they are shown, by kind: names in the form of `--json`, times in ISO 8601. */
export const shownItems = {
  sessions: z.strictObject({
    id: z.string().describe('Names the session in remove; nobody can sign in with it.'),
    service: z.string().describe('UUID of the service.'),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Where the login came from; empty when that is not known.'),
    created: z.string(),
    expires: z.string().describe('When it ends unless it is used before.'),
  }),
  locks: z.strictObject({
    id: z.string().describe('Names the lock in remove.'),
    path: z.string().describe('Real path.'),
    depth: z.enum(['0', 'infinity']),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Where the request came from; empty when that is not known.'),
    owner: z.string().describe('What the client said about its owner.'),
    expires: z.string(),
  }),
  bans: z.strictObject({
    id: z.string().describe('Names the ban in remove.'),
    address: z.string().describe('An IPv4 address, or the /64 of IPv6 addresses; empty for the limit of a name.'),
    account: z
      .string()
      .describe(
        'Name that was guessed at too often, in lower case; `administrator/NAME` for one of the console; empty for an address, and for all names that no account can have.',
      ),
    expires: z.string(),
  }),
  uploads: z.strictObject({
    id: z.string().describe('Names the upload here; it is no part of its URL.'),
    service: z.string().describe('UUID of the service.'),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Where it was begun; empty when that is not known.'),
    path: z.string().describe('Virtual path that the file will have.'),
    received_bytes: z.number(),
    total_bytes: z.number().nullable().describe('Size of the whole; null while the client has not said it.'),
    expires: z.string().describe('When it is given up unless its client goes on.'),
  }),
} as const satisfies Record<string, z.ZodObject>;
