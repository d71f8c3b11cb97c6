import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { UrlHealth } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { Deliveries, HandlerState } from '../records/deliveries.ts';
import { DeliveryLog } from '../records/delivery-log.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { WebhookHandler } from '../webhook-handler.ts';
import { blockingHandler } from './blocking-handler.ts';
import type { HandlerPositions } from './handler-positions.ts';
import { HandlerRunner } from './handler-runner.ts';
import { UploadDeliveries } from './upload-deliveries.ts';

/** How often changed positions are written; the record of deliveries knows what came after. */
const saveEveryMs = 1000;

/** How often old records are looked for. */
const retentionEveryMs = 3_600_000;

export interface EngineSurroundings {
  journal: EventLog;
  events: JournalledDispatcher;
  server: EventServer;
  /** Folder of positions and records. */
  folder: string;
  maximumFileSizeBytes: number;
  retentionDays: number;
  /** Told of every delivery, for figures. */
  onDelivery?: ((record: DeliveryRecord) => void) | undefined;
  urlHealth: (handlerUuid: string) => UrlHealth;
  clock: Clock;
  log: Log;
}

/** What stays of a handler when its options change. */
interface Place {
  health: UrlHealth;
  uploads: UploadDeliveries;
  runner: HandlerRunner | undefined;
  /** Resolves when the runner before has ended. */
  before: Promise<void>;
  unregister: () => void;
}

/** Delivers the journal to all event handlers, each at its own pace, from where it stopped the last time. */
export class DeliveryEngine implements Deliveries {
  readonly #surroundings: EngineSurroundings;
  readonly #deliveries: DeliveryLog;
  readonly #positions: HandlerPositions;
  readonly #begin: LogPosition;
  readonly #places = new Map<string, Place>();
  readonly #abort = new AbortController();
  readonly #timers: Timer[];
  #isFirst = true;
  #known: ReadonlySet<string> = new Set();

  /**
   * @param positions what the process before left; handlers that are new begin with what is journalled from now on
   */
  constructor(positions: HandlerPositions, surroundings: EngineSurroundings) {
    this.#surroundings = surroundings;
    this.#positions = positions;
    setMaxListeners(0, this.#abort.signal);
    this.#begin = surroundings.journal.end;
    const { folder, maximumFileSizeBytes, clock, log, retentionDays } = surroundings;
    this.#deliveries = DeliveryLog.open({ folder, maximumFileSizeBytes, clock, log });
    this.#deliveries.removeOld(retentionDays);
    this.#timers = [
      clock.every(saveEveryMs, () => void this.#save()),
      clock.every(retentionEveryMs, () => this.#deliveries.removeOld(retentionDays)),
    ];
  }

  prepare(options: Readonly<Record<string, EventHandlerOptions>>): Map<string, WebhookHandler> {
    const { clock, server } = this.#surroundings;
    const enabled = Object.entries(options).filter(([, handler]) => handler.enabled);
    return new Map(
      enabled.map(([uuid, handler]) => {
        const health = this.#places.get(uuid)?.health ?? this.#surroundings.urlHealth(uuid);
        return [uuid, new WebhookHandler(uuid, handler, { clock, server, health })];
      }),
    );
  }

  async apply(handlers: ReadonlyMap<string, WebhookHandler>, known: readonly string[]): Promise<void> {
    this.#known = new Set(known);
    for (const [uuid, place] of this.#places) {
      const handler = handlers.get(uuid);
      const { runner } = place;
      if (handler && runner?.status.state === 'running' && isDeepStrictEqual(runner.handler.options, handler.options)) continue;
      this.#retire(uuid, place);
    }
    for (const [uuid, handler] of handlers) this.#place(uuid, handler);
    this.#positions.keepOnly(this.#known);
    this.#isFirst = false;
    await this.#save();
  }

  async figures(): Promise<HandlerState[]> {
    return [...this.#places].flatMap(([handler, { runner, health }]) =>
      runner
        ? [{ handler, isRunning: runner.status.state === 'running', position: runner.position, suspendedUrls: health.countSuspended() }]
        : [],
    );
  }

  /** The oldest position that a running handler still has to read. */
  neededFrom(): LogPosition | undefined {
    const positions = [...this.#places.values()].flatMap(({ runner }) => (runner?.status.state === 'running' ? [runner.position] : []));
    return positions.sort(comparePositions)[0];
  }

  /** Lets each handler deliver what is journalled by now unless its receiver fails, then ends. */
  async stop(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#surroundings;
    let inTime = true;
    const timer = clock.after(timeoutMs, () => {
      inTime = false;
      this.#abort.abort();
    });
    await Promise.all(
      [...this.#places.values()].map(async ({ runner, before }) => {
        await before;
        await runner?.drain(this.#abort.signal);
      }),
    );
    timer.cancel();
    this.#abort.abort();
    for (const { unregister } of this.#places.values()) unregister();
    for (const periodic of this.#timers) periodic.cancel();
    await this.#save();
    await this.#deliveries.close();
    return inTime;
  }

  #place(uuid: string, handler: WebhookHandler): void {
    const { journal, events, log, folder } = this.#surroundings;
    const place = this.#places.get(uuid) ?? {
      health: handler.health,
      uploads: new UploadDeliveries(uuid, folder, () => journal.end),
      runner: undefined,
      before: Promise.resolve(),
      unregister: () => {},
    };
    if (place.runner) {
      handler.close();
      return;
    }
    if (!this.#positions.get(uuid)) this.#positions.set(uuid, this.#isFirst ? this.#begin : journal.end);
    const runner = new HandlerRunner(handler, this.#positionOf(uuid), {
      journal,
      record: (record) => this.#record(record),
      events,
      log,
      uploads: place.uploads,
    });
    place.runner = runner;
    // A delivery that is interrupted stays unsettled: the handler makes it after the next start.
    const blocking = blockingHandler(runner.status, {
      abort: this.#abort.signal,
      settle: (...settled) => place.uploads.settle(...settled),
      record: (record) => this.#record(record),
      log,
    });
    place.unregister = events.registerBlockingHandler(uuid, blocking);
    this.#places.set(uuid, place);
    void place.before.then(() => {
      if (place.runner === runner) runner.start(this.#positionOf(uuid));
    });
  }

  #record(record: DeliveryRecord): void {
    this.#deliveries.append(record);
    this.#surroundings.onDelivery?.(record);
  }

  // After a power cut the journal may end before a position that was saved.
  #positionOf(uuid: string): LogPosition {
    const { end } = this.#surroundings.journal;
    const position = this.#positions.get(uuid) ?? end;
    return comparePositions(position, end) > 0 ? end : position;
  }

  #retire(uuid: string, place: Place): void {
    const { runner } = place;
    place.unregister();
    place.runner = undefined;
    if (!runner) return;
    if (!runner.isStarted) {
      // The one before it still ends, and tells where to go on.
      runner.handler.close();
      return;
    }
    this.#positions.set(uuid, runner.position);
    const keep = () => {
      if (this.#known.has(uuid)) this.#positions.set(uuid, runner.position);
    };
    place.before = place.before.then(() => runner.end(this.#abort.signal)).then(keep);
  }

  async #save(): Promise<void> {
    const { end } = this.#deliveries;
    for (const [uuid, { runner, uploads }] of this.#places) {
      if (!runner?.isStarted) continue;
      this.#positions.set(uuid, runner.position);
      uploads.forgetBefore(runner.position);
    }
    await this.#positions.save(end);
  }
}
