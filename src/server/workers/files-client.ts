import { type PathTurns, pathTurns } from '../../files/disk/turns.ts';
import type { QuotaBook } from '../../files/quota.ts';
import type { ToPrimary } from './protocol.ts';

/** Turns at changing paths, which the primary process gives. */
export function turnsOf(primary: ToPrimary): PathTurns {
  return pathTurns(
    (path) => primary.call('takeTurn', path),
    (path) => primary.tell('endTurn', path),
  );
}

/** The ledger of quotas that the primary process keeps; workers count on disk. */
export function bookOf(primary: ToPrimary): QuotaBook {
  return {
    claim: (folders, id, claim, count) => primary.call('claimQuota', folders, id, claim, count),
    release: (folders, id, isDone) => primary.tell('releaseQuota', folders, id, isDone),
    beginMove: (folders, id) => primary.tell('beginMoveInQuota', folders, id),
    removed: (folders) => primary.tell('removedInQuota', folders),
    used: (folders, count) => primary.call('usedQuota', folders, count),
  };
}
