import { lstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin } from '../lib/virtual-path.ts';
import type { RealRoots } from './disk/real-roots.ts';
import { isKeptName, isTemporaryName } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';

/** A count older than this is made anew before an upload is refused: files may have been removed outside the service. */
const countFreshForMs = 10_000;

/** A count older than this is made anew before the next upload in any case. */
const countValidForMs = 300_000;

/** Room that an upload asks for in folders that a quota counts together. */
interface QuotaClaim {
  limitBytes: number;
  /** Size of the file that the upload replaces. */
  replacedBytes: number;
  /** All that the upload needs, what it has already included. */
  bytes: number;
  /** Content of the upload that earlier requests left, under its hidden name: a count takes it for so large, however it grows meanwhile. */
  kept?: KeptContent | undefined;
}

/** Content of an unfinished upload, by the name of its hidden file. */
interface KeptContent {
  name: string;
  sizeBytes: number;
}

/** What was known when a count on disk began, so that what changed meanwhile is not lost. */
interface CountBegun {
  grownBytes: number;
  changes: number;
  /** -1 while something moves. */
  moves: number;
  /** What of unfinished uploads takes part in claims. */
  kept: KeptContent[];
}

/** A count on disk. */
interface Count {
  begun: CountBegun;
  bytes: number;
}

/** With `count` the asker has to count on disk what the folders hold, and to ask again. */
type QuotaAnswer = 'taken' | 'refused' | { count: CountBegun };

interface Claim extends QuotaClaim {
  isMove: boolean;
  /** How many counts had begun or ended when the claim was last asked for. */
  counts: number;
}

/** What one set of folders holds: counted on disk, then kept up by what the service itself changes. It is never too low. */
class FolderUsage {
  usedBytes = 0;
  /** Whether `usedBytes` is what the disk holds; else it may be too high. */
  isExact = false;
  countedAtMs = Number.NEGATIVE_INFINITY;
  /** Sum of all growth so far; what grew during a count is added to it, seen or not. */
  grownBytes = 0;
  /** Uploads, removals and moves so far. */
  changes = 0;
  /** Moves begun so far: a count under way may miss what changes its place. */
  moves = 0;
  /** Counts begun and ended so far. */
  counts = 0;
  /** By the number of the upload. */
  readonly claims = new Map<number, Claim>();
}

/**
 * What folders under a quota hold, and what uploads under way may add. An upload claims room before it writes, and once more in the
 * turn of its rename, by what it replaces at that moment: what it holds and what it frees are told apart for good only then.
 */
class QuotaLedger {
  readonly #clock: Clock;
  readonly #usages = new Map<string, FolderUsage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes room for an upload in place of what it had claimed before, when there is.
   *
   * @param folders what the quota counts together (`foldersOf`)
   * @param id names the upload
   * @param count a count that an earlier answer asked for
   */
  claim(folders: string, id: number, asked: QuotaClaim, count: Count | undefined): QuotaAnswer {
    const usage = this.#usageOf(folders);
    if (count) this.#adopt(usage, count);
    const ageMs = this.#clock.monotonicMs() - usage.countedAtMs;
    if (ageMs > countValidForMs) return { count: begin(usage) };
    // A count under way may see what grows from now on.
    if (asked.kept && !usage.claims.has(id)) usage.changes++;
    if (usage.usedBytes + heldBytes(usage, usage.claims.get(id)) + asked.bytes - asked.replacedBytes > asked.limitBytes)
      return usage.isExact && ageMs <= countFreshForMs ? 'refused' : { count: begin(usage) };
    usage.claims.set(id, { ...asked, isMove: false, counts: usage.counts });
    return 'taken';
  }

  /** Something is about to get another place in the same folders; `release` says that it has. */
  beginMove(folders: string, id: number): void {
    const usage = this.#usageOf(folders);
    usage.changes++;
    usage.moves++;
    usage.claims.set(id, { limitBytes: 0, replacedBytes: 0, bytes: 0, isMove: true, counts: usage.counts });
  }

