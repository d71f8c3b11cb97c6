import { ServiceError } from '../../lib/errors.ts';
import type { Grant, GrantEnd } from './grant.ts';

/**
 * An account may have this many grants in the store, including ended ones, for each valid grant it may have. The limit stops an account
 * from filling the store by creating and revoking grants without end.
 */
const keptForEach = 100;

/** Minimum time between two recorded uses of a grant. */
export const useRecordedEveryMs = 60_000;

/** All visits of one visitor to a link within this time count as one. */
export const visitCountedEveryMs = 3_600_000;

/** Maximum number of visits that one process remembers. */
export const maxVisits = 100_000;

/** The store of tokens and links. state/memory implements it with a file in the data folder, and for several nodes state/redis. */
export interface GrantStore {
  /**
   * Adds a grant. After the promise has resolved, the grant is on disk and valid on all nodes.
   *
   * @param maximum number of valid grants of this kind that the account may have
   * @throws ServiceError `too-many-requests` beyond the maximum, `storage-full`, `internal`, `unavailable` while the store cannot be reached
   */
  add(grant: Grant, maximum: number): Promise<void>;
  /**
   * Finds the grant of a secret, whether valid or ended. This takes one look-up, however many grants there are.
   *
   * @param hash hash of the secret
   * @throws ServiceError `unavailable` while the store cannot be reached, because no grant may then be accepted
   */
  find(hash: string): Promise<Grant | undefined> | Grant | undefined;
  /** Returns a grant by its ID, as this process knows it. Changes by other nodes arrive within a second. */
  get(id: string): Grant | undefined;
  /** All grants that this process knows, including ended ones. */
  known(): Iterable<Grant>;
  /** Returns the grants of one account, or all, with their uses. @throws ServiceError `unavailable` */
  list(accountUuid?: string): Promise<Grant[]>;
  /**
   * Ends grants. This process refuses them at once. After the promise has resolved, every process refuses them, and the end is on disk.
   *
   * @param by the account or operator that ended them
   * @returns the grants that this call ended; all others had already ended, or are unknown
   * @throws ServiceError as `add`; on this node the grants have ended even then, on other nodes possibly not
   */
  end(ids: readonly string[], reason: GrantEnd, by: string): Promise<Grant[]>;
  /** Makes a grant expire earlier. @param expiresMs Unix time; later than the present expiry, it changes nothing @throws as `add` */
  shorten(id: string, expiresMs: number): Promise<void>;
  /** Records a use, at most once a minute. It returns at once and never throws. */
  use(grant: Grant, address: string): void;
  /**
   * Counts a download.
   *
   * @param maximum number of downloads that the grant allows
   * @returns whether the download was counted; false at the maximum, and for an unknown grant
   * @throws as `add`
   */
  countDownload(id: string, maximum?: number): Promise<boolean>;
  /**
   * Counts a visit to a link. Each visitor counts once an hour, across all nodes.
   *
   * @param visitor the source of the visit, as `loginSource` names it
   * @returns whether the visit was counted; false for a visitor of the last hour, and for an unknown grant
   * @throws as `add`
   */
  countVisit(id: string, visitor: string): Promise<boolean>;
  /** Adds a listener that is called when grants end, or get an earlier expiry, on this node or another. */
  onEnded(listener: (grants: readonly Grant[]) => void): void;
  close(): Promise<void>;
}

/**
 * Throws if the account has no room for one more grant.
 *
 * @param own all grants of the account in the store
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
