/** Kinds of things that a running service lists and removes on demand. */
export const collectionNames = ['sessions', 'locks', 'bans'] as const;
export type CollectionName = (typeof collectionNames)[number];

/** A thing as it is shown: names in the form of `--json`, times in ISO 8601. */
export interface ShownItem {
  /** Names it in `remove`. */
  readonly id: string;
  readonly account?: string;
  readonly address?: string;
  readonly [name: string]: string | undefined;
}

/** A thing with what its store knows it by, which is not shown. */
export interface Item {
  readonly handle: string;
  readonly shown: ShownItem;
}

/** Things of one kind. */
export interface Collection {
  list(): Promise<Item[]>;
  /** When it resolves they are gone for all requests to come, whichever process answers them. */
  remove(items: readonly Item[]): Promise<void>;
}

export type Collections = Readonly<Record<CollectionName, Collection>>;
