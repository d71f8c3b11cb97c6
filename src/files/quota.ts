import { lstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin } from '../lib/virtual-path.ts';
import type { RealRoots } from './disk/real-roots.ts';
import { isKeptName, isTemporaryName, isTrashRecord } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';

/** An upload is refused only after a count that is at most this old: files may have been removed outside the service. */
const countFreshForMs = 10_000;

/** A count older than this is repeated before the next upload in any case. */
const countValidForMs = 300_000;

/** An upload of unknown length claims this much at a time, so that it need not ask for each piece. */
const stepBytes = 1024 * 1024;

/** While the folders keep changing, an upload that does not fit is refused after this many counts. */
const maxCounts = 2;

/** Room for one upload under a quota. Ends with `commit`, `keep` or `release`. */
export interface QuotaReservation {
  /** @throws ServiceError `storage-full` when the account's quota does not have `bytes` more */
  take(bytes: number): Promise<void> | void;
  /**
   * Gives the upload its name, under the mutex of its path: room is claimed anew, by what the upload replaces at that moment.
   *
   * @param sizeBytes of the whole upload
   * @param replacedBytes size of the file that `put` replaces, 0 for none
   * @throws ServiceError `storage-full`, and what `put` throws
   */
  commit<T>(sizeBytes: number, replacedBytes: number, put: () => T): Promise<T>;
  /** Ends a request whose upload another one continues: its content stays on disk. */
  keep(sizeBytes: number): Promise<void>;
  /** Ends an upload without a file; does nothing after `commit`. */
  release(): void;
}

export const unlimited: QuotaReservation = {
  take() {},
  commit: async (_sizeBytes, _replacedBytes, put) => put(),
  async keep() {},
  release() {},
};

/** Content of an unfinished upload, by the name of its hidden file. */
export interface KeptContent {
  name: string;
  sizeBytes: number;
}

/** Frees at least that number of bytes, if it can. @returns whether anything was freed */
export type MakeRoom = (missingBytes: number) => Promise<boolean>;

/** Room that an upload claims. */
interface Claim {
  /** Size of the file that the upload replaces. */
  replacedBytes: number;
  /** Size of the whole upload, as far as it is known or written. */
  bytes: number;
  /** Content of earlier requests: a count uses this size, even if the upload grows meanwhile. */
  kept?: KeptContent | undefined;
  isMove?: boolean;
  /** `FolderUsage.#counts` when the claim was made. */
  counts: number;
}

interface Limit {
  limitBytes: number;
  /** Called once for a claim that does not fit. */
  makeRoom?: MakeRoom | undefined;
}

/** Keeps accounts within `quota_size`: all files in the account's real folders count together. */
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

  /** The use of an account's real folders, which count together. */
  usage(roots: RealRoots): FolderUsage {
    const key = roots.paths.toSorted().join('\0');
    const usage = this.#usages.get(key) ?? new FolderUsage(roots, this.#clock);
    this.#usages.set(key, usage);
    return usage;
  }
}

/**
 * How much folders under a quota hold: counted on disk, then kept up to date by the changes of the service itself. It is never too low.
 * An upload claims room before it writes, and once more when it gets its name.
 */