  /** Ends an upload's claim. @param isDone whether the file has its name, as was last claimed */
  release(folders: string, id: number, isDone: boolean): void {
    const usage = this.#usageOf(folders);
    const claim = usage.claims.get(id);
    if (!claim) return;
    usage.claims.delete(id);
    if (!isDone) return;
    const grownBytes = claim.bytes - claim.replacedBytes;
    const isCounted = claim.counts !== usage.counts;
    usage.changes++;
    // A count since then may have seen the new file or the old one: rather too much than too little.
    if (isCounted) usage.isExact = false;
    if (grownBytes > 0) usage.grownBytes += grownBytes;
    if (grownBytes > 0 || !isCounted) usage.usedBytes += grownBytes;
    // Something came from outside the service, and was replaced.
    if (usage.usedBytes < 0) Object.assign(usage, { usedBytes: 0, countedAtMs: Number.NEGATIVE_INFINITY });
  }

  /** Something was removed: the folders hold less than is known. */
  removed(folders: string): void {
    const usage = this.#usageOf(folders);
    usage.changes++;
    usage.isExact = false;
  }

  /** What the folders hold and uploads under way will add; what to count when that is not known exactly. */
  used(folders: string, count: Count | undefined): number | { count: CountBegun } {
    const usage = this.#usageOf(folders);
    if (count) this.#adopt(usage, count);
    const isKnown = count !== undefined || (usage.isExact && this.#clock.monotonicMs() - usage.countedAtMs <= countValidForMs);
    return isKnown ? usage.usedBytes + heldBytes(usage, undefined) : { count: begin(usage) };
  }

  #usageOf(folders: string): FolderUsage {
    const usage = this.#usages.get(folders) ?? new FolderUsage();
    this.#usages.set(folders, usage);
    return usage;
  }

  #adopt(usage: FolderUsage, { begun, bytes }: Count): void {
    const hasMoved = usage.moves !== begun.moves;
    const countedBytes = bytes + usage.grownBytes - begun.grownBytes;
    usage.counts++;
    usage.usedBytes = hasMoved ? Math.max(countedBytes, usage.usedBytes) : countedBytes;
    usage.isExact = usage.changes === begun.changes;
    usage.countedAtMs = this.#clock.monotonicMs();
    // What was moved may be missing in it.
    if (hasMoved) usage.countedAtMs -= countValidForMs - countFreshForMs;
  }
}

function begin(usage: FolderUsage): CountBegun {
  usage.counts++;
  const claims = [...usage.claims.values()];
  const isMoving = claims.some(({ isMove }) => isMove);
  const kept = claims.flatMap((claim) => claim.kept ?? []);
  return { grownBytes: usage.grownBytes, changes: usage.changes, moves: isMoving ? -1 : usage.moves, kept };
}

/** By how much the uploads under way, but for one, will make the folders grow. */
function heldBytes(usage: FolderUsage, except: Claim | undefined): number {
  let bytes = 0;
  for (const claim of usage.claims.values()) if (claim !== except) bytes += Math.max(0, claim.bytes - claim.replacedBytes);
  return bytes;
}

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
    const folders = quotaKey(roots);
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
    this.#ledger.removed(quotaKey(roots));
  }

  /** Notes that something in these folders is about to get another place there. @returns what to call when it has */
  beginMove(roots: RealRoots): () => void {
    const folders = quotaKey(roots);
    const id = ++this.#ids;
    this.#ledger.beginMove(folders, id);
    return () => this.#ledger.release(folders, id, true);
  }

  /** Bytes that all files in these folders hold and uploads under way will add, at most five minutes old. */
  async usedBytes(roots: RealRoots): Promise<number> {
    const folders = quotaKey(roots);
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
function quotaKey(roots: RealRoots): string {
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
