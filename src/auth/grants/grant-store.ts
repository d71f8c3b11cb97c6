import { ServiceError } from '../../lib/errors.ts';
import type { Grant, GrantEnd, LinkChange } from './grant.ts';

/**
 * For each account, the store keeps at most `maximum * keptForEach` grants, counting those that have ended, too. `maximum` is the account's
 * limit of valid grants. An account thus cannot fill the store by creating and revoking grants without end.
 */
const keptForEach = 100;

/** Minimum time between two recorded uses of a grant, in milliseconds. */
export const useRecordedEveryMs = 60_000;

/** All visits of one visitor to a link within this time, in milliseconds, count as one. */
export const visitCountedEveryMs = 3_600_000;

/** Maximum number of visits that one process remembers. */
export const maxVisits = 100_000;

/**
 * Stores tokens and links. There is an implementation in state/memory with a file in the data folder, and one for several nodes in
 * state/redis.
 */
export interface GrantStore {
  /**
   * Adds a grant. When the promise has resolved, the grant is on disk and valid on all nodes.
   *
   * @param maximum number of valid grants of this kind that the account may have
   * @throws ServiceError `too-many-requests` above the maximum, `storage-full` or `internal` if the grant cannot be written, `unavailable`
   *   while the store cannot be reached
   */
  add(grant: Grant, maximum: number): Promise<void>;
  /**
   * Finds the grant of a secret, whether it is valid or has ended. This takes a single lookup.
   *
   * @param hash hash of the secret
   * @throws ServiceError `unavailable` while the store cannot be reached, because no grant may be accepted then
   */
  find(hash: string): Promise<Grant | undefined> | Grant | undefined;
  /** Returns a grant by its ID, as this process knows it. Changes by other nodes become known within a second. */
  get(id: string): Grant | undefined;
  /** Returns all grants that this process knows, including ended ones. */
  known(): Iterable<Grant>;
  /**
   * Returns the grants of one account, or of all accounts, with their uses.
   *
   * @throws ServiceError `unavailable` while the store cannot be reached
   */
  list(accountUuid?: string): Promise<Grant[]>;
  /**
   * Ends grants. This process refuses them immediately. When the promise has resolved, every process refuses them, and the end is on disk.
   *
   * @param by the account or operator that ends them
   * @returns the grants that this call ended, without those that had ended before or are unknown
   * @throws the errors of `add`. Even then, the grants have ended on this node, but possibly not on other nodes
   */
  end(ids: readonly string[], reason: GrantEnd, by: string): Promise<Grant[]>;
  /**
   * Makes a grant expire earlier.
   *
   * @param expiresMs Unix time in milliseconds. If it is later than the current expiry, nothing changes
   * @throws the errors of `add`
   */
  shorten(id: string, expiresMs: number): Promise<void>;
  /**
   * Changes a link. When the promise has resolved, the change is on disk and in force on all nodes.
   *
   * @param change called with the current grant, and again if another node changed it meanwhile
   * @returns the changed grant; undefined if the grant is unknown or has ended
   * @throws the errors of `add`
   */
  revise(id: string, change: (grant: Grant) => LinkChange): Promise<Grant | undefined>;
  /** Records a use, at most once a minute. Returns immediately and never throws. */
  use(grant: Grant, address: string): void;
  /**
   * Counts a download.
   *
   * @param maximum number of downloads that the grant allows
   * @returns whether the download was counted; false if the maximum is reached or the grant is unknown
   * @throws the errors of `add`
   */
  countDownload(id: string, maximum?: number): Promise<boolean>;
  /**
   * Counts a visit to a link. Each visitor counts at most once an hour, on all nodes together.
   *
   * @param visitor the source of the visit, as `loginSource` returns it
   * @returns whether the visit was counted; false if the visitor was counted in the last hour or the grant is unknown
   * @throws the errors of `add`
   */
  countVisit(id: string, visitor: string): Promise<boolean>;
  /** Adds a listener. It is called if grants end or get another expiry, on this node or on another one. */
  onEnded(listener: (grants: readonly Grant[]) => void): void;
  close(): Promise<void>;
}

/**
 * Checks that the account has room for another grant.
 *
 * @param own all grants of the account in the store
 * @throws ServiceError `too-many-requests` if it has no room
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
