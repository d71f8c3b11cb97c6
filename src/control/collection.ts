import * as z from 'zod';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { ServiceError } from '../lib/errors.ts';

/** What a request is about; without any member everything. */
export interface Selection {
  ids?: readonly string[] | undefined;
  account?: string | undefined;
  /** An address, or a CIDR range. */
  address?: string | undefined;
  /** Says that no other member means everything; to remove, that has to be said. */
  all?: boolean | undefined;
}

/** What things of all kinds are selected by. */
interface Selectable {
  readonly id: string;
  readonly account?: string;
  readonly address?: string;
}

/** A selection as the query of a request. */
export function selectionQuery({ ids = [], account, address, all }: Selection): URLSearchParams {
  return new URLSearchParams([
    ...ids.map((id): [string, string] => ['id', id]),
    ...(account === undefined ? [] : [['account', account] as [string, string]]),
    ...(address === undefined ? [] : [['address', address] as [string, string]]),
    ...(all ? [['all', '1'] as [string, string]] : []),
  ]);
}

/** Reads `selectionQuery`. @throws ServiceError `bad-request` for anything else in it */
export function parseSelection(query: URLSearchParams): Selection {
  for (const name of query.keys())
    if (!['id', 'account', 'address', 'all'].includes(name)) throw new ServiceError('bad-request', `There is no parameter "${name}".`);
  return {
    ids: query.has('id') ? query.getAll('id') : undefined,
    account: query.get('account') ?? undefined,
    address: query.get('address') ?? undefined,
    all: query.has('all'),
  };
}

/** Whether something narrows it down. */
function isNarrowed({ ids, account, address }: Selection): boolean {
  return ids !== undefined || account !== undefined || address !== undefined;
}

/**
 * Which things a selection means; all of its members must hold.
 *
 * @throws ServiceError `bad-request` for an address that is none
 */
function selects({ ids, account, address }: Selection): (item: Selectable) => boolean {
  const wanted = ids && new Set(ids);
  const isNear = address === undefined ? () => true : meets(address);
  return (item) => (wanted?.has(item.id) ?? true) && (account === undefined || item.account === account) && isNear(item.address ?? '');
}

/** Whether an address or range lies in another, or the other in it. */
function meets(wanted: string): (address: string) => boolean {
  const isWithin = compileAddressRanges([wanted]);
  return (address) => isWithin(first(address)) || (address.includes('/') && compileAddressRanges([address])(first(wanted)));
}

function first(range: string): string {
  return range.split('/', 1)[0] ?? '';
}

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

/** Kinds of things that a running service lists and removes on demand. */
export type CollectionName = keyof typeof shownItems;

/** Those that commands ask for by the control socket. */
export const controlledNames = ['sessions', 'locks', 'bans'] as const satisfies CollectionName[];
export type ControlledName = (typeof controlledNames)[number];

export type Shown<Name extends CollectionName> = z.infer<(typeof shownItems)[Name]>;

/** A thing of any kind. */
export interface ShownItem extends Selectable {
  readonly [name: string]: string | number | null | undefined;
}

/** A thing with what its store knows it by, which is not shown. */
export interface Item<Form extends ShownItem = ShownItem> {
  readonly handle: string;
  readonly shown: Form;
}

/** Things of one kind. */
export interface Collection {
  /** How things of an account are named in it; as the account itself where this is left out. */
  readonly nameOf?: (account: string) => string;
  list(): Promise<Item[]>;
  /** When it resolves they are gone for all requests to come, whichever process answers them. */
  remove(items: readonly Item[]): Promise<void>;
}

export type Collections = Readonly<Record<CollectionName, Collection>>;

/** Things that a selection means. */
export async function selectedItems(collection: Collection, selection: Selection): Promise<Item[]> {
  const account = selection.account === undefined ? undefined : (collection.nameOf?.(selection.account) ?? selection.account);
  const isSelected = selects({ ...selection, account });
  return (await collection.list()).filter(({ shown }) => isSelected(shown));
}

/**
 * Removes the things that a selection means.
 *
 * @returns what was removed
 * @throws ServiceError `bad-request` for a selection that names nothing and does not say `all`, or says both
 */
export async function removeSelected(collection: Collection, selection: Selection): Promise<Item[]> {
  if (isNarrowed(selection) === (selection.all ?? false))
    throw new ServiceError('bad-request', 'Name what to remove by id, account or address, or say all.');
  const items = await selectedItems(collection, selection);
  await collection.remove(items);
  return items;
}
