import { type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type DeliveryRecord, type DeliveryRecords, recordKinds } from './delivery-record.ts';

/** The events in the records of one handler, each by its position or UUID. */
interface HandlerHistory {
  delivered: Set<number | string>;
  undelivered: Set<number | string>;
  /** Events that failed after `HistoryBounds.asOfMs`. They may have failed before, too. */
  failedLater: Set<number | string>;
}

/**
 * To save memory, a position in a file is kept as one number. It has 36 bits for the offset in a file of at most 64 GiB, and 17 bits for
 * the number of the file. A position in a Redis stream has a time instead of a file number. A time does not fit into 17 bits, so the
 * position is kept as a string.
 */
const segmentFactor = 2 ** 36;
const maxSegments = 2 ** 17;

export interface HistoryBounds {
  /** Records from before this Unix time in milliseconds may be skipped. */
  sinceMs: number | undefined;
  /** Failures after this Unix time in milliseconds do not count as failures. */
  asOfMs?: number | undefined;
  /** Maximum number of events in memory. An event counts once for each of its records. */
  maxEvents: number;
}

/** Knows which events were delivered to each handler, automatically or by hand. */
export class DeliveryHistory {
  readonly #handlers = new Map<string, HandlerHistory>();

  /**
   * Reads all records. This takes about 40 bytes of memory for each event and handler, and three times as much with UUIDs.
   *
   * @param byUuid whether the caller looks for events without a position in the journal, such as events from a file
   * @throws ServiceError `too-large` if `maxEvents` is exceeded
   */
  static async read(
    records: DeliveryRecords,
    onBadLine: (reason: string) => void,
    byUuid = false,
    { sinceMs, asOfMs, maxEvents }: HistoryBounds = { sinceMs: undefined, maxEvents: Number.POSITIVE_INFINITY },
  ): Promise<DeliveryHistory> {
    const history = new DeliveryHistory();
    const asOf = asOfMs === undefined ? undefined : new Date(asOfMs).toISOString();
    let remembered = 0;
    for (const kind of recordKinds) {
      const from = sinceMs === undefined ? undefined : records.since(kind, sinceMs);
      if (sinceMs !== undefined && !from) continue;
      for await (const { record } of records.read(kind, from, onBadLine)) {
        history.#add(record, byUuid, asOf !== undefined && record.time > asOf);
        remembered += record.events.length;
        if (remembered > maxEvents)
          throw new ServiceError('too-large', `There are records of more than ${maxEvents} deliveries; set "since" to a later time.`);
      }
    }
    return history;
  }

  /** The UUIDs of the handlers that have records. */
  get handlers(): string[] {
    return [...this.#handlers.keys()];
  }

  isDelivered(handler: string, uuid: string, position: LogPosition | undefined): boolean {
    return this.#has(handler, 'delivered', uuid, position);
  }

  /** Whether the event has a record, but was never delivered. */
  isUndelivered(handler: string, uuid: string, position: LogPosition | undefined): boolean {
    return this.#has(handler, 'undelivered', uuid, position) && !this.isDelivered(handler, uuid, position);
  }

  /** Whether the event failed only after `HistoryBounds.asOfMs`. At that time, it was still waiting, or had never been tried. */
  isFailedLater(handler: string, uuid: string, position: LogPosition | undefined): boolean {
    return this.#has(handler, 'failedLater', uuid, position) && !this.#has(handler, 'undelivered', uuid, position);
  }

  #has(handler: string, what: keyof HandlerHistory, uuid: string, position: LogPosition | undefined): boolean {
    const known = this.#handlers.get(handler)?.[what];
    return known !== undefined && ((position !== undefined && known.has(positionKey(position))) || known.has(uuid));
  }

  #add({ handler, outcome, events }: DeliveryRecord, byUuid: boolean, isLater: boolean): void {
    const history = this.#handlers.get(handler) ?? { delivered: new Set(), undelivered: new Set(), failedLater: new Set() };
    this.#handlers.set(handler, history);
    const known = outcome === 'delivered' ? history.delivered : isLater ? history.failedLater : history.undelivered;
    for (const { uuid, position } of events) {
      const at = position === undefined ? undefined : parsePosition(position);
      if (at) known.add(positionKey(at));
      if (!at || byUuid) known.add(uuid);
    }
  }
}

function positionKey({ segment, offset }: LogPosition): number | string {
  return segment < maxSegments ? segment * segmentFactor + offset : `${segment}-${offset}`;
}
