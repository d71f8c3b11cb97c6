import { randomUUID } from 'node:crypto';
import type { LogPosition } from '../../events/journal/position.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ReplayResult } from '../records/delivery-record-schema.ts';
import { findDelivery } from '../records/newest-deliveries.ts';
import type { Delivered, WebhookHandler } from '../webhook-handler.ts';
import { dryResults, nameEvents, type PlannedRequest } from './dry-run.ts';
import { type BadLineReport, JournalLines, readRecordedEvents } from './recorded-requests.ts';
import { ReplayLane, replayEvents } from './replay.ts';
import { chosenHandlers, type ReplayDependencies, replayHandler } from './replay-handlers.ts';
import { type ReplaySelection, type SelectedEvent, selectedEvents } from './selected-events.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Maximum size of the results of one job, in characters. Successes may use only half of it. */
const maxCharacters = 2 * 1024 * 1024;

/** Collects the results of a job as lines of JSON, up to a limit. The delivery records have all results. */
class ReplayResults {
  readonly #lines: string[] = [];
  #characters = 0;
  /** Number of lines that were left out because of the limit. */
  leftOut = 0;

  get isFull(): boolean {
    return this.#characters >= maxCharacters;
  }

  /** @param isGood whether the result is a success; successes are left out earlier than failures */
  add(result: ReplayResult, isGood = false): void {
    const line = JSON.stringify(result);
    if (this.#characters + line.length > (isGood ? maxCharacters / 2 : maxCharacters)) {
      this.leftOut++;
      return;
    }
    this.#lines.push(line);
    this.#characters += line.length;
  }

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}

/**
 * Yields the events of deliveries. For each handler, an event is yielded only once, even if several deliveries contain it. The current
 * filters are ignored. @param ids IDs of deliveries
 */
async function* deliveredEvents(
  journal: ReplayedJournal,
  ids: readonly string[],
  handlers: readonly WebhookHandler[],
  bad: BadLineReport,
  signal: AbortSignal,
): AsyncGenerator<SelectedEvent> {
  const byUuid = new Map(handlers.map((handler) => [handler.uuid, handler]));
  const yielded = new Set<string>();
  const lines = new JournalLines(journal);
  try {
    for (const id of ids) {
      if (signal.aborted) return;
      const delivery = await findDelivery(journal.records, id);
      const handler = delivery && byUuid.get(delivery.record.handler);
      const events = handler && (await readRecordedEvents(delivery.record, lines));
      if (!delivery) bad.missing(id, 'the delivery is no longer recorded');
      else if (!handler) bad.missing(id, `the event handler "${delivery.record.handler}" is not configured, or was not chosen`);
      else if (!events) bad.missing(id, 'the journal no longer has the events of this delivery');
      for (const sent of events ?? []) {
        const key = `${handler?.uuid} ${sent.event.uuid}`;
        if (!handler || yielded.has(key)) continue;
        yielded.add(key);
        yield { sent: { ...sent, group: undefined }, takers: [handler] };
      }
    }
  } finally {
    lines.close();
  }
}

export interface ReplayRequest {
  /** IDs of deliveries whose events are sent to their handlers again. If the list is empty, `selection` applies. */
  deliveries: readonly string[];
  selection: ReplaySelection;
  /** UUIDs of handlers; empty for all enabled handlers. */
  handlers: readonly string[];
  isDryRun: boolean;
  /** Whether a dry run only counts. It has no results, and consoles do not list it. */
  countsOnly: boolean;
  /**
   * If set, events and failures after this Unix time in milliseconds are left out. A client gives the time of an earlier count or dry run,
   * so that only what was found then is sent.
   */
  asOfMs?: number | undefined;
  /** No more is sent to a handler after this number of failed requests to it in a row; 0 for never. */
  stopAfterFailures: number;
}

