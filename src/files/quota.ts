import { lstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin } from '../lib/virtual-path.ts';
import type { RealRoots } from './disk/real-roots.ts';
import { isKeptName, isTemporaryName } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';
import { type Count, type CountBegun, type KeptContent, type QuotaAnswer, type QuotaClaim, QuotaLedger } from './quota-ledger.ts';

/** What an upload of unknown length claims at a time, so that it need not ask for each piece. */
const stepBytes = 1024 * 1024;

/** Where others keep changing the folders, an upload that does not fit by so many counts is refused. */
const mostCounts = 2;

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

/** The ledger of quotas, of this process or of the primary one. The first parameter of each method is what a quota counts together (`foldersOf`). */
export interface QuotaBook {
  claim(folders: string, id: number, claim: QuotaClaim, count: Count | undefined): Promise<QuotaAnswer> | QuotaAnswer;
  release(folders: string, id: number, isDone: boolean): void;
  beginMove(folders: string, id: number): void;
  removed(folders: string): void;
  used(folders: string, count: Count | undefined): Promise<number | { count: CountBegun }> | number | { count: CountBegun };
}

/** The ledger of a process that has no other beside it. */
export function ownBook(clock: Clock): QuotaBook {
  const ledger = new QuotaLedger(clock);
  return {
    claim: (folders, id, claim, count) => ledger.claim(ledger, folders, id, claim, count),
    release: (folders, id, isDone) => ledger.release(ledger, folders, id, isDone),
    beginMove: (folders, id) => ledger.beginMove(ledger, folders, id),
    removed: (folders) => ledger.removed(folders),
    used: (folders, count) => ledger.used(folders, count),
  };
}

/** Keeps accounts within `quota_size`: all files in the account's real folders count together. */
export class Quotas {
  readonly #book: QuotaBook;
  readonly #counting = new Map<string, Promise<Count>>();
  #ids = 0;

  constructor(book: QuotaBook) {
    this.#book = book;
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
        this.#book.release(folders, id, true);
        return result;
      },
      keep: async (sizeBytes) => {
        // It is on disk, whatever is said of it now; the next request will hear it.
        await claim(sizeBytes, 0).catch(() => {});
        this.#book.release(folders, id, true);
      },
      release: () => this.#book.release(folders, id, false),
    };
  }

  /** Notes that something in these folders was removed. */
  removed(roots: RealRoots): void {
    this.#book.removed(foldersOf(roots));
  }

  /** Notes that something in these folders is about to get another place there. @returns what to call when it has */
  beginMove(roots: RealRoots): () => void {
    const folders = foldersOf(roots);
    const id = ++this.#ids;
    this.#book.beginMove(folders, id);
    return () => this.#book.release(folders, id, true);
  }

  /** Bytes that all files in these folders hold and uploads under way will add, at most five minutes old. */
  async usedBytes(roots: RealRoots): Promise<number> {
    const folders = foldersOf(roots);
    const known = await this.#book.used(folders, undefined);
    if (typeof known === 'number') return known;
    return (await this.#book.used(folders, await this.#count(roots, folders, known.count))) as number;
  }

  async #claim(roots: RealRoots, folders: string, id: number, claim: QuotaClaim): Promise<void> {
    let answer = await this.#book.claim(folders, id, claim, undefined);
    for (let counts = 0; typeof answer === 'object' && counts < mostCounts; counts++)
      answer = await this.#book.claim(folders, id, claim, await this.#count(roots, folders, answer.count));
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
