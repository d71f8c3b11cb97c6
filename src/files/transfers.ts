import type { Account } from '../accounts/account.ts';
import type { EventContext, RequestTrace } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';

/** A file, or an archive, that is on its way to or from a client. Nothing of it is read but when somebody looks. */
export interface Transfer {
  readonly direction: 'download' | 'upload';
  /** Whose files they are, and by which service they go. */
  readonly files: { readonly account: Account; readonly context: EventContext };
  readonly path: VirtualPath;
  /** When it began; monotonic. */
  readonly startedMs: number;
  /** Bytes that have come or gone so far. */
  readonly bytes: number;
  /** How many there will be; undefined where nobody said so. */
  readonly totalBytes: number | undefined;
  /** Bytes that were there before it began, of an upload that goes on. */
  readonly formerBytes?: number;
}

/** A transfer as it is seen at one moment. */
export interface ShownTransfer {
  /** Tells it from all others of this node. */
  id: string;
  service: string;
  account: string;
  path: string;
  direction: Transfer['direction'];
  bytes: number;
  totalBytes: number | undefined;
  /** Of the last seconds. */
  bytesPerSecond: number;
  /** Unix time in milliseconds. */
  startedMs: number;
}

/** Those that are shown, and how many are not. */
export interface ShownTransfers {
  shown: ShownTransfer[];
  leftOut: number;
}

/** So many are shown at most: those that began first. */
export const maxShown = 100;

/** A rate is that of so many milliseconds at least. */
const leastRateMs = 1000;

/** How far a transfer was at one moment. */
interface Mark {
  /** Monotonic. */
  atMs: number;
  bytes: number;
}

/** What is known of a transfer that was looked at. */
interface Look {
  id: string;
  startedMs: number;
  earlier: Mark;
  later: Mark;
}

/** The transfers under way in one process. Whoever looks pays for it; the transfers themselves only come and go. */
export class Transfers {
  readonly #clock: Clock;
  readonly #underWay = new Map<Transfer, Look | undefined>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(transfer: Transfer): void {
    this.#underWay.set(transfer, undefined);
  }

  /** Does nothing for one that has left, or never entered. */
  leave(transfer: Transfer): void {
    this.#underWay.delete(transfer);
  }

  /** How many are under way of some requests of HTTP, or connections of SSH. */
  count(requests: ReadonlySet<RequestTrace | undefined>): number {
    return [...this.#underWay.keys()].filter(({ files }) => requests.has(files.context.request)).length;
  }

  /** What is under way. The rate is that since one of the looks before, a second ago or more; without one, since the transfer began. */
  list(): ShownTransfers {
    const nowMs = this.#clock.monotonicMs();
    const shown: ShownTransfer[] = [];
    for (const [transfer, before] of this.#underWay) {
      if (shown.length === maxShown) break;
      const look = before ?? this.#firstLook(transfer, nowMs);
      if (!before) this.#underWay.set(transfer, look);
      shown.push(shownTransfer(transfer, look, nowMs));
    }
    return { shown, leftOut: this.#underWay.size - shown.length };
  }

  #firstLook({ startedMs, formerBytes = 0 }: Transfer, nowMs: number): Look {
    const start = { atMs: startedMs, bytes: formerBytes };
    const id = String(++this.#lastId);
    return { id, startedMs: this.#clock.nowMs() - (nowMs - startedMs), earlier: start, later: start };
  }
}

function shownTransfer({ files, path, direction, bytes, totalBytes }: Transfer, look: Look, nowMs: number): ShownTransfer {
  if (nowMs - look.later.atMs >= leastRateMs) {
    look.earlier = look.later;
    look.later = { atMs: nowMs, bytes };
  }
  const { earlier, id, startedMs } = look;
  // What is written once more does not make a file longer, and a file may be cut.
  const bytesPerSecond = Math.max(0, ((bytes - earlier.bytes) * 1000) / Math.max(nowMs - earlier.atMs, 1));
  const { account, context } = files;
  return { id, service: context.component.uuid, account: account.name, path, direction, bytes, totalBytes, bytesPerSecond, startedMs };
}
