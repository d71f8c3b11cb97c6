import { lstatSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin, type VirtualPath } from '../lib/virtual-path.ts';
import { inspect, openFolder } from './disk/opened.ts';
import type { RealRoots } from './disk/real-roots.ts';
import { isKeptName, isTemporaryName, isTrashRecord } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';
import type { Mounts } from './mounts.ts';

/** A count of the bytes on disk that is older than this is repeated before an upload is refused. Files may have been removed meanwhile. */
const countFreshForMs = 10_000;

/** A count that is older than this is repeated before the next upload. */
const countValidForMs = 300_000;

/** An upload of unknown length claims room in steps of this size, so that it need not claim room for each piece. */
const stepBytes = 1024 * 1024;

/** If the folders keep changing, an upload that does not fit is refused after this number of counts. */
const maxCounts = 2;

/** The room that one upload claims under a quota. The caller ends the reservation with `commit`, `keep` or `release`. */
export interface QuotaReservation {
  /** Claims room for `bytes` more. @throws ServiceError `storage-full` if the quota has no room for them */
  take(bytes: number): Promise<void> | void;
  /**
   * Claims the final room, then runs `put`, which renames the upload to its final name. The caller has locked the mutex of the path, so
   * `replacedBytes` is correct at that moment.
   *
   * @param sizeBytes size of the whole upload
   * @param replacedBytes size of the file that `put` replaces, 0 for none
   * @throws ServiceError `storage-full`, and the errors of `put`
   */
  commit<T>(sizeBytes: number, replacedBytes: number, put: () => T): Promise<T>;
  /** Ends the reservation of a request whose upload a later request will continue. The content stays on disk. */
  keep(sizeBytes: number): Promise<void>;
  /** Ends the reservation of an upload that did not result in a file. Does nothing after `commit`. */
  release(): void;
}

export const unlimited: QuotaReservation = {
  take() {},
  commit: async (_sizeBytes, _replacedBytes, put) => put(),
  async keep() {},
  release() {},
};

/** The content of an unfinished upload. `name` is the name of its hidden file. */
export interface KeptContent {
  name: string;
  sizeBytes: number;
}

/** Tries to free at least `missingBytes`. @returns whether any space was freed */
export type MakeRoom = (missingBytes: number) => Promise<boolean>;

/** The room that an upload claims. */
interface Claim {
  /** Bytes that are on disk already, and so are not growth: the file that the upload replaces, and the content of earlier requests. */
  replacedBytes: number;
  /** Size of the whole upload, as far as it is known or written. */
  bytes: number;
  /** The content of earlier requests. A count uses the size that is stored here, even if the upload grows meanwhile. */
  kept?: KeptContent | undefined;
  isMove?: boolean;
  /** Value of `FolderUsage.#counts` when the claim was made. */
  counts: number;
}

interface Limit {
  limitBytes: number;
  /** Called once if a claim does not fit. */
  makeRoom?: MakeRoom | undefined;
}

/** Keeps accounts within `quota_size`. The sizes of all files in an account's real folders are added up. */
export class Quotas {
  readonly #clock: Clock;
  readonly #usages = new Map<string, FolderUsage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins an upload. @param limitBytes the quota, 0 for none @see FolderUsage.reserve */
  async reserve(
    roots: RealRoots,
    limitBytes: number,
    replacedBytes: number,
    neededBytes: number,
    kept?: KeptContent,
    makeRoom?: MakeRoom,
  ): Promise<QuotaReservation> {
    return limitBytes === 0 ? unlimited : this.usage(roots).reserve({ limitBytes, makeRoom }, replacedBytes, neededBytes, kept);
  }

  /** The usage of all real folders of an account together. */
  usage(roots: RealRoots): FolderUsage {
    const key = roots.paths.toSorted().join('\0');
    const usage = this.#usages.get(key) ?? new FolderUsage(roots, this.#clock);
    this.#usages.set(key, usage);
    return usage;
  }
}

/**
 * The total size of all files in the folders of an account. The size is counted on disk, then updated with each change by the service, and
 * is never too low. An upload claims room before it writes, and again before the rename to its final name.
 */
