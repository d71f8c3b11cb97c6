import * as z from 'zod';
import type { HeldContent } from '../files/inspections/holding.ts';
import type { ReleaseTarget } from '../files/inspections/release.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { ServiceError } from '../lib/errors.ts';
import { fault } from '../webhooks/records/delivery-record-schema.ts';

/** A selection of items. An item must match every given member. Without members, all items are selected. */
export interface Selection {
  ids?: readonly string[] | undefined;
  account?: string | undefined;
  /** An address or a CIDR range. */
  address?: string | undefined;
  /** Confirms that all items are meant. A removal requires `all` if no other member is given. */
  all?: boolean | undefined;
}

/** Converts a selection to the query of a request. */
export function selectionQuery({ ids = [], account, address, all }: Selection): URLSearchParams {
  const query = new URLSearchParams(ids.map((id): [string, string] => ['id', id]));
  if (account !== undefined) query.set('account', account);
  if (address !== undefined) query.set('address', address);
  if (all) query.set('all', '1');
  return query;
}

/** Parses a query that was made by `selectionQuery`. @throws ServiceError `bad-request` for unknown parameters */
export function parseSelection(query: URLSearchParams): Selection {
  for (const name of query.keys())
    if (!['id', 'account', 'address', 'all'].includes(name)) throw new ServiceError('bad-request', `The parameter "${name}" is not known.`);
  return {
    ids: query.has('id') ? query.getAll('id') : undefined,
    account: query.get('account') ?? undefined,
    address: query.get('address') ?? undefined,
    all: query.has('all'),
  };
}

/**
 * Creates a function that checks whether an address or range is within `wanted` or contains `wanted`. @throws ServiceError `bad-request`
 * for an invalid address
 */
function overlaps(wanted: string): (address: string) => boolean {
  const first = (range: string) => range.split('/', 1)[0] ?? '';
  const isWithin = compileAddressRanges([wanted]);
  return (address) => isWithin(first(address)) || (address.includes('/') && compileAddressRanges([address])(first(wanted)));
}

/** The JSON of items of each kind, which is also the output of `--json`. Times are in ISO 8601. */
export const shownItems = {
  sessions: z.strictObject({
    id: z.string().describe('ID for `remove`; nobody can sign in with it.'),
    service: z.string().describe('UUID of the service.'),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Address of the login; empty if unknown.'),
    client: z.string().describe('Name that the client program sends (`User-Agent`, or the version of SSH); empty if it sends none.'),
    created: z.string(),
    last_used: z.string(),
    expires: z.string().describe('End of the session if it is not used.'),
  }),
  locks: z.strictObject({
    id: z.string().describe('ID for `remove`.'),
    path: z.string().describe('Real path of the locked file or folder.'),
    depth: z.enum(['0', 'infinity']),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Address of the client; empty if unknown.'),
    owner: z.string().describe('Name of the owner that the client sent.'),
    expires: z.string(),
  }),
  bans: z.strictObject({
    id: z.string().describe('ID for `remove`.'),
    address: z.string().describe('An IPv4 address, or the /64 network of an IPv6 address; empty for the ban of a name.'),
    account: z
      .string()
      .describe(
        'Name with too many failed logins, in lower case; `administrator/NAME` for an administrator, `link/ID` for a link with a password; empty for the ban of an address.',
      ),
    logins: z
      .enum(['files', 'console', 'links'])
      .describe('Kind of login that is refused. Failed logins of each kind are counted separately.'),
    since: z.string().nullable().describe('Time at which the ban began; null if a node of an older version imposed it.'),
    failures: z.number().nullable().describe('Number of failed logins that caused the ban; null if a node of an older version imposed it.'),
    expires: z.string(),
  }),
  uploads: z.strictObject({
    id: z.string().describe('ID for `remove`; not part of the URL of the upload.'),
    service: z.string().describe('UUID of the service.'),
    account: z.string().describe('Name of the account.'),
    address: z.string().describe('Address of the client that began the upload; empty if unknown.'),
    path: z.string().describe('Virtual path that the file will have.'),
    received_bytes: z.number(),
    total_bytes: z.number().nullable().describe('Size of the whole file; null until the client has announced the size.'),
    expires: z.string().describe('Time at which the upload is removed if the client does not continue.'),
  }),
  trash: z.strictObject({
    id: z.string().describe('ID for `restore`.'),
    account: z.string().describe('Name of the account whose trash contains the item.'),
    path: z.string().describe('Former virtual path of the item.'),
    size: z.number().describe('Size in bytes; for a folder, the total of all files in it.'),
    is_directory: z.boolean(),
    deleted: z.string(),
    by: z.string().describe('Name of the account that deleted the item.'),
  }),
  held: z.strictObject({
    id: z.string().describe('ID of the held upload, also in its URL.'),
    account: z.string().describe('Name of the account.'),
    path: z.string().describe('Virtual path that the file will have.'),
    size: z.number().describe('Size in bytes.'),
    time: z.string().describe('Time at which the upload was held.'),
    digest: z.strictObject({ 'sha-256': z.string().describe('Digest of the content, in Base64.') }),
    state: z.enum(['inspecting', 'held']),
    reason: z.enum(['verdict', 'failure', 'larger', 'late']),
    verdicts: z.array(
      z.strictObject({
        inspection: z.string().describe('UUID of the inspection; empty for a failed release.'),
        name: z.string().describe('Name of the inspection; its UUID if it is no longer configured.'),
        verdict: z.enum(['accept', 'refuse', 'hold', 'failure', 'larger']),
        message: z.string(),
        fault: fault.exactOptional().describe('The reason in `message` as a code; missing if there is no code for it.'),
        time: z.string(),
      }),
    ),
    real_path: z.string().describe('Real path of the hidden file with the content.'),
  }),
} as const satisfies Record<string, z.ZodObject>;

