import * as z from 'zod';

/** Kinds of things that a running service lists and removes on demand. */
export const collectionNames = ['sessions', 'locks', 'bans'] as const;
export type CollectionName = (typeof collectionNames)[number];

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
} as const satisfies Record<CollectionName, z.ZodObject>;

export type Shown<Name extends CollectionName> = z.infer<(typeof shownItems)[Name]>;

/** What things of all kinds are selected by. */
export interface ShownItem {
  readonly id: string;
  readonly account?: string;
  readonly address?: string;
  readonly [name: string]: string | undefined;
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