class FolderUsage {
  readonly #roots: RealRoots;
  readonly #clock: Clock;
  #usedBytes = 0;
  /** Whether `#usedBytes` is the use on disk; otherwise it may be too high. */
  #isExact = false;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  /** Sum of all growth so far; growth during a count is added to it, seen or not. */
  #grownBytes = 0;
  /** Uploads, removals and moves so far. */
  #changes = 0;
  /** Moves begun so far: a count under way may miss what moves. */
  #moves = 0;
  /** Counts begun and ended so far. */
  #counts = 0;
  #counting: Promise<void> | undefined;
  /** By a number of the upload. */
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
   * @param neededBytes announced size of the upload, 0 when it is not known
   * @param kept content of earlier requests, which is on disk already
   * @throws ServiceError `storage-full` when the announced size does not fit
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
        // There may be room for the present bytes, if not for a whole step.
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
        // The content is on disk already; a refusal is for the next request.
        await claim(sizeBytes, 0).catch(() => {});
        this.#release(id, true);
      },
      release: () => this.#release(id, false),
    };
  }

  /** Reports a removal: the folders hold less than was last counted. */
  removed(): void {
    this.#changes++;
    this.#isExact = false;
  }

  /** Reports that something is about to move within the folders. @returns to be called when it has moved */
  beginMove(): () => void {
    const id = ++this.#lastId;
    this.#changes++;
    this.#moves++;
    this.#claims.set(id, { replacedBytes: 0, bytes: 0, isMove: true, counts: this.#counts });
    return () => this.#release(id, true);
  }

  /** Bytes that the folders hold and uploads under way will add, at most five minutes old. */
  async usedBytes(): Promise<number> {
    if (!this.#isExact || this.#ageMs > countValidForMs) await this.#count();
    return this.#usedBytes + this.#claimedBytes(undefined);
  }

  get #ageMs(): number {
    return this.#clock.monotonicMs() - this.#countedAtMs;
  }

  /** Claims room for an upload, instead of its earlier claim. @throws ServiceError `storage-full` */
  async #claim(id: number, { limitBytes, makeRoom }: Limit, claim: Omit<Claim, 'counts'>): Promise<void> {
    let isRoomMade = makeRoom === undefined;
    for (let counts = 0; ; counts++) {
      const ageMs = this.#ageMs;
      if (ageMs <= countValidForMs) {
        // A count under way may see the kept content grow from now on.
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

  /** Ends a claim. @param isDone whether the upload has its name, with the size that it claimed last */
  #release(id: number, isDone: boolean): void {
    const claim = this.#claims.get(id);
    if (!claim) return;
    this.#claims.delete(id);
    if (!isDone) return;
    const grownBytes = claim.bytes - claim.replacedBytes;
    const isCounted = claim.counts !== this.#counts;
    this.#changes++;
    // A count since the claim may have seen the new file or the old one; the higher figure is the safe one.
    if (isCounted) this.#isExact = false;
    if (grownBytes > 0) this.#grownBytes += grownBytes;
    if (grownBytes > 0 || !isCounted) this.#usedBytes += grownBytes;
    // The upload replaced a file from outside the service.
    if (this.#usedBytes < 0) {
      this.#usedBytes = 0;
      this.#countedAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Bytes that the uploads under way, except one, will add to the folders. */
  #claimedBytes(except: Claim | undefined): number {
    let bytes = 0;
    for (const claim of this.#claims.values()) if (claim !== except) bytes += Math.max(0, claim.bytes - claim.replacedBytes);
    return bytes;
  }

  /** Counts on disk; joins a count that is under way. */
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
    // The count may have missed what moved, so it is soon too old to refuse an upload.
    this.#countedAtMs = this.#clock.monotonicMs() - (hasMoved ? countValidForMs - countFreshForMs : 0);
  }
}

/** Counts on disk the bytes of all files in a folder. */
export async function treeBytes(roots: RealRoots, top: string, kept?: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  for await (const member of walkTree(roots, top, { passesTooDeep: true })) {
    const name = member.relativePath.slice(member.relativePath.lastIndexOf('/') + 1);
    // Uploads under way have claims; the kept content of unfinished ones counts without one.
    if (member.isFolder || (isTemporaryName(name) && !isKeptName(name)) || isTrashRecord(member.relativePath)) continue;
    const stats = lstatSync(member.boundPath, { throwIfNoEntry: false });
    if (stats?.isFile()) bytes += kept?.get(name) ?? stats.size;
  }
  return bytes;
}

/** Counts on disk the bytes of all files in an account's folders. @param kept sizes that unfinished uploads count with, by hidden name */
async function countBytes(roots: RealRoots, kept: ReadonlyMap<string, number>): Promise<number> {
  let bytes = 0;
  const tops = roots.paths.filter((path) => !roots.paths.some((other) => other !== path && isWithin(path, other)));
  for (const top of new Set(tops)) bytes += await treeBytes(roots, top, kept);
  return bytes;
}
