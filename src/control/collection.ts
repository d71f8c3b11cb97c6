import * as z from 'zod';
import { ServiceError } from '../lib/errors.ts';
import { isNarrowed, type Selectable, type Selection, selects } from './selection.ts';

/** Kinds of things that a running service lists and removes on demand. */
export type CollectionName = keyof typeof shownItems;

/** Those that commands ask for by the control socket. */
export const controlledNames = ['sessions', 'locks', 'bans'] as const satisfies CollectionName[];
export type ControlledName = (typeof controlledNames)[number];

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
    address: z.string().describe('An IPv4 address, or the /64 of IPv6 addresses.'),
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
  list(): Promise<Item[]>;
  /** When it resolves they are gone for all requests to come, whichever process answers them. */
  remove(items: readonly Item[]): Promise<void>;
}

export type Collections = Readonly<Record<CollectionName, Collection>>;

/** Things that a selection means. */
export async function selectedItems(collection: Collection, selection: Selection): Promise<Item[]> {
  const isSelected = selects(selection);
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
