import { lstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin } from '../lib/virtual-path.ts';
import type { RealRoots } from './disk/real-roots.ts';
import { isKeptName, isTemporaryName } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';
import { type Count, type CountBegun, type KeptContent, type QuotaClaim, QuotaLedger } from './quota-ledger.ts';

/** What an upload of unknown length claims at a time, so that it need not ask for each piece. */
const stepBytes = 1024 * 1024;

/** Where others keep changing the folders, an upload that does not fit by so many counts is refused. */
const maxCounts = 2;

/** Room taken for one upload under a quota. Ends with `commit` or `release`. */
export interface QuotaReservation {
  /** @throws ServiceError `storage-full` when the account's quota does not have `bytes` more */
  take(bytes: number): Promise<void> | void;
  /**
   * Gives the upload its name, in the turn at its path: room is claimed anew, by what the name means by then.
   *
   * @param sizeBytes of the whole upload
   * @param replacedBytes size of the file that `put` replaces, 0 for none
   * @returns what `put` returned
   * @throws ServiceError `storage-full`, and what `put` throws
   */
  commit<T>(sizeBytes: number, replacedBytes: number, put: () => T): Promise<T>;
  /** Ends a request whose upload goes on with another one: what was taken of it stays on disk. */
  keep(sizeBytes: number): Promise<void>;
  /** Ends an upload that came to nothing; does nothing after `commit`. */
  release(): void;
}

export const unlimited: QuotaReservation = {
  take() {},
  commit: async (_sizeBytes, _replacedBytes, put) => put(),
  async keep() {},
  release() {},
};

/** Keeps accounts within `quota_size`: all files in the account's real folders count together. */
export class Quotas {
  readonly #ledger: QuotaLedger;
  readonly #counting = new Map<string, Promise<Count>>();
  #ids = 0;

  constructor(clock: Clock) {
    this.#ledger = new QuotaLedger(clock);
  }

  /**
   * Begins an upload under a quota.
   *
   * @param limitBytes the quota, 0 = none
   * @param replacedBytes size of the file that the upload will replace, as it looks now
   * @param neededBytes announced size of the upload, when known
   * @param kept what earlier requests left of it, which is on disk already
   * @throws ServiceError `storage-full` when the announced size does not fit
   */
  async reserve(
    roots: RealRoots,
    limitBytes: number,
    replacedBytes: number,
    neededBytes: number,
    kept?: KeptContent,
  ): Promise<QuotaReservation> {
    if (limitBytes === 0) return unlimited;
    const folders = foldersOf(roots);
    const id = ++this.#ids;
    const keptBytes = kept?.sizeBytes ?? 0;
    let claimedBytes = neededBytes;
    let takenBytes = keptBytes;
    const claim = async (bytes: number, replaced = replacedBytes) => {
      await this.#claim(roots, folders, id, { limitBytes, replacedBytes: replaced + keptBytes, bytes, kept });
      claimedBytes = bytes;
    };
    const takeMore = async () => {
      try {
        await claim(Math.max(takenBytes, claimedBytes + stepBytes));
      } catch (error) {
        // There is no room for a whole step, but perhaps for what is needed now.
        if (!isServiceError(error, 'storage-full') || takenBytes >= claimedBytes + stepBytes) throw error;
        await claim(takenBytes);
      }
    };
    await claim(Math.max(neededBytes, keptBytes));
    return {
      take: (bytes) => {
        takenBytes += bytes;
        return takenBytes > claimedBytes ? takeMore() : undefined;
      },
      commit: async (sizeBytes, replaced, put) => {
        await claim(sizeBytes, replaced);
        const result = put();
        this.#ledger.release(folders, id, true);
        return result;
      },
      keep: async (sizeBytes) => {
        // It is on disk, whatever is said of it now; the next request will hear it.
        await claim(sizeBytes, 0).catch(() => {});
        this.#ledger.release(folders, id, true);
      },
      release: () => this.#ledger.release(folders, id, false),
    };
  }

  /** Notes that something in these folders was removed. */
  removed(roots: RealRoots): void {
    this.#ledger.removed(foldersOf(roots));
  }

  /** Notes that something in these folders is about to get another place there. @returns what to call when it has */
  beginMove(roots: RealRoots): () => void {
    const folders = foldersOf(roots);
    const id = ++this.#ids;
    this.#ledger.beginMove(folders, id);
    return () => this.#ledger.release(folders, id, true);
  }

  /** Bytes that all files in these folders hold and uploads under way will add, at most five minutes old. */
  async usedBytes(roots: RealRoots): Promise<number> {
    const folders = foldersOf(roots);
    const known = this.#ledger.used(folders, undefined);
    if (typeof known === 'number') return known;
    return this.#ledger.used(folders, await this.#count(roots, folders, known.count)) as number;
  }

  async #claim(roots: RealRoots, folders: string, id: number, claim: QuotaClaim): Promise<void> {
    let answer = this.#ledger.claim(folders, id, claim, undefined);
    for (let counts = 0; typeof answer === 'object' && counts < maxCounts; counts++)
      answer = this.#ledger.claim(folders, id, claim, await this.#count(roots, folders, answer.count));
    if (answer !== 'taken') throw new ServiceError('storage-full', 'The quota of this account is used up.');
  }

  // A count goes with what was known when it began, also for those who join it later.
  #count(roots: RealRoots, folders: string, begun: CountBegun): Promise<Count> {
    let counting = this.#counting.get(folders);
    if (!counting) {
      counting = countBytes(roots, new Map(begun.kept.map(({ name, sizeBytes }) => [name, sizeBytes])))
        .then((bytes) => ({ begun, bytes }))
        .finally(() => this.#counting.delete(folders));
      this.#counting.set(folders, counting);
    }
    return counting;
  }
}

/** Counts on disk what all files in an account's folders hold. @param kept sizes that unfinished uploads count with, by hidden name */
async function countBytes(roots: RealRoots, kept: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  const paths = roots.paths.filter((path) => !roots.paths.some((other) => other !== path && isWithin(path, other)));
  for (const path of new Set(paths)) bytes += await treeBytes(roots, path, kept);
  return bytes;
}

/** What a quota counts together, as one text. */
function foldersOf(roots: RealRoots): string {
  return roots.paths.toSorted().join('\0');
}

async function treeBytes(roots: RealRoots, path: string, kept: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  for await (const member of walkTree(roots, path, { passesTooDeep: true })) {
    const name = member.relativePath.slice(member.relativePath.lastIndexOf('/') + 1);
    // Uploads under way have claims; what is kept of unfinished ones takes room without one.
    if (member.isFolder || (isTemporaryName(name) && !isKeptName(name))) continue;
    const stats = lstatSync(member.boundPath, { throwIfNoEntry: false });
    if (stats?.isFile()) bytes += kept.get(name) ?? stats.size;
  }
  return bytes;
}
