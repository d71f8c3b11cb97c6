import { lstatSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { walkTree } from './folder-remover.ts';
import type { RealRoots } from './real-roots.ts';
import { isTemporaryName } from './temporaries.ts';

/** A count older than this is made anew before an upload is refused: files may have been removed outside the service. */
export const countFreshForMs = 10_000;

/** A count older than this is made anew before the next upload in any case. */
export const countValidForMs = 300_000;

/** What one set of folders holds: counted from disk, then kept up by what the service itself changes. */
class FolderUsage {
  usedBytes = 0;
  reservedBytes = 0;
  countedAtMs = Number.NEGATIVE_INFINITY;
  counting: Promise<void> | undefined;
}

/** Room taken for one upload under a quota; `release` ends it, whatever came of the upload. */
export interface QuotaReservation {
  /** @throws ServiceError `storage-full` when the account's quota does not have `bytes` more */
  take(bytes: number): Promise<void> | void;
  /** @param changeBytes by how much the folders grew (negative: shrank) */
  release(changeBytes: number): void;
}

export const unlimited: QuotaReservation = { take() {}, release() {} };

/** Keeps accounts within `quota_size`: all files in the account's real folders count together. Implementations: of one process here, of workers. */
export interface QuotaKeeper {
  /**
   * Begins an upload under a quota.
   *
   * @param limitBytes the quota, 0 = none
   * @param replacedBytes size of the file that the upload will replace
   * @param neededBytes announced size of the upload, when known
   * @throws ServiceError `storage-full` when the announced size does not fit
   */
  reserve(roots: RealRoots, limitBytes: number, replacedBytes: number, neededBytes: number): Promise<QuotaReservation>;
  /** Notes that something in these folders was removed; the next upload counts anew. */
  forget(roots: RealRoots): void;
  /** Bytes that all files in these folders hold, at most five minutes old. */
  usedBytes(roots: RealRoots): Promise<number>;
}

/** Quotas of one process. */
export class Quotas implements QuotaKeeper {
  readonly #clock: Clock;
  readonly #usages = new Map<string, FolderUsage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async reserve(roots: RealRoots, limitBytes: number, replacedBytes: number, neededBytes: number): Promise<QuotaReservation> {
    if (limitBytes === 0) return unlimited;
    const usage = await this.#usageOf(roots, countValidForMs);
    const isOver = (bytes: number) => usage.usedBytes + usage.reservedBytes + bytes - replacedBytes > limitBytes;
    if (isOver(neededBytes)) await this.#usageOf(roots, countFreshForMs);
    if (isOver(neededBytes)) throw quotaUsedUp();
    let takenBytes = 0;
    return {
      take(bytes) {
        if (isOver(bytes)) throw quotaUsedUp();
        takenBytes += bytes;
        usage.reservedBytes += bytes;
      },
      release(changeBytes) {
        usage.reservedBytes -= takenBytes;
        takenBytes = 0;
        usage.usedBytes += changeBytes;
      },
    };
  }

  forget(roots: RealRoots): void {
    const usage = this.#usages.get(foldersOf(roots));
    if (usage) usage.countedAtMs = Number.NEGATIVE_INFINITY;
  }

  async usedBytes(roots: RealRoots): Promise<number> {
    const usage = await this.#usageOf(roots, countValidForMs);
    return usage.usedBytes + usage.reservedBytes;
  }

  async #usageOf(roots: RealRoots, maximumAgeMs: number): Promise<FolderUsage> {
    const key = foldersOf(roots);
    let usage = this.#usages.get(key);
    if (!usage) {
      usage = new FolderUsage();
      this.#usages.set(key, usage);
    }
    if (this.#clock.monotonicMs() - usage.countedAtMs > maximumAgeMs) {
      usage.counting ??= this.#count(roots, usage);
      await usage.counting;
    }
    return usage;
  }

  async #count(roots: RealRoots, usage: FolderUsage): Promise<void> {
    try {
      usage.usedBytes = await countBytes(roots);
      usage.countedAtMs = this.#clock.monotonicMs();
    } finally {
      usage.counting = undefined;
    }
  }
}

/** Counts on disk what all files in an account's folders hold. */
export async function countBytes(roots: RealRoots): Promise<number> {
  let bytes = 0;
  const paths = roots.paths.filter((path) => !roots.paths.some((other) => other !== path && path.startsWith(`${other}/`)));
  for (const path of new Set(paths)) bytes += await treeBytes(roots, path);
  return bytes;
}

/** What a quota counts together, as one text. */
export function foldersOf(roots: RealRoots): string {
  return roots.paths.toSorted().join('\0');
}

export function quotaUsedUp(): ServiceError {
  return new ServiceError('storage-full', 'The quota of this account is used up.');
}

async function treeBytes(roots: RealRoots, path: string): Promise<number> {
  let bytes = 0;
  for await (const member of walkTree(roots, path)) {
    if (member.isFolder || isTemporaryName(member.relativePath.slice(member.relativePath.lastIndexOf('/') + 1))) continue;
    const stats = lstatSync(`${path}/${member.relativePath}`, { throwIfNoEntry: false });
    if (stats?.isFile()) bytes += stats.size;
  }
  return bytes;
}
