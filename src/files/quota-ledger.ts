import type { Clock } from '../lib/clock.ts';

/** A count older than this is made anew before an upload is refused: files may have been removed outside the service. */
const countFreshForMs = 10_000;

/** A count older than this is made anew before the next upload in any case. */
const countValidForMs = 300_000;

/** Room that an upload asks for in folders that a quota counts together. */
export interface QuotaClaim {
  limitBytes: number;
  /** Size of the file that the upload replaces. */
  replacedBytes: number;
  /** All that the upload needs, what it has already included. */
  bytes: number;
  /** Content of the upload that earlier requests left, under its hidden name: a count takes it for so large, however it grows meanwhile. */
  kept?: KeptContent | undefined;
}

/** Content of an unfinished upload, by the name of its hidden file. */
export interface KeptContent {
  name: string;
  sizeBytes: number;
}

/** What was known when a count on disk began, so that what changed meanwhile is not lost. */
export interface CountBegun {
  grownBytes: number;
  changes: number;
  /** -1 while something moves. */
  moves: number;
  /** What of unfinished uploads takes part in claims. */
  kept: KeptContent[];
}

/** A count on disk. */
export interface Count {
  begun: CountBegun;
  bytes: number;
}

/** With `count` the asker has to count on disk what the folders hold, and to ask again. */
export type QuotaAnswer = 'taken' | 'refused' | { count: CountBegun };

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
export class QuotaLedger {
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