class FolderUsage {
  readonly #roots: RealRoots;
  readonly #clock: Clock;
  #usedBytes = 0;
  /** Whether `#usedBytes` is the size on disk; otherwise it may be too high. */
  #isExact = false;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Sum of all growth so far. Growth during a count is added to the result of the count, because the count may not have seen this growth.
   */
  #grownBytes = 0;
  #changes = 0;
  /** Number of moves begun so far. A running count may miss files that are being moved. */
  #moves = 0;
  /** Incremented at the beginning and at the end of each count. If it has changed since a claim, a count has run meanwhile. */
  #counts = 0;
  #counting: Promise<void> | undefined;
  /** The claims of running uploads and moves, by the number that each got from `#lastId`. */
  readonly #claims = new Map<number, Claim>();
  #lastId = 0;

  constructor(roots: RealRoots, clock: Clock) {
    this.#roots = roots;
    this.#clock = clock;
  }

  /**
   * Begins an upload.
   *
   * @param replacedBytes current size of the file that the upload will replace
   * @param neededBytes announced size of the upload, 0 if it is unknown
   * @param kept content of earlier requests, which is already on disk
   * @throws ServiceError `storage-full` if the announced size does not fit
   */
  async reserve(limit: Limit, replacedBytes: number, neededBytes: number, kept?: KeptContent): Promise<QuotaReservation> {
    const id = ++this.#lastId;
    const keptBytes = kept?.sizeBytes ?? 0;
    let claimedBytes = neededBytes;
    let takenBytes = keptBytes;
    const claim = async (bytes: number, replaced = replacedBytes) => {
      await this.#claim(id, limit, { replacedBytes: replaced + keptBytes, bytes, kept });
      claimedBytes = bytes;
    };
    const takeMore = async () => {
      try {
        await claim(Math.max(takenBytes, claimedBytes + stepBytes));
      } catch (error) {
        // If there is no room for a whole step, there may still be room for the bytes received so far.
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
        this.#release(id, true);
        return result;
      },
      keep: async (sizeBytes) => {
        // A refusal is ignored, because the content is already on disk. The next request is refused instead.
        await claim(sizeBytes, 0).catch(() => {});
        this.#release(id, true);
      },
      release: () => this.#release(id, false),
    };
  }

  /** Reports a removal, after which the folders contain less than the last count says. */
  removed(): void {
    this.#changes++;
    this.#isExact = false;
  }

  /** Reports that a file or folder is about to move within the folders. @returns a function to call after the move */
  beginMove(): () => void {
    const id = ++this.#lastId;
    this.#changes++;
    this.#moves++;
    this.#claims.set(id, { replacedBytes: 0, bytes: 0, isMove: true, counts: this.#counts });
    return () => this.#release(id, true);
  }

  /** Bytes in the folders, plus the bytes that running uploads will add. The count is at most five minutes old. */
  async usedBytes(): Promise<number> {
    if (!this.#isExact || this.#ageMs > countValidForMs) await this.#count();
    return this.#usedBytes + this.#claimedBytes(undefined);
  }

  get #ageMs(): number {
    return this.#clock.monotonicMs() - this.#countedAtMs;
  }

