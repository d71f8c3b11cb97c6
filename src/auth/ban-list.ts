import { isIPv6 } from 'node:net';
import { ServiceError } from '../lib/errors.ts';

/** Returns the source under which guesses are counted: an IPv4 address, or the /64 network of an IPv6 address. */
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

/**
 * The kinds of secrets that do not belong to accounts. Guesses at them do not count against accounts: guesses at the password of an
 * administrator do not count against an account with the same name.
 */
export type GuessRealm = 'administrator' | 'link';

/**
 * Returns the source of an attempt. Each realm has its own bans, because any web page can make a browser guess at links. A ban for
 * such guesses must not prevent logins.
 */
export function attemptSource(address: string, realm: GuessRealm | undefined): string {
  return realm === undefined ? loginSource(address) : `${realm}/${loginSource(address)}`;
}

/**
 * Whether an attempt names an account. Wrong tokens and wrong links name none, and must not count against each other.
 *
 * @param username value of `LoginAttempt.username`
 */
export function namesSomebody(username: string): boolean {
  return username !== '' && !username.endsWith('/');
}

/** The option `server.security_policy`. */
export interface SecurityPolicy {
  /** Number of failures that cause a ban. If it is 0, failures are not counted and nothing is refused. */
  ban_after_failures: number;
  ban_seconds: number;
  ban_window_seconds: number;
}

/** An attempt to log in, without its secret. */
export interface LoginAttempt {
  /** The return value of `attemptSource`. */
  readonly source: string;
  /**
   * The name; empty if no account can have the name that was sent. In a realm, the realm and a slash precede the name.
   */
  readonly username: string;
  /** Keyed hash of the credentials and the name (`AddressBans.keyFor`). */
  readonly credential: string;
}

/**
 * Whether credentials may be checked. `busy` means that the attempt must wait for a slot: the failures of the source and its running
 * attempts together have reached `ban_after_failures`. `isKnown` means that the credentials were accepted from the source within
 * `ban_window_seconds`. Such an attempt takes no slot.
 */
export type Admission = { kind: 'admitted'; isKnown: boolean } | { kind: 'busy' } | ({ kind: 'refused' } & Refusal);

/** The reason why an attempt is refused, and the remaining time in seconds. */
export interface Refusal {
  readonly by: Ban['by'];
  readonly retryAfterS: number;
}

/** The outcome of an attempt. It is `unknown` if the credentials could not be checked. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'unknown';

/** The subject of a ban: a source as `attemptSource` returns it, or a name as `foldedName` returns it. */
export interface Ban {
  readonly by: 'address' | 'name';
  readonly of: string;
}

/** A ban as administrators see it. */
export interface ListedBan extends Ban {
  /** Remaining time in milliseconds. */
  readonly leftMs: number;
  /** Time since the ban began in milliseconds; undefined if the store does not know it. */
  readonly ageMs: number | undefined;
  /** Number of failures that caused the ban; undefined if the store does not know it. */
  readonly failures: number | undefined;
}

/** Lists and lifts bans for administrators. */
export interface BanOverview {
  /** The current bans, including those of names. */
  list(): Promise<ListedBan[]>;
  /** Lifts bans and forgets the failures that caused them. When the promise has resolved, no process enforces the bans any longer. */
  lift(bans: readonly Ban[]): Promise<void>;
}

/**
 * Limits guesses (docs/spec/authentication.md#brute-force). A source is banned after a number of different wrong credentials within
 * `ban_window_seconds`. Running attempts count towards that number. A name with too many failures within a minute is refused, except from
 * sources from which the name was accepted before. Attempts that name no account (`namesSomebody`) are not limited by name. There is an
 * implementation in state/memory, and one for several nodes in state/redis.
 *
 * All methods throw ServiceError `unavailable` if the store cannot be reached.
 */
export interface AddressBans extends BanOverview {
  /** Returns the keyed hash of credentials, because secrets must not be stored in clear text. */
  keyFor(text: string): string;
  /** Returns the ban of a source; undefined if the source is not banned. */
  isRefused(source: string): Promise<Refusal | undefined>;
  /**
   * Asks whether an attempt may begin. The caller must call `end` after an admitted attempt.
   *
   * @param leaseMs time in milliseconds after which the slot is released at the latest
   * @param isInLine whether it is the attempt's turn to take a slot; if not, the attempt is admitted only if it needs no slot
   */
  begin(attempt: LoginAttempt, leaseMs: number, isInLine: boolean): Promise<Admission>;
  /** Counts the outcome and releases the slot. The failure that reaches the limit bans the source. */
  end(attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void>;
}

/** Maximum number of sources and names that are kept. The oldest ones are dropped, so that an attacker cannot fill the memory. */
export const maxAddresses = 100_000;

/** Maximum number of accepted credentials that are kept for one source. */
export const maxAcceptedPerSource = 1000;

/** Maximum number of failures of a name within a minute, from all sources together. */
export const nameFailures = { most: 10, windowMs: 60_000 };

/** For each name, the sources from which it was accepted: how long they are kept, and how many. */
export const acceptedSources = { lifetimeMs: 30 * 86_400_000, most: 100 };

/**
 * Returns the form of a name under which guesses are counted. Endpoints may ignore case, and directories (RFC 4518) and databases may
 * ignore blanks, accents and invisible characters. Without this form, each spelling of an account's name would allow more guesses.
 *
 * @param username the name; in a realm, the realm and a slash precede the name
 */
export function foldedName(username: string): string {
  const nameAt = username.lastIndexOf('/') + 1;
  // Some characters, such as `／`, decompose to a slash. With them, an account's name could look like a name with a realm.
  const letters = username
    .slice(nameAt)
    .normalize('NFKD')
    .replace(/[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{M}/]/gu, '');
  return username.slice(0, nameAt) + letters.toUpperCase().toLowerCase();
}

/** Returns a key for the source and the credentials of an attempt. */
export function attemptKey({ source, credential }: Pick<LoginAttempt, 'source' | 'credential'>): string {
  return `${source} ${credential}`;
}

/** Returns the refusal of a source whose ban lasts `leftMs` longer; undefined if the ban has ended. */
export function refusalFor(leftMs: number): Refusal | undefined {
  return leftMs > 0 ? { by: 'address', retryAfterS: Math.ceil(leftMs / 1000) } : undefined;
}

/** Returns the refusal of an attempt. It applies for the next `leftMs`. */
export function refused(by: Ban['by'], leftMs: number): Admission {
  return { kind: 'refused', by, retryAfterS: Math.max(Math.ceil(leftMs / 1000), 1) };
}

const details: Readonly<Record<Ban['by'], string>> = {
  address: 'Too many failed attempts from this address',
  name: 'Too many failed attempts with this account name, from all addresses together',
};

/** Returns the data of event `addressRefused`. @param username name that the client sent, if any */
export function refusalData({ by, retryAfterS }: Refusal, address: string, username?: string) {
  return { address, retry_after: retryAfterS, ...(username === undefined ? {} : { username }), by, details: `${details[by]}.` };
}

/** Returns the error for a client that is refused. */
export function refusalError({ by, retryAfterS }: Refusal): ServiceError {
  return new ServiceError('too-many-requests', `${details[by]}; try again later.`, { details: { retry_after_s: retryAfterS } });
}
