import { isIPv6 } from 'node:net';
import { ServiceError } from '../lib/errors.ts';

/** The source that guesses are counted for: an IPv4 address, or the /64 that an IPv6 customer has. */
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

/** Guesses at other secrets than those of accounts: they do not count against accounts of the same name. */
export type GuessRealm = 'administrator' | 'link';

/** The source of an attempt. Each realm bans by itself: a ban for guesses at links, which any web page can make a browser send, keeps nobody from logging in. */
export function attemptSource(address: string, realm: GuessRealm | undefined): string {
  return realm === undefined ? loginSource(address) : `${realm}/${loginSource(address)}`;
}

/** Whether an attempt names somebody; wrong tokens and links name nobody, and must not count against each other. @param username as in `LoginAttempt` */
export function namesSomebody(username: string): boolean {
  return username !== '' && !username.endsWith('/');
}

/** `server.security_policy`. */
export interface SecurityPolicy {
  /** 0 = nothing is counted, nobody is refused. */
  ban_after_failures: number;
  ban_seconds: number;
  ban_window_seconds: number;
}

/** An attempt to log in, without its secret. */
export interface LoginAttempt {
  /** As `attemptSource` gives it. */
  readonly source: string;
  /** After its realm and a slash; empty if it is the name of no account. */
  readonly username: string;
  /** Keyed hash of the credentials, name included (`AddressBans.keyFor`). */
  readonly credential: string;
}

/**
 * Whether credentials may be checked. `busy`: not yet, because as many attempts are under way as the source has failures left. `isKnown`:
 * they were accepted from the source within the window, and took no slot.
 */
export type Admission = { kind: 'admitted'; isKnown: boolean } | { kind: 'busy' } | ({ kind: 'refused' } & Refusal);

/** Why an attempt is refused, and for how many more seconds. */
export interface Refusal {
  readonly by: Ban['by'];
  readonly retryAfterS: number;
}

/** The outcome of an attempt; `unknown` = it could not be checked. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'unknown';

/** The subject of a ban: an address as `attemptSource` gives it, or a name as `foldedName` does. */
export interface Ban {
  readonly by: 'address' | 'name';
  readonly of: string;
}

/** A ban as administrators see it. */
export interface ListedBan extends Ban {
  /** Its rest in milliseconds. */
  readonly leftMs: number;
}

/** Bans as administrators list and lift them. */
export interface BanOverview {
  /** The bans in force, limits of names included. */
  list(): Promise<ListedBan[]>;
  /** Ends bans and forgets the failures that led to them. When it resolves, no process enforces them. */
  lift(bans: readonly Ban[]): Promise<void>;
}

/**
 * Limits guesses (docs/spec/authentication.md#brute-force). A source is banned after a number of different wrong credentials within the
 * window; each running attempt counts towards that number. A name with too many failures within a minute is refused, except for sources
 * from which it was accepted before; nobody's name (`namesSomebody`) has no such limit. Implementations: state/memory, and state/redis for nodes.
 *
 * All methods throw ServiceError `unavailable` when the store cannot be asked.
 */
export interface AddressBans extends BanOverview {
  /** The keyed hash of credentials: secrets are not kept in clear. */
  keyFor(text: string): string;
  /** Whether a source is banned, and for how many more seconds. */
  isRefused(source: string): Promise<Refusal | undefined>;
  /**
   * Asks whether an attempt may begin. An admitted attempt ends with `end`.
   *
   * @param leaseMs a slot is released after this time at the latest
   * @param isInLine whether it may take a slot; else it is admitted only if it needs none
   */
  begin(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission>;
  /** Counts the outcome and frees the slot; the failure that reaches the limit bans the source. */
  end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void>;
}

/** Sources and names that are remembered; beyond, the oldest are forgotten, so that an attacker with many cannot fill the memory. */
export const maxAddresses = 100_000;

/** Accepted credentials that are remembered of one source. */
export const maxAcceptedPerSource = 1000;

/** Failures of a name within a minute, from all sources together. */
export const nameFailures = { most: 10, windowMs: 60_000 };

/** Sources that a name was accepted from: lifetime and number. */
export const acceptedSources = { lifetimeMs: 30 * 86_400_000, most: 100 };

/**
 * A name in the form under which guesses are counted. Endpoints may ignore case, and directories (RFC 4518) and databases may ignore
 * blanks, accents and invisible characters; without folding, each spelling of one account would get its own number of guesses.
 *
 * @param username after a realm and a slash if it is not the name of an account
 */
export function foldedName(username: string): string {
  const nameAt = username.lastIndexOf('/') + 1;
  // Some characters, such as `／`, decompose to a slash, which would put an account's name into a realm.
  const letters = username
    .slice(nameAt)
    .normalize('NFKD')
    .replace(/[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{M}/]/gu, '');
  return username.slice(0, nameAt) + letters.toUpperCase().toLowerCase();
}

/** The key of a source and credentials. */
export function attemptKey({ source, credential }: Pick<LoginAttempt, 'source' | 'credential'>): string {
  return `${source} ${credential}`;
}

/** The refusal of an address whose ban has this time left; undefined when the ban is over. */
export function refusalFor(leftMs: number): Refusal | undefined {
  return leftMs > 0 ? { by: 'address', retryAfterS: Math.ceil(leftMs / 1000) } : undefined;
}

/** The refusal of an attempt until this time has passed. */
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

/** A refusal as clients get it. */
export function refusalError({ by, retryAfterS }: Refusal): ServiceError {
  return new ServiceError('too-many-requests', `${details[by]}, try again later.`, { details: { retry_after_s: retryAfterS } });
}