export interface JobDependencies extends ReplayDependencies {
  journal: ReplayedJournal & { readonly end: LogPosition };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The progress of a job. */
interface JobProgress {
  state: 'waiting' | 'running' | 'done' | 'cancelled' | 'failed';
  /** Number of events, counted once for each handler; null until the selection is known. */
  total: number | null;
  /** Number of different events. */
  events: number;
  /** Number of requests that were sent or, in a dry run, compared. */
  done: number;
  delivered: number;
  /** Number of failed or discarded requests. */
  failed: number;
  /** Number of requests, and the handlers that get them. */
  requests: number;
  handler_uuids: string[];
  /** The reason why the job failed or was stopped; undefined if neither happened. */
  details: string | undefined;
}

/** Maximum number of recorded events that are kept in memory to find undelivered ones. They use about 100 MB. */
const maxRemembered = 2_000_000;

/** Maximum number of requests and events that a dry run shows. */
const maxShown = 1000;
const maxShownEvents = 10_000;

/** A replay that a running service makes, with its progress and results. */
export class ReplayJob {
  readonly request: ReplayRequest;
  readonly results = new ReplayResults();
  readonly progress: JobProgress = {
    state: 'waiting',
    total: null,
    events: 0,
    done: 0,
    delivered: 0,
    failed: 0,
    requests: 0,
    handler_uuids: [],
    details: undefined,
  };
  readonly #dependencies: JobDependencies;
  readonly #cancelled = new AbortController();
  readonly #handlers: WebhookHandler[];
  readonly #selection: ReplaySelection;
  readonly #chosen = new Set<string>();
  #startedMs: number | undefined;

  /** @throws ServiceError `bad-request` for a handler that is not configured, `unavailable` for a handler that cannot be created */
  constructor(request: ReplayRequest, dependencies: JobDependencies) {
    const { journal, server, clock, forward } = dependencies;
    this.request = request;
    this.#dependencies = dependencies;
    const isNamed = request.handlers.length > 0 || request.deliveries.length === 0;
    const configured = journal.config?.event_handlers ?? {};
    const chosen = isNamed ? chosenHandlers(configured, request.handlers) : Object.entries(configured);
    this.#handlers = chosen.map(([uuid, options]) => replayHandler(uuid, options, { server, clock, forward }));
    // Only events before the current end of the journal are sent, because later ones include events about the outcomes of this job.
    const { selection, asOfMs } = request;
    const until = Math.min(selection.until ?? Number.POSITIVE_INFINITY, asOfMs ?? Number.POSITIVE_INFINITY);
    const history = { sinceMs: selection.since, asOfMs, maxEvents: maxRemembered };
    this.#selection = { ...selection, ...(Number.isFinite(until) && { until }), end: journal.end, history };
  }

