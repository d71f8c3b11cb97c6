import type * as z from 'zod';
import { ServiceError } from '../lib/errors.ts';
import { isNarrowed, type Selectable, type Selection, selects } from './selection.ts';
import type { shownItems } from './shown-items.ts';

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
