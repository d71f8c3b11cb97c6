import { ServiceError } from '../../lib/errors.ts';
import type { Grant, GrantEnd } from './grant.ts';

/**
 * Number of grants, including ended ones, that an account may keep for each grant allowed at a time: stops accounts that create and revoke
 * endlessly.
 */
const keptForEach = 100;

/** A use is recorded once in this time. */
export const useRecordedEveryMs = 60_000;

/** A visitor's visits to a link count once in this time. */
export const visitCountedEveryMs = 3_600_000;

/** Visits that one process remembers. */
export const maxVisits = 100_000;

/** The store of tokens and links. Implementations: state/memory (a file in the data folder), and state/redis for nodes. */
export interface GrantStore {
  /**
   * Adds a grant. When it resolves, the grant is on disk and in force on all nodes.
   *
   * @param maximum grants of its kind in force that the account may have
   * @throws ServiceError `too-many-requests` beyond it, `storage-full`, `internal`, `unavailable` while the store cannot be reached
   */
  add(grant: Grant, maximum: number): Promise<void>;
  /**
   * The grant of a secret, valid or ended; one look-up regardless of their number.
   *
   * @param hash of the secret
   * @throws ServiceError `unavailable` while the store cannot be reached: no grant is accepted then
   */
  find(hash: string): Promise<Grant | undefined> | Grant | undefined;
  /** A grant by its ID as this process knows it: changes by other nodes arrive within a second. */
  get(id: string): Grant | undefined;
  /** All grants that this process knows, including ended ones. */
  known(): Iterable<Grant>;
  /** The grants, with their uses; those of one account, or all. @throws ServiceError `unavailable` */
  list(accountUuid?: string): Promise<Grant[]>;
  /**
   * Ends grants. From the call on this process accepts no use of them; once the promise resolves no process does, and the end is on disk.
   *
   * @param by who did it
   * @returns those that this call ended; others had ended before, or are unknown
   * @throws ServiceError as `add`: the end may have happened, and holds on this node in any case
   */
  end(ids: readonly string[], reason: GrantEnd, by: string): Promise<Grant[]>;
  /** Brings the end of a grant forward. @param expiresMs Unix time; a later time than the current one changes nothing @throws as `add` */
  shorten(id: string, expiresMs: number): Promise<void>;
  /** Records a use, at most once a minute. Never throws, returns at once. */
  use(grant: Grant, address: string): void;
  /**
   * Counts a download.
   *
   * @param maximum the count that it must not exceed
   * @returns whether it was counted; false at the maximum, and for a grant that is not known
   * @throws as `add`
   */
  countDownload(id: string, maximum?: number): Promise<boolean>;
  /**
   * Counts a visit to a link, once an hour for each visitor, on all nodes together.
   *
   * @param visitor the source of the visit, as `loginSource` names it
   * @returns whether it was counted; false for a visitor of the last hour, and for a grant that is not known
   * @throws as `add`
   */
  countVisit(id: string, visitor: string): Promise<boolean>;
  /** Adds a listener that is called when grants end or are shortened, here or on another node. */
  onEnded(listener: (grants: readonly Grant[]) => void): void;
  close(): Promise<void>;
}

/**
 * Refuses one more grant of an account.
 *
 * @param own all grants of the account that are kept
 * @throws ServiceError `too-many-requests`
 */
export function requireRoom(grant: Grant, own: Iterable<Grant>, maximum: number, isInForce: (grant: Grant) => boolean): void {
  let [kept, inForce] = [0, 0];
  for (const other of own) {
    if (other.kind !== grant.kind) continue;
    kept++;
    if (isInForce(other)) inForce++;
  }
  const what = grant.kind === 'token' ? 'tokens' : 'links';
  if (inForce >= maximum) throw new ServiceError('too-many-requests', `The account has ${maximum} ${what} already; revoke one first.`);
  if (kept >= maximum * keptForEach)
    throw new ServiceError(
      'too-many-requests',
      `The account created too many ${what} in a short time. Wait until older ones are forgotten.`,
    );
}
