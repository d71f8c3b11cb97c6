import type { Account } from '../accounts/account.ts';
import type { EventContext, RequestTrace } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';

/** A running transfer of a file or an archive. Only `Transfers` reads its properties. */
export interface Transfer {
  readonly direction: 'download' | 'upload';
  readonly files: { readonly account: Account; readonly context: EventContext };
  readonly path: VirtualPath;
  /** Monotonic time at which the transfer began. */
  readonly startedMs: number;
  readonly bytes: number;
  /** Undefined if the client has not announced the size. */
  readonly totalBytes: number | undefined;
  /** Bytes that earlier requests transferred, for a continued upload. */
  readonly formerBytes?: number;
}

export interface ShownTransfer {
  /** Unique in this node. */
  id: string;
  service: string;
  account: string;
  path: string;
  direction: Transfer['direction'];
  bytes: number;
  totalBytes: number | undefined;
  /** Rate in the last seconds. */
  bytesPerSecond: number;
  /** Unix time in milliseconds. */
  startedMs: number;
}

export interface ShownTransfers {
  shown: ShownTransfer[];
  leftOut: number;
}

/** Maximum number of transfers in a list. If there are more, the oldest ones are listed. */
export const maxShown = 100;

/** Minimum period over which a rate is measured. */
const minRateMs = 1000;

interface Sample {
  /** Monotonic time. */
  atMs: number;
  bytes: number;
}

interface Listed {
  id: string;
  startedMs: number;
  earlier: Sample;
  later: Sample;
}

/** The running transfers of one process. Only `count` and `list` look at all transfers; any other call only changes a map. */
export class Transfers {
  readonly #clock: Clock;
  readonly #underWay = new Map<Transfer, Listed | undefined>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(transfer: Transfer): void {
    this.#underWay.set(transfer, undefined);
  }

  leave(transfer: Transfer): void {
    this.#underWay.delete(transfer);
  }

  /** The number of transfers that belong to the given HTTP requests or SSH connections. */
  count(requests: ReadonlySet<RequestTrace | undefined>): number {
    return [...this.#underWay.keys()].filter(({ files }) => requests.has(files.context.request)).length;
  }

  /**
   * The running transfers. A rate is measured from an earlier call that was at least a second ago, or from the beginning of the transfer.
   */
  list(): ShownTransfers {
    const nowMs = this.#clock.monotonicMs();
    const shown: ShownTransfer[] = [];
    for (const [transfer, before] of this.#underWay) {
      if (shown.length === maxShown) break;
      const listed = before ?? this.#listFirst(transfer, nowMs);
      if (!before) this.#underWay.set(transfer, listed);
      shown.push(showTransfer(transfer, listed, nowMs));
    }
    return { shown, leftOut: this.#underWay.size - shown.length };
  }

  #listFirst({ startedMs, formerBytes = 0 }: Transfer, nowMs: number): Listed {
    const start = { atMs: startedMs, bytes: formerBytes };
    const id = String(++this.#lastId);
    return { id, startedMs: this.#clock.nowMs() - (nowMs - startedMs), earlier: start, later: start };
  }
}

function showTransfer({ files, path, direction, bytes, totalBytes }: Transfer, listed: Listed, nowMs: number): ShownTransfer {
  if (nowMs - listed.later.atMs >= minRateMs) {
    listed.earlier = listed.later;
    listed.later = { atMs: nowMs, bytes };
  }
  const { earlier, id, startedMs } = listed;
  // `bytes` may decrease, because a file may be overwritten or truncated.
  const bytesPerSecond = Math.max(0, ((bytes - earlier.bytes) * 1000) / Math.max(nowMs - earlier.atMs, 1));
  const { account, context } = files;
  return { id, service: context.component.uuid, account: account.name, path, direction, bytes, totalBytes, bytesPerSecond, startedMs };
}
