import type { PathTurns } from '../files/file-scope.ts';
import { countBytes, foldersOf, type QuotaKeeper, type QuotaReservation, quotaUsedUp, unlimited } from '../files/quota.ts';
import type { RealRoots } from '../files/real-roots.ts';
import { isServiceError } from '../lib/errors.ts';
import type { ToPrimary } from './protocol.ts';

/** What an upload of unknown length takes at a time, so that it need not ask for each piece. */
const stepBytes = 1024 * 1024;

/** Turns at changing paths, which the primary process gives. */
export function turnsOf(primary: ToPrimary): PathTurns {
  return {
    async inTurn(paths, action) {
      // In one order everywhere, so that no two wait for each other.
      const ordered = [...new Set(paths)].sort();
      const taken: string[] = [];
      try {
        for (const path of ordered) {
          await primary.call('takeTurn', path);
          taken.push(path);
        }
        return await action();
      } finally {
        for (const path of taken) primary.tell('endTurn', path);
      }
    },
  };
}

/** Quotas in a worker: the primary process keeps the account, workers count on disk. */
export class QuotaClient implements QuotaKeeper {
  readonly #primary: ToPrimary;
  readonly #counting = new Map<string, Promise<number>>();

  constructor(primary: ToPrimary) {
    this.#primary = primary;
  }

  async reserve(roots: RealRoots, limitBytes: number, replacedBytes: number, neededBytes: number): Promise<QuotaReservation> {
    if (limitBytes === 0) return unlimited;
    const folders = foldersOf(roots);
    let claimedBytes = 0;
    let takenBytes = 0;
    let isOver = false;
    const claim = async (bytes: number) => {
      const request = { limitBytes, replacedBytes, bytes };
      let answer = await this.#primary.call('reserveQuota', folders, request);
      if (answer === 'count') {
        const countedBytes = await this.#count(roots, folders);
        answer = await this.#primary.call('reserveQuota', folders, { ...request, countedBytes });
      }
      if (answer !== 'taken') throw quotaUsedUp();
      claimedBytes += bytes;
    };
    await claim(neededBytes);
    return {
      take: async (bytes) => {
        takenBytes += bytes;
        const lackingBytes = takenBytes - claimedBytes;
        if (lackingBytes <= 0) return;
        try {
          await claim(Math.max(lackingBytes, stepBytes));
        } catch (error) {
          // There is no room for a whole step, but perhaps for what is needed now.
          if (!isServiceError(error, 'storage-full') || lackingBytes >= stepBytes) throw error;
          await claim(lackingBytes);
        }
      },
      release: (changeBytes) => {
        if (isOver) return;
        isOver = true;
        this.#primary.tell('releaseQuota', folders, claimedBytes, changeBytes);
      },
    };
  }

  forget(roots: RealRoots): void {
    this.#primary.tell('forgetQuota', foldersOf(roots));
  }

  async usedBytes(roots: RealRoots): Promise<number> {
    const folders = foldersOf(roots);
    const known = await this.#primary.call('usedQuota', folders, undefined);
    if (known !== undefined) return known;
    return (await this.#primary.call('usedQuota', folders, await this.#count(roots, folders))) as number;
  }

  #count(roots: RealRoots, folders: string): Promise<number> {
    let counting = this.#counting.get(folders);
    if (!counting) {
      counting = countBytes(roots).finally(() => this.#counting.delete(folders));
      this.#counting.set(folders, counting);
    }
    return counting;
  }
}