/** The kinds of items that a running service can list and remove. */
export type CollectionName = keyof typeof shownItems;

/** The kinds of items that commands list and remove through the control socket. */
export const controlledNames = ['sessions', 'locks', 'bans', 'trash', 'held'] as const satisfies CollectionName[];
export type ControlledName = (typeof controlledNames)[number];

export type Shown<Name extends CollectionName> = z.infer<(typeof shownItems)[Name]>;

export interface ShownItem {
  readonly id: string;
  readonly account?: string;
  readonly address?: string;
  readonly [name: string]: unknown;
}

/** An item and its key in the store. The key is not shown. */
export interface Item<Form extends ShownItem = ShownItem> {
  readonly handle: string;
  readonly shown: Form;
}

export interface Collection {
  /** Converts the name of an account to the form in which the items contain it. Missing if the items contain the name unchanged. */
  readonly nameOf?: (account: string) => string;
  /** Lists items. @param account if given, the list may omit the items of other accounts */
  list(account?: string): Promise<Item[]>;
  /** Removes items. Once the promise has resolved, no process finds them any more. @param by name of the administrator, for events */
  remove(items: readonly Item[], by?: string): Promise<void>;
  /**
   * Undoes the deletion of items. Items that cannot be restored get a `problem` and its `code`.
   *
   * @param by name of the administrator, for events
   * @param path another path for a single item, or another name in its former folder
   */
  restore?(items: readonly Item[], by?: string, path?: string): Promise<Item[]>;
  /** Returns the content of an item. Only `held` has this function. @throws ServiceError `not-found` */
  content?(id: string): Promise<HeldContent>;
  /** Finds what has the name of an item. Only `held` has this function. @throws ServiceError `not-found` */
  target?(id: string): Promise<ReleaseTarget | undefined>;
  /** Actions other than removal, each on one item. Only `held` has such actions. */
  readonly actions?: Readonly<Record<HeldAction, (id: string, by: string, reason?: string) => Promise<void>>>;
}

/** The actions that operators can take on held uploads. */
export const heldActions = ['release', 'discard', 'inspect-again'] as const;
export type HeldAction = (typeof heldActions)[number];

/** The result of an action on one item. */
export interface ActionResult extends ShownItem {
  /** The reason why the action failed; undefined if it succeeded. */
  readonly error?: string | undefined;
  /** The reason as a code; undefined if the action succeeded. */
  readonly code?: string | undefined;
}

/** Runs an action on each of the given items. @throws ServiceError `bad-request` if there are no items, or the collection has no actions */
export async function actOn(
  collection: Collection,
  action: HeldAction,
  ids: readonly string[],
  by: string,
  reason?: string,
): Promise<ActionResult[]> {
  const act = collection.actions?.[action];
  if (!act || ids.length === 0) throw new ServiceError('bad-request', 'Name the items by their ids.');
  const results: ActionResult[] = [];
  for (const id of new Set(ids)) {
    try {
      await act(id, by, reason);
      results.push({ id });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      results.push({ id, error: error.message, code: error.code });
    }
  }
  return results;
}

export type Collections = Readonly<Record<CollectionName, Collection>>;

/** Returns the items that match a selection. @throws ServiceError `bad-request` for an invalid address */
export async function selectedItems(collection: Collection, { ids, account, address }: Selection): Promise<Item[]> {
  const name = account === undefined ? undefined : (collection.nameOf?.(account) ?? account);
  const wanted = ids && new Set(ids);
  const isNear = address === undefined ? () => true : overlaps(address);
  return (await collection.list(name)).filter(
    ({ shown }) => (wanted?.has(shown.id) ?? true) && (name === undefined || shown.account === name) && isNear(shown.address ?? ''),
  );
}

/**
 * Removes the items of a selection.
 *
 * @param by name of the administrator, for events
 * @returns the removed items
 * @throws ServiceError `bad-request` if the selection has both `all` and other members, or neither
 */
export async function removeSelected(collection: Collection, selection: Selection, by?: string): Promise<Item[]> {
  const { ids, account, address, all = false } = selection;
  if (((ids ?? account ?? address) !== undefined) === all)
    throw new ServiceError('bad-request', 'Name what to remove: by id, account or address, or with all.');
  const items = await selectedItems(collection, selection);
  await collection.remove(items, by);
  return items;
}