  /** Estimates the remaining time in seconds from the rate so far; null while it is unknown. */
  get secondsLeft(): number | null {
    const { state, requests, done } = this.progress;
    if (state !== 'running' || done === 0 || this.#startedMs === undefined) return null;
    const elapsedMs = this.#dependencies.clock.monotonicMs() - this.#startedMs;
    return Math.round(((elapsedMs / done) * (requests - done)) / 1000);
  }

  cancel(): void {
    this.#cancelled.abort();
    if (this.progress.state === 'waiting') this.progress.state = 'cancelled';
  }

  /** Runs the job. Never throws, because an error is part of the job's outcome. */
  async run(): Promise<void> {
    const { signal } = this.#cancelled;
    if (signal.aborted) return;
    this.progress.state = 'running';
    try {
      if (this.request.countsOnly) await this.#countAll();
      else if (this.request.isDryRun) await this.#show();
      else await this.#send();
      const isStopped = this.progress.details !== undefined;
      this.progress.state = isStopped ? 'failed' : signal.aborted ? 'cancelled' : 'done';
    } catch (error) {
      this.progress.details = (error as Error).message;
      this.progress.state = 'failed';
    } finally {
      for (const handler of this.#handlers) handler.close();
    }
  }

  #events(tells: boolean): AsyncGenerator<SelectedEvent> {
    const { journal } = this.#dependencies;
    const tell = (place: string, reason: string) => {
      if (tells) this.results.add({ skipped: place, reason });
    };
    const bad = { add: tell, missing: tell };
    const { signal } = this.#cancelled;
    if (this.request.deliveries.length > 0) return deliveredEvents(journal, this.request.deliveries, this.#handlers, bad, signal);
    return selectedEvents(undefined, journal, this.#handlers, this.#selection, bad, signal);
  }

  async #countAll(): Promise<void> {
    const counts = new Map<WebhookHandler, number>();
    for await (const event of this.#events(false)) this.#add(event, counts);
    if (!this.#cancelled.signal.aborted) this.#countRequests(counts);
  }

  async #send(): Promise<void> {
    await this.#countAll();
    const { signal } = this.#cancelled;
    if (signal.aborted) return;
    this.#startedMs = this.#dependencies.clock.monotonicMs();
    const log = this.#dependencies.openReplayLog();
    const { stopAfterFailures } = this.request;
    const stopAll = () => {
      this.progress.details = `It was stopped: ${counted(stopAfterFailures, 'request')} failed in a row.`;
      this.#cancelled.abort();
    };
    const lanes: ReplayLane[] = this.#handlers.map(
      (handler) =>
        new ReplayLane(handler, {
          concurrency: handler.options.concurrency,
          stopAfterFailures,
          signal,
          record: () => log,
          onDelivered: (sender, delivered) => {
            this.#count(sender, delivered);
            if (!signal.aborted && lanes.filter(({ isStopped }) => isStopped).length === this.progress.handler_uuids.length) stopAll();
          },
          preview: undefined,
        }),
    );
    try {
      await replayEvents(this.#events(true), lanes);
    } finally {
      await Promise.all(lanes.map((lane) => lane.finish())).finally(() => log.close());
    }
    const stopped = lanes.filter(({ isStopped, notSent }) => isStopped && notSent > 0);
    if (signal.aborted || stopped.length === 0) return;
    const names = stopped.map(
      ({ handler, notSent }) => `${handler.options.name || handler.uuid} (${counted(notSent, 'request')} not sent)`,
    );
    this.progress.details = `Stopped after ${counted(stopAfterFailures, 'failure')} in a row: ${names.join(', ')}.`;
  }

  #count(handler: WebhookHandler, { events, result }: Delivered): void {
    const isDelivered = result.outcome === 'delivered';
    this.progress.done++;
    this.progress[isDelivered ? 'delivered' : 'failed']++;
    const { status, details, fault, attempts } = result;
    const shown = nameEvents(events);
    this.results.add({ handler: handler.uuid, outcome: result.outcome, events: shown, status, details, fault, attempts }, isDelivered);
  }

  async #show(): Promise<void> {
    const groups = new Map<string, string | undefined>();
    const planned: PlannedRequest[] = [];
    const open = new Map<string, PlannedRequest & { events: PlannedRequest['events'][number][] }>();
    const counts = new Map<WebhookHandler, number>();
    for await (const event of this.#events(true)) {
      this.#add(event, counts);
      const { sent, takers } = event;
      if (groups.size >= maxShownEvents) continue;
      groups.set(sent.event.uuid, sent.group);
      for (const handler of takers) {
        let request = open.get(handler.uuid);
        if (!request || request.events.length >= handler.batchSize) {
          if (planned.length >= maxShown) continue;
          request = { handler, events: [] };
          planned.push(request);
          open.set(handler.uuid, request);
        }
        // The line is copied, because it is a view that would keep a larger block in memory.
        request.events.push({ ...sent, raw: Buffer.from(sent.raw) });
      }
    }
    this.#countRequests(counts);
    const { journal, clock } = this.#dependencies;
    for await (const result of dryResults(journal, planned, groups, clock.nowMs())) {
      if (this.#cancelled.signal.aborted || this.results.isFull) break;
      this.results.add(result);
      this.progress.done++;
    }
  }

  #add({ sent, takers }: SelectedEvent, counts: Map<WebhookHandler, number>): void {
    for (const handler of takers) counts.set(handler, (counts.get(handler) ?? 0) + 1);
    // Chosen deliveries may contain the same event for several handlers; other events come only once.
    if (this.request.deliveries.length > 0) this.progress.events = this.#chosen.add(sent.event.uuid).size;
    else this.progress.events++;
  }

  #countRequests(events: ReadonlyMap<WebhookHandler, number>): void {
    const all = [...events];
    this.progress.total = all.reduce((total, [, count]) => total + count, 0);
    this.progress.requests = all.reduce((total, [handler, count]) => total + Math.ceil(count / handler.batchSize), 0);
    this.progress.handler_uuids = all.map(([{ uuid }]) => uuid);
  }
}

const maxRunning = 2;
const maxWaiting = 20;

/** Maximum number of ended jobs that are kept in memory. Jobs that only counted are kept apart, so that they displace no other jobs. */
export const maxEnded = 20;

export interface ListedJob {
  id: string;
  /** ISO 8601, UTC. */
  created: string;
  /** Name of the operator. */
  by: string;
  job: ReplayJob;
}

/** The replays of a running service. */
export class ReplayJobs {
  readonly #jobs = new Map<string, ListedJob>();
  readonly #running = new Set<Promise<void>>();
  #tellChange = () => {};
  #isStopping = false;