  /** Replaces the claim of an upload. @throws ServiceError `storage-full` */
  async #claim(id: number, { limitBytes, makeRoom }: Limit, claim: Omit<Claim, 'counts'>): Promise<void> {
    let isRoomMade = makeRoom === undefined;
    for (let counts = 0; ; counts++) {
      const ageMs = this.#ageMs;
      if (ageMs <= countValidForMs) {
        // From now on the kept content may grow, so a running count is not exact.
        if (claim.kept && !this.#claims.has(id)) this.#changes++;
        if (this.#missingBytes(id, limitBytes, claim) <= 0) {
          this.#claims.set(id, { ...claim, counts: this.#counts });
          return;
        }
      }
      if (counts >= maxCounts || (this.#isExact && ageMs <= countFreshForMs)) {
        if (!isRoomMade && (await makeRoom?.(this.#missingBytes(id, limitBytes, claim)))) {
          isRoomMade = true;
          this.removed();
          counts = -1;
          continue;
        }
        throw new ServiceError('storage-full', 'The quota of this account is used up.');
      }
      await this.#count();
    }
  }

  #missingBytes(id: number, limitBytes: number, { bytes, replacedBytes }: Omit<Claim, 'counts'>): number {
    return this.#usedBytes + this.#claimedBytes(this.#claims.get(id)) + bytes - replacedBytes - limitBytes;
  }

  /** Ends a claim. @param isDone whether the upload is on disk, with the size that it claimed last */
  #release(id: number, isDone: boolean): void {
    const claim = this.#claims.get(id);
    if (!claim) return;
    this.#claims.delete(id);
    if (!isDone) return;
    const grownBytes = claim.bytes - claim.replacedBytes;
    const isCounted = claim.counts !== this.#counts;
    this.#changes++;
    // A count that ran after the claim may have seen the old or the new file. The larger size is used, so that the usage is never too low.
    if (isCounted) this.#isExact = false;
    if (grownBytes > 0) this.#grownBytes += grownBytes;
    if (grownBytes > 0 || !isCounted) this.#usedBytes += grownBytes;
    // If the replaced file was created outside the service after the last count, the usage can be negative. If so, the next claim starts
    // a new count.
    if (this.#usedBytes < 0) {
      this.#usedBytes = 0;
      this.#countedAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Bytes that the running uploads will add to the folders, not counting the upload of the claim `except`. */
  #claimedBytes(except: Claim | undefined): number {
    let bytes = 0;
    for (const claim of this.#claims.values()) if (claim !== except) bytes += Math.max(0, claim.bytes - claim.replacedBytes);
    return bytes;
  }

  #count(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countNow(): Promise<void> {
    this.#counts++;
    const claims = [...this.#claims.values()];
    const [changes, grownBytes, moves] = [this.#changes, this.#grownBytes, claims.some(({ isMove }) => isMove) ? -1 : this.#moves];
    const bytes = await countBytes(this.#roots, new Map(claims.flatMap(({ kept }) => (kept ? [[kept.name, kept.sizeBytes]] : []))));
    const hasMoved = this.#moves !== moves;
    const countedBytes = bytes + this.#grownBytes - grownBytes;
    this.#counts++;
    this.#usedBytes = hasMoved ? Math.max(countedBytes, this.#usedBytes) : countedBytes;
    this.#isExact = this.#changes === changes;
    // The count may have missed files that moved. So the count is treated as older than it is, and a new one is made soon.
    this.#countedAtMs = this.#clock.monotonicMs() - (hasMoved ? countValidForMs - countFreshForMs : 0);
  }
}

/** Counts on disk the bytes of all files in a folder. */
export async function treeBytes(roots: RealRoots, top: string, kept?: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  for await (const member of walkTree(roots, top, { passesTooDeep: true })) {
    const name = member.relativePath.slice(member.relativePath.lastIndexOf('/') + 1);
    // Temporary files of running uploads are left out, because claims count them. Kept content of unfinished uploads is counted here.
    if (member.isFolder || (isTemporaryName(name) && !isKeptName(name)) || isTrashRecord(member.relativePath)) continue;
    const stats = lstatSync(member.boundPath, { throwIfNoEntry: false });
    if (stats?.isFile()) bytes += kept?.get(name) ?? stats.size;
  }
  return bytes;
}

/** Counts on disk the bytes of all files in an account's folders. @param kept sizes to use for unfinished uploads, by hidden name */
async function countBytes(roots: RealRoots, kept: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  const tops = roots.paths.filter((path) => !roots.paths.some((other) => other !== path && isWithin(path, other)));
  for (const top of new Set(tops)) bytes += await treeBytes(roots, top, kept);
  return bytes;
}

export interface Space {
  availableBytes: number;
  usedBytes: number;
}

/**
 * Returns the free and used bytes of the disk at a path. A quota limits the free bytes, and only the account's own files count as used.
 *
 * @param limitBytes the quota of the account; 0 without a quota
 * @throws ServiceError `not-found` for a path that is not on disk
 */
export async function spaceAt(path: VirtualPath, mounts: Mounts, limitBytes: number, quotas: Quotas): Promise<Space> {
  const { roots } = mounts;
  const location = mounts.locate(path);
  const found = location.kind === 'real' ? inspect(roots, location.realPath) : undefined;
  if (location.kind === 'real' && !found) throw new ServiceError('not-found', 'Path not found.');
  const folder = found && openFolder(roots, found.stats.isDirectory() ? found.realPath : dirname(found.realPath));
  try {
    const disk = statfsSync(folder?.member('.') ?? mounts.accountRoots.paths[0] ?? '/');
    const freeBytes = disk.bavail * disk.bsize;
    if (limitBytes === 0) return { availableBytes: freeBytes, usedBytes: (disk.blocks - disk.bfree) * disk.bsize };
    const usedBytes = await quotas.usage(mounts.accountRoots).usedBytes();
    return { availableBytes: Math.max(0, Math.min(freeBytes, limitBytes - usedBytes)), usedBytes };
  } finally {
    folder?.close();
  }
}
