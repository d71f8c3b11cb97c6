import * as z from 'zod';
import { shownItems } from '../../control/collection.ts';
import { shownGrants } from '../../control/shown-grants.ts';
import { count, text } from '../../control/shown-node.ts';
import { grantOrder } from './accounts.ts';
import { discardOrder, heldOrder, heldResults, highestLimit, restoreOrder, restoreResults, usualLimit } from './collections.ts';
import type { Operation } from './openapi/operation.ts';
import { accountPage, accountQuery, accountView, heldTargets } from './schemas/accounts.ts';

/** The query that selects items of one collection, such as sessions, locks, bans, uploads or deleted files. */
const whichItems = z.object({
  id: z.array(text).describe('ID of an item; repeatable.'),
  account: text.describe('Name of an account.'),
  address: text.describe('Address, or range in CIDR notation.'),
});
const search = z
  .string()
  .optional()
  .describe('Part of any text of an item, such as its account, address or path; upper and lower case do not matter.');
const listedItems = whichItems.extend({
  search,
  limit: z.int().min(1).max(highestLimit).default(usualLimit).describe('Maximum number of items.'),
});
const removedItems = whichItems.extend({
  all: z.enum(['1']).describe('Removes all items; required if no other parameter is given.'),
});

const removedCount = z.object({ removed: count });

const grantList = z.object({ items: z.array(shownGrants), total: z.number() });
const grantQuery = z.object({
  account: z.string().optional().describe('Name of an account.'),
  search,
  limit: z.int().min(1).max(highestLimit).default(usualLimit).describe('Maximum number of items.'),
});
const revokedGrants = z.object({
  revoked: z.array(z.string()).describe('IDs of all revoked tokens and links, including those that were created with a revoked token.'),
});

/** The operations on accounts, and on collections such as sessions, bans, held uploads and tokens. */
export const accountOperations: Record<string, Operation> = {
  'GET /api/accounts': {
    id: 'listAccounts',
    summary: 'Accounts: those of the configuration and of accounts files, and those that an authentication endpoint accepted.',
    description:
      'Sorted by name. An account that only an authentication endpoint knows is listed if a session or the journal mentions it. The usage of accounts with a quota is counted for at most 1.5 seconds per page.',
    query: accountQuery,
    reply: ['A page.', accountPage],
    refusals: [400],
  },
  'GET /api/accounts/{name}': {
    id: 'showAccount',
    summary: 'One account.',
    reply: ['The account.', accountView],
    refusals: [400, 404],
  },
  ...itemOperations('sessions', 'Sessions of accounts, like `svc sessions list`.', 'End sessions: their holders get 401 from now on.'),
  ...itemOperations('locks', 'WebDAV locks, like `svc locks list`.', 'Break locks.'),
  ...itemOperations('bans', 'Bans of addresses and of account names, like `svc bans list`.', 'Lift bans.'),
  ...grantOperations('token', 'Access tokens'),
  ...grantOperations('link', 'Links'),
  ...itemOperations(
    'trash',
    'The items in the trash of accounts, newest first, like `svc trash list`.',
    'Delete items in the trash for good.',
  ),
  'POST /api/trash/restore': {
    id: 'restoreTrash',
    summary: 'Restore items from the trash to their former paths, like `svc trash restore`; or one item to another path.',
    body: restoreOrder,
    reply: ['The outcome for each item.', restoreResults],
    refusals: [400],
  },
  ...itemOperations('held', 'Uploads that inspections hold, like `svc held list`.'),
  'POST /api/held/release': heldAction(
    'releaseHeld',
    'Release held uploads: after all checks except the inspections, they get their names.',
    heldOrder,
  ),
  'POST /api/held/discard': heldAction('discardHeld', 'Discard held uploads and delete their files.', discardOrder),
  'POST /api/held/inspect-again': heldAction('inspectHeldAgain', 'Have held uploads inspected again, in the background.', heldOrder),
  'POST /api/held/targets': {
    id: 'findHeldTargets',
    summary: 'What has the names of held uploads now, and would be replaced by a release.',
    description: 'Changes nothing. The role `reviewer` is enough.',
    body: heldOrder,
    reply: ['The item that has the name of each upload.', heldTargets],
  },
  'GET /api/held/{id}/content': {
    id: 'downloadHeld',
    summary: 'The file of a held upload, for the roles reviewer and operator.',
    reply: ['The file.', 'application/octet-stream'],
    headers: ['Content-Disposition'],
    refusals: [403, 404],
  },
  ...itemOperations(
    'uploads',
    'Unfinished uploads that consist of several requests. The upload that was continued last comes first.',
    'Cancel unfinished uploads; a request that is sending content is cut.',
  ),
};

function heldAction(id: string, summary: string, body: z.ZodType): Operation {
  const description = 'The role `reviewer` is enough. Items that failed have an `error`.';
  return { id, summary, description, body, reply: ['The outcome for each item.', heldResults] };
}

function grantOperations(kind: 'token' | 'link', name: string): Record<string, Operation> {
  const ofGrants = (verb: string) => `${verb}${kind === 'token' ? 'Tokens' : 'Links'}`;
  return {
    [`GET /api/${kind}s`]: {
      id: ofGrants('list'),
      summary: `Valid ${name.toLowerCase()}, newest first, like \`svc ${kind}s list\`.`,
      query: grantQuery,
      reply: ['The items, and how many there are in all.', grantList],
      refusals: [400],
    },
    [`POST /api/${kind}s/revoke`]: {
      id: ofGrants('revoke'),
      summary: `Revoke ${name.toLowerCase()}; sessions and transfers that were opened with them end within a second.`,
      body: grantOrder,
      reply: [`The ${name.toLowerCase()} that were revoked.`, revokedGrants],
      refusals: [400],
    },
  };
}

/**
 * The operations on one collection.
 *
 * @param listed summary of GET
 * @param removed summary of DELETE; undefined if the collection has no DELETE
 */
function itemOperations(name: keyof typeof shownItems, listed: string, removed?: string): Record<string, Operation> {
  const items = z.object({ items: z.array(shownItems[name]), total: count });
  const ofItems = (verb: string) => `${verb}${itemName(name)}s`;
  return {
    [`GET /api/${name}`]: {
      id: ofItems('list'),
      summary: listed,
      query: listedItems,
      reply: ['The items, and how many there are in all.', items],
      refusals: [400],
    },
    ...(removed !== undefined && {
      [`DELETE /api/${name}`]: {
        id: ofItems('remove'),
        summary: removed,
        query: removedItems,
        reply: ['The number of removed items.', removedCount],
        refusals: [400],
      },
    }),
  };
}

/** Returns the name of an item's schema. */
export function itemName(name: keyof typeof shownItems): string {
  return name === 'trash' ? 'TrashItem' : `${name[0]?.toUpperCase()}${name.slice(1, -1)}`;
}