  /** Sets a listener, which is called when jobs were added or have ended. */
  onChange(listener: () => void): void {
    this.#tellChange = listener;
  }

  /**
   * Starts a replay, or queues it.
   *
   * @param by name of the operator
   * @returns the ID of the job
   * @throws ServiceError `too-many-requests` if too many jobs wait, `unavailable` while the service stops, and the errors of the
   *   constructor of `ReplayJob`
   */
  start(request: ReplayRequest, by: string, dependencies: JobDependencies): string {
    if (this.#isStopping) throw new ServiceError('unavailable', 'The service stops.');
    if (this.#inState('waiting').length >= maxWaiting)
      throw new ServiceError('too-many-requests', `${maxWaiting} replays wait already; cancel one, or try again when they are done.`);
    const job = new ReplayJob(request, dependencies);
    const id = randomUUID();
    this.#jobs.set(id, { id, created: new Date(dependencies.clock.nowMs()).toISOString(), by, job });
    this.#runNext();
    this.#tellChange();
    return id;
  }

  /** Returns the jobs, newest first. */
  list(): ListedJob[] {
    return [...this.#jobs.values()].reverse();
  }

  /** @returns undefined if the job is unknown or no longer in memory */
  find(id: string): ListedJob | undefined {
    return this.#jobs.get(id);
  }

  /** Cancels all jobs. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { job } of this.#jobs.values()) job.cancel();
    await Promise.all(this.#running);
  }

  #runNext(): void {
    const [next] = this.#inState('waiting');
    if (!next || this.#running.size >= maxRunning) return;
    const running = next.job.run().finally(() => {
      this.#running.delete(running);
      this.#forget();
      this.#tellChange();
      this.#runNext();
    });
    this.#running.add(running);
    this.#runNext();
  }

  #forget(): void {
    const ended = [...this.#jobs.values()].filter(({ job }) => !['waiting', 'running'].includes(job.progress.state));
    for (const countsOnly of [true, false]) {
      const alike = ended.filter(({ job }) => job.request.countsOnly === countsOnly);
      for (const { id } of alike.slice(0, Math.max(alike.length - maxEnded, 0))) this.#jobs.delete(id);
    }
  }

  #inState(state: string): ListedJob[] {
    return [...this.#jobs.values()].filter(({ job }) => job.progress.state === state);
  }
}
