import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { RateMeter } from '../../lib/rate-meter.ts';
import type { Suspension, UrlSuspensions } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { Deliveries, HandlerState } from '../records/deliveries.ts';
import { DeliveryLog } from '../records/delivery-log.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { WebhookHandler } from '../webhook-handler.ts';
import { blockingHandler } from './blocking-handler.ts';
import type { HandlerPositions } from './handler-positions.ts';
import { HandlerRunner } from './handler-runner.ts';
import { Pauses, pausedBy } from './pauses.ts';
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
  urlHealth: (handlerUuid: string) => UrlSuspensions;
  clock: Clock;
  log: Log;
}

/** What stays of a handler when its options change. */
interface Place {
  /** The options in force; undefined once the configuration has no such handler, or it is disabled. */
  options: EventHandlerOptions | undefined;
  health: UrlSuspensions;
  rate: RateMeter;
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
  readonly #pauses: Pauses;
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
    this.#pauses = new Pauses(surroundings.folder, surroundings.log);
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
    const enabled = Object.entries(options).filter(([, handler]) => handler.enabled);
    return new Map(enabled.map(([uuid, handler]) => [uuid, this.#make(uuid, handler)]));
  }

  async apply(handlers: ReadonlyMap<string, WebhookHandler>, known: readonly string[]): Promise<void> {
    this.#known = new Set(known);
    for (const [uuid, place] of this.#places) {
      const handler = handlers.get(uuid);
      const { runner } = place;
      if (handler && runner?.status.state === 'running' && isDeepStrictEqual(runner.handler.options, handler.options)) continue;
      this.#retire(uuid, place);
    }
    for (const [uuid, place] of this.#places) place.options = handlers.get(uuid)?.options;
    for (const [uuid, handler] of handlers) this.#place(uuid, handler);
    this.#positions.keepOnly(this.#known);
    this.#isFirst = false;
    await this.#pauses.keepOnly(this.#known);
    await this.#save();
  }

  async figures(): Promise<HandlerState[]> {
    return [...this.#places].flatMap(([handler, { options, runner, health, rate }]) => {
      if (!options) return [];
      const pause = this.#pauses.get(handler);
      const isRunning = runner?.status.state === 'running';
      return {
        handler,
        state: pause ? 'paused' : isRunning ? 'running' : 'stopped',
        reason: pause ? pausedBy(pause.by) : runner?.status.reason,
        position: runner?.position ?? this.#positionOf(handler),
        suspendedUrls: health.countSuspended(),
        deliveriesPerMinute: rate.perMinute,
      };
    });
  }

  /** The oldest position that a handler still has to read, unless it stopped. */
  neededFrom(): LogPosition | undefined {
    const positions = [...this.#places].flatMap(([uuid, { options, runner }]) => {
      if (options && this.#pauses.get(uuid)) return [runner?.position ?? this.#positionOf(uuid)];
      return runner?.status.state === 'running' ? [runner.position] : [];
    });
    return positions.sort(comparePositions)[0];
  }

  async pause(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    if (this.#pauses.get(uuid)) return;
    await this.#pauses.add(uuid, { since: new Date(this.#surroundings.clock.nowMs()).toISOString(), by });
    place.runner?.status.paused(pausedBy(by));
    this.#retire(uuid, place);
  }

  async resume(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    if (!this.#pauses.get(uuid)) return;
    const handler = this.#make(uuid, place.options);
    await this.#pauses.remove(uuid);
    this.#place(uuid, handler, `resumed by ${by}`);
  }

  async start(uuid: string, by: string): Promise<void> {
    const place = this.#running(uuid);
    if (place.runner?.status.state !== 'stopped') return;
    const handler = this.#make(uuid, place.options);
    this.#retire(uuid, place);
    this.#place(uuid, handler, `started again by ${by}`);
  }

  async suspendedUrls(uuid: string): Promise<Suspension[]> {
    const { health, options } = this.#running(uuid);
    return health.suspended(options.url);
  }

  async liftSuspension(uuid: string, url: string): Promise<boolean> {
    return this.#running(uuid).health.lift(url);
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

  #make(uuid: string, options: EventHandlerOptions): WebhookHandler {
    const { clock, server, urlHealth } = this.#surroundings;
    return new WebhookHandler(uuid, options, { clock, server, health: this.#places.get(uuid)?.health ?? urlHealth(uuid) });
  }

  #running(uuid: string): Place & { options: EventHandlerOptions } {
    const place = this.#places.get(uuid);
    if (!place?.options) throw new ServiceError('not-found', `There is no enabled event handler "${uuid}".`);
    return place as Place & { options: EventHandlerOptions };
  }

  /** @param reason why it goes on, where somebody wanted that */
  #place(uuid: string, handler: WebhookHandler, reason?: string): void {
    const { journal, events, clock, log, folder } = this.#surroundings;
    const place = this.#places.get(uuid) ?? {
      options: handler.options,
      health: handler.health,
      rate: new RateMeter(clock),
      uploads: new UploadDeliveries(uuid, folder, () => journal.end),
      runner: undefined,
      before: Promise.resolve(),
      unregister: () => {},
    };
    this.#places.set(uuid, place);
    if (!this.#positions.get(uuid)) this.#positions.set(uuid, this.#isFirst ? this.#begin : journal.end);
    if (place.runner || this.#pauses.get(uuid)) {
      handler.close();
      return;
    }
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
    void place.before.then(() => {
      if (place.runner === runner) runner.start(this.#positionOf(uuid), reason);
    });
  }

  #record(record: DeliveryRecord): void {
    this.#deliveries.append(record);
    this.#places.get(record.handler)?.rate.count();
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
