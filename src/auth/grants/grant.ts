import { randomBytes } from 'node:crypto';
import type { GrantName, Narrowing } from '../../accounts/narrowing.ts';
import type { SecretKind } from '../../lib/secrets.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';

/** The reasons why a token or link ends. */
export const grantEnds = ['revoked', 'rotated', 'expired', 'used-up'] as const;
export type GrantEnd = (typeof grantEnds)[number];

/**
 * A token (for machines) or a link (for people). Its secret gives access to a part of an account's files (docs/spec/tokens.md). All times
 * are Unix times in milliseconds.
 */
export interface Grant {
  /** The ID is not secret. Events, lists and commands contain it. */
  readonly id: string;
  readonly kind: SecretKind;
  /** SHA-256 of the secret. The secret itself is not kept. */
  readonly hash: string;
  /** The name of a token, or the note of a link. */
  readonly name: string;
  readonly account: { readonly name: string; readonly uuid: string };
  /** The method that accepted the account when the grant was created. It is asked again at each use. */
  readonly method: { readonly uuid: string; readonly type: string };
  /** The account or operator that created the grant. */
  readonly madeBy: string;
  readonly createdMs: number;
  readonly notBeforeMs?: number;
  readonly expiresMs: number;
  /** The granted files and folders; a folder includes all its content. Absent if everything is granted. */
  readonly paths?: readonly VirtualPath[];
  /** The granted permission keywords; absent if all are granted. The holder never has a right that the account does not have. */
  readonly permissions?: readonly string[];
  /** UUIDs of the services that accept the grant; absent if all do. */
  readonly services?: readonly string[];
  /** Addresses and CIDR ranges from which the grant may be used; absent if there is no limit. */
  readonly addresses?: readonly string[];
  /** ID of the token with which the grant was created. The grant ends when that token ends. */
  readonly parent?: string;
  readonly link?: LinkDetails;
  /** Number of times that the link was changed; absent if it never was. */
  readonly revision?: number;
  /** Set when the grant has ended. */
  readonly end?: { readonly reason: GrantEnd; readonly atMs: number; readonly by: string };
  /** The last recorded use. Uses are recorded at most once a minute. */
  readonly used?: { readonly atMs: number; readonly address: string };
  /** Number of downloads through a link, and number of visits to the link's page. */
  readonly downloads?: number;
  readonly opened?: number;
}

export interface LinkDetails {
  readonly kind: 'download' | 'drop';
  /** Hash of the password that visitors need (accounts/passwords.ts). */
  readonly passwordHash?: string | undefined;
  readonly maximumDownloads?: number | undefined;
}

/** The members of a link that its creator can change. */
export type LinkChange = Partial<Pick<Grant, 'name' | 'expiresMs' | 'link'>>;

/** The other members of a grant that can change after it was created. */
export type GrantChange = Pick<Grant, 'id'> & Partial<Pick<Grant, 'expiresMs' | 'end' | 'used' | 'downloads' | 'opened'>>;

/** Maximum length of a chain of tokens, each created with the previous one. It is limited, because every use checks the whole chain. */
export const maxGrantDepth = 5;

/** Time in milliseconds for which the secret of an expired grant is recognised. Later, the secret is treated like a wrong one. */
const knownAfterMs = { token: 86_400_000, link: 30 * 86_400_000 } as const;

/** Returns the name of a grant for events and logins. */
export function grantName({ kind, id }: Pick<Grant, 'kind' | 'id'>): GrantName {
  return kind === 'token' ? { token: id } : { link: id };
}

export function newGrantId(): string {
  return randomBytes(9).toString('base64url').replace(/[-_]/g, '0');
}

/**
 * Returns the reason why a grant cannot be used now, as one word for events and replies; undefined if the grant is valid.
 *
 * @param get finds the tokens of the chain by ID
 */
export function whyOver(grant: Grant, nowMs: number, get: (id: string) => Grant | undefined): GrantEnd | 'not-yet' | undefined {
  let current: Grant | undefined = grant;
  let isEarly = false;
  for (let depth = 0; current && depth <= maxGrantDepth; depth++) {
    if (current.end) return current.end.reason;
    if (current.expiresMs <= nowMs) return 'expired';
    if (current.notBeforeMs !== undefined && nowMs < current.notBeforeMs) isEarly = true;
    if (current.parent === undefined) return isEarly ? 'not-yet' : undefined;
    current = get(current.parent);
  }
  // If the token with which the grant was created is unknown, the grant is refused (fail closed).
  return 'revoked';
}

/** Returns a grant, the token with which it was created, the token with which that token was created, and so on. */
export function grantChain(grant: Grant, get: (id: string) => Grant | undefined): Grant[] {
  const chain = [grant];
  for (let parent = grant.parent; parent !== undefined && chain.length <= maxGrantDepth; ) {
    const made = get(parent);
    if (!made) break;
    chain.push(made);
    parent = made.parent;
  }
  return chain;
}

/** Returns the narrowings of a chain of grants, for `narrowAccount`. */
export function listNarrowings(chain: readonly Grant[]): Narrowing[] {
  return chain.map(({ paths, permissions }) => ({ paths, permissions }));
}

/**
 * Returns whether a grant may be forgotten, because it expired long ago. If a revoked grant were forgotten before it expires, another
 * node's older copy of it could become valid again.
 */
export function isForgettable({ kind, expiresMs }: Grant, nowMs: number): boolean {
  return expiresMs + knownAfterMs[kind] <= nowMs;
}

/**
 * Merges two nodes' copies of a grant. If one copy has ended, the result has ended, too. The result has the later revision, the later use
 * and the larger counters. For equal revisions, it has the earlier expiry.
 */
export function mergeGrants(first: Grant, second: Grant): Grant {
  const { end: firstEnd, used: firstUsed } = first;
  const { end: secondEnd, used: secondUsed } = second;
  const end = firstEnd && secondEnd ? (firstEnd.atMs <= secondEnd.atMs ? firstEnd : secondEnd) : (firstEnd ?? secondEnd);
  const used = (firstUsed?.atMs ?? 0) >= (secondUsed?.atMs ?? 0) ? firstUsed : secondUsed;
  const downloads = Math.max(first.downloads ?? 0, second.downloads ?? 0);
  const opened = Math.max(first.opened ?? 0, second.opened ?? 0);
  const [firstRevision, secondRevision] = [first.revision ?? 0, second.revision ?? 0];
  const latest = secondRevision > firstRevision ? second : first;
  return {
    ...latest,
    ...(firstRevision === secondRevision && { expiresMs: Math.min(first.expiresMs, second.expiresMs) }),
    ...(end && { end }),
    ...(used && { used }),
    ...(downloads > 0 && { downloads }),
    ...(opened > 0 && { opened }),
  };
}

/** Returns a link after a change; undefined if it is unknown or has ended. */
export function revisedGrant(known: Grant | undefined, change: (grant: Grant) => LinkChange): Grant | undefined {
  return known && !known.end ? { ...known, ...change(known), revision: (known.revision ?? 0) + 1 } : undefined;
}

/** Validates a grant from JSON. @throws TypeError for any other value */
export function parseGrant(value: unknown): Grant {
  const { id, kind, hash, name, account, method, madeBy, createdMs, expiresMs } = value as Grant;
  const texts = [id, hash, name, account.name, account.uuid, method.uuid, method.type, madeBy];
  const isGrant =
    (kind === 'token' || kind === 'link') &&
    texts.every((text) => typeof text === 'string') &&
    [createdMs, expiresMs].every(Number.isFinite);
  if (!isGrant) throw new TypeError('This is not a token or link.');
  return value as Grant;
}
