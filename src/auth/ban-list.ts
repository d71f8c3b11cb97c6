import { isIPv6 } from 'node:net';
import { ServiceError } from '../lib/errors.ts';

/** What counts as one source: an IPv4 address, or the /64 that an IPv6 customer has to itself. */
export function loginSource(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const groups = address.includes('::') ? [...left, ...Array(8 - left.length - right.length).fill('0'), ...right] : left;
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** `server.security_policy`. */
export interface SecurityPolicy {
  /** 0 = nothing is counted, nobody is refused. */
  ban_after_failures: number;
  ban_seconds: number;
  ban_window_seconds: number;
}

/** Credentials that somebody presents, without what is secret in them. */
export interface LoginAttempt {
  /** As `sourceOf` gives it. */
  readonly source: string;
  readonly username: string;
  /** Keyed hash of the credentials, name included (`AddressBans.keyOf`). */
  readonly credential: string;
}

/**
 * May the credentials be checked? `busy` = not yet: as many others from there are under way as the source has failures left.
 * `isKnown` = they were accepted from there within the window, so they took no slot.
 */
export type Admission = { kind: 'admitted'; isKnown: boolean } | { kind: 'busy' } | ({ kind: 'refused' } & Refusal);

/** Why nobody is asked about credentials, and for how many more seconds. */
export interface Refusal {
  readonly by: Ban['by'];
  readonly retryAfterS: number;
}

/** What came of an attempt; `unknown` = nobody could tell. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'unknown';

/** Who is refused: an address as `sourceOf` gives it, or a name as `foldedName` does. */
export interface Ban {
  readonly by: 'address' | 'name';
  readonly of: string;
}

/** A ban as those see it who run the service. */
export interface ListedBan extends Ban {
  /** For how much longer it holds, in milliseconds. */
  readonly leftMs: number;
}

/** What those who run the service may see and do of bans. */
export interface BanOverview {
  /** The bans in force, limits of names among them. */
  list(): Promise<ListedBan[]>;
  /** Ends bans and forgets the failures that led to them; when it resolves, no process refuses for them any more. */
  lift(bans: readonly Ban[]): Promise<void>;
}

/**
 * Keeps those away who guess (docs/spec/authentication.md#brute-force). A source is banned after so many different wrong credentials within
 * the window, those under way included: each has a slot until its end. A name that was guessed at too often within a minute is refused to
 * sources that it was not accepted from. Implementations: memory, Redis for many nodes.
 *
 * All methods throw ServiceError `unavailable` when what is known cannot be asked.
 */
export interface AddressBans extends BanOverview {
  /** The keyed hash under which credentials are kept: no secret is kept in clear. */
  keyFor(text: string): string;
  /** Whether a source is banned, and for how many more seconds. */
  isRefused(source: string): Promise<Refusal | undefined>;
  /**
   * Asks whether an attempt may begin. Whoever is admitted calls `end`.
   *
   * @param leaseMs a slot is given up after that time, whatever became of the attempt
   * @param isInLine whether it may take a slot; else it is admitted only if it needs none
   */
  begin(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission>;
  /** Counts the outcome and frees the slot; the failure that reaches the limit bans the source. */
  end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void>;
}

/** Sources and names remembered at most; beyond, the oldest are forgotten, so that an attacker with many cannot eat the memory. */
export const maxAddresses = 100_000;

/** Credentials that a source was accepted with, remembered at most. */
export const maxAcceptedPerSource = 1000;

/** How often a name may fail within a minute, from all sources together. */
export const nameFailures = { most: 10, windowMs: 60_000 };

/** Where a name was accepted from: for how long that is remembered, and how many sources of one name. */
export const acceptedSources = { lifetimeMs: 30 * 86_400_000, most: 100 };

/**
 * A name as guesses at it are counted. Endpoints often take another case for the same account, directories (RFC 4518) and databases also more
 * or fewer blanks, accents and characters that nobody sees: each spelling would have guesses of its own.
 *
 * @param username behind a realm and a slash where it is no account's
 */
export function foldedName(username: string): string {
  const nameAt = username.lastIndexOf('/') + 1;
  // Among others `／` is decomposed to a slash, which would put an account's name into a realm.
  const letters = username
    .slice(nameAt)
    .normalize('NFKD')
    .replace(/[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{M}/]/gu, '');
  return username.slice(0, nameAt) + letters.toUpperCase().toLowerCase();
}

/** One key for a source and credentials. */
export function attemptKey({ source, credential }: Pick<LoginAttempt, 'source' | 'credential'>): string {
  return `${source} ${credential}`;
}

/** The refusal of an address that is banned for so many more milliseconds; undefined when it is over. */
export function refusalFor(leftMs: number): Refusal | undefined {
  return leftMs > 0 ? { by: 'address', retryAfterS: Math.ceil(leftMs / 1000) } : undefined;
}

/** An attempt that may be made in so many milliseconds. */
export function refused(by: Ban['by'], leftMs: number): Admission {
  return { kind: 'refused', by, retryAfterS: Math.max(Math.ceil(leftMs / 1000), 1) };
}

const details: Readonly<Record<Ban['by'], string>> = {
  address: 'Too many failed attempts from this address',
  name: 'Too many failed attempts with this account name, from all addresses together',
};

/** Data of event `addressRefused`. @param username where a name was given */
export function refusalData({ by, retryAfterS }: Refusal, address: string, username?: string) {
  return { address, retry_after: retryAfterS, ...(username === undefined ? {} : { username }), by, details: `${details[by]}.` };
}

/** Tells a client of a refusal. */
export function refusalError({ by, retryAfterS }: Refusal): ServiceError {
  return new ServiceError('too-many-requests', `${details[by]}, try again later.`, { details: { retry_after_s: retryAfterS } });
}
