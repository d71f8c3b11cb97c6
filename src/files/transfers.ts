import type { Account } from '../accounts/account.ts';
import type { EventContext, RequestTrace } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';

/** A file, or an archive, on its way to or from a client. Its members are read only by `Transfers.list`. */
export interface Transfer {
  readonly direction: 'download' | 'upload';
  /** Account and service. */
  readonly files: { readonly account: Account; readonly context: EventContext };
  readonly path: VirtualPath;
  /** Begin; monotonic. */
  readonly startedMs: number;
  /** Bytes transferred so far. */
  readonly bytes: number;
  /** Undefined if it is not announced. */
  readonly totalBytes: number | undefined;
  /** Bytes of earlier requests, for a continued upload. */
  readonly formerBytes?: number;
}

/** The state of a transfer at one moment. */
export interface ShownTransfer {
  /** Unique in this node. */
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

export interface ShownTransfers {
  shown: ShownTransfer[];
  leftOut: number;
}

/** If there are more transfers, the first ones are shown. */
export const maxShown = 100;

/** Shortest period of a rate. */
const minRateMs = 1000;

interface Sample {
  /** Monotonic. */
  atMs: number;
  bytes: number;
}

/** A transfer that was listed before. */
interface Listed {
  id: string;
  startedMs: number;
  earlier: Sample;
  later: Sample;
}

/** The transfers under way in one process. Only `list` costs more than an entry in a map. */
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

  /** The number of transfers of some HTTP requests or SSH connections. */
  count(requests: ReadonlySet<RequestTrace | undefined>): number {
    return [...this.#underWay.keys()].filter(({ files }) => requests.has(files.context.request)).length;
  }

  /** The transfers under way. The rate is that since an earlier call, at least a second ago, or since the transfer began. */
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
  // `bytes` may decrease: a file may be overwritten or cut.
  const bytesPerSecond = Math.max(0, ((bytes - earlier.bytes) * 1000) / Math.max(nowMs - earlier.atMs, 1));
  const { account, context } = files;
  return { id, service: context.component.uuid, account: account.name, path, direction, bytes, totalBytes, bytesPerSecond, startedMs };
}
