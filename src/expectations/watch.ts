import type { Account } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventServer } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { zonedTime } from '../lib/time-zones.ts';
import {
  evaluate,
  makeExpectations,
  neededIds,
  type Period,
  type ReadableJournal,
  readExpectations,
  type StateEvent,
  summarise,
  takeEvent,
} from './evaluate.ts';
import { type Expectation, latestMs, neededSince, stateIds } from './expectation.ts';
import type { ExpectationOptions } from './options.ts';
import {
  measurePunctuality,
  type OccurrenceHistory,
  type OccurrenceState,
  type OwnExpectation,
  type ToldExpectation,
  type ToldOccurrence,
} from './told-occurrence.ts';

const dayMs = 86_400_000;

/** Interval at which new events are read from the journal. */
const readEveryMs = 1000;

/** Pause after an error, and between two checks of whether this process is the one that reports. */
const retryAfterMs = 5000;

/** Occurrences that were due longer ago than this are not reported. */
const oldestMs = 32 * dayMs;

/** Time in milliseconds for which a list looks back to find the last occurrence. */
const shownMs = 31 * dayMs;

/** The state that processes with the same expectations share. */
export interface ExpectationStore {
  /**
   * Records the current time as the start of the watch of each given expectation that has no record. Removes the records of expectations
   * that are not given.
   *
   * @returns the time since which each expectation is watched (Unix time in milliseconds)
   * @throws ServiceError `unavailable`
   */
  since(uuids: readonly string[], nowMs: number): Promise<ReadonlyMap<string, number>>;
  /** Returns the time since which each known expectation is watched. Changes nothing. @throws ServiceError `unavailable` */
  inForce(): Promise<ReadonlyMap<string, number>>;
  /** Whether this process is the one that reports, at least for the next few seconds. @throws ServiceError `unavailable` */
  isTeller(): Promise<boolean>;
}

/** The newest occurrence of an expectation, for statistics. */
export interface ExpectationFigures {
  expectation: string;
  state: OccurrenceState;
  /** Seconds since the due time of the oldest overdue file; 0 if none is overdue. */
  overdueS: number;
  /** Due times since seven days ago whose files are missing or not as expected. */
  misses: number;
}

interface Dependencies {
  journal: EventLog;
  events: EventDispatcher;
  server: EventServer;
  store: ExpectationStore;
  clock: Clock;
  log: Log;
}

type AllOptions = Readonly<Record<string, ExpectationOptions>>;

/** Emits events with the outcomes of the expectations of a configuration. All outcomes are derived from the journal. */
export class ExpectationWatch {
  readonly #dependencies: Dependencies;
  #options: AllOptions = {};
  #running: { end: AbortController; ended: Promise<void> } | undefined;
  #watched: readonly Expectation[] = [];

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Replaces the watched expectations. */
  async apply(options: AllOptions): Promise<void> {
    await this.stop();
    this.#options = options;
    if (!Object.values(options).some(({ enabled }) => enabled)) return;
    const end = new AbortController();
    this.#running = { end, ended: this.#run(end.signal) };
  }

  async stop(): Promise<void> {
    this.#running?.end.abort();
    await this.#running?.ended;
    this.#running = undefined;
    this.#watched = [];
  }

  /** Statistics of the process that reports. Other processes have none. */
  figures(): ExpectationFigures[] {
    const nowMs = this.#dependencies.clock.nowMs();
    return this.#watched.flatMap((expectation) => {
      const due = expectation.occurrences.filter(({ dueMs }) => dueMs <= nowMs);
      const newest = due.at(-1) ?? expectation.occurrences[0];
      if (!newest) return [];
      const open = due.find((one) => ['waiting', 'missing', 'malformed'].includes(expectation.judge(one, nowMs).state));
      const { state } = expectation.judge(newest, nowMs);
      const misses = expectation.countMisses(nowMs);
      return [{ expectation: expectation.uuid, state, overdueS: open ? (nowMs - open.dueMs) / 1000 : 0, misses }];
    });
  }

  /** The last and the next occurrence of each selected expectation. @throws ServiceError `unavailable` */
  async list(isWanted: (options: ExpectationOptions) => boolean = () => true): Promise<ToldExpectation[]> {
    const wanted = Object.fromEntries(Object.entries(this.#options).filter(([, options]) => isWanted(options)));
    if (Object.keys(wanted).length === 0) return [];
    const nowMs = this.#dependencies.clock.nowMs();
    const sinceMs: Period['sinceMs'] = (options, dueTimes) => neededSince(options, dueTimes, nowMs, nowMs - shownMs);
    return summarise(wanted, await this.#judgePeriod(wanted, sinceMs, nowMs));
  }

  /** The expectations for an account or its group. They show only the account's own files. @throws ServiceError `unavailable` */
  async ofAccount({ name, uuid, groupUuid }: Pick<Account, 'name' | 'uuid' | 'groupUuid'>): Promise<OwnExpectation[]> {
    const options = this.#options;
    const found = await this.list(
      ({ account, group, enabled }) => enabled && (account === undefined ? group === groupUuid : [name, uuid].includes(account)),
    );
    const ofOwn = <T extends ToldOccurrence | null>(told: T): T =>
      told && { ...told, files: told.files.filter(({ account }) => account === name) };
    return found.map((one) => ({
      told: { ...one, last: ofOwn(one.last), next: ofOwn(one.next) },
      path: options[one.expectation]?.path ?? '',
    }));
  }

  /**
   * Returns the occurrences of one expectation in the last `days` days and the next one, newest first. Also returns statistics about when
   * its files arrive.
   *
   * @throws ServiceError `not-found`, `unavailable`
   */
  async history(uuid: string, days: number): Promise<OccurrenceHistory> {
    const nowMs = this.#dependencies.clock.nowMs();
    const options = this.requireKnown(uuid);
    const { past, next, arrivals, inForce } = await this.#judgePeriod({ [uuid]: options }, nowMs - days * dayMs, nowMs);
    const { path, schedule = null, every = null, from = null, time_zone, grace } = options;
    const sinceMs = inForce.get(uuid);
    return {
      occurrences: [...past, ...next.values()].reverse(),
      punctuality: measurePunctuality(arrivals.get(uuid) ?? []),
      watched_since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
      options: { path, schedule, every, from, time_zone, grace },
    };
  }

  /**
   * The occurrences in a period, of all expectations or of one. The period may be in the future.
   *
   * @throws ServiceError `unavailable`, `not-found`
   */
  async between(sinceMs: number, untilMs: number, uuid?: string): Promise<ToldOccurrence[]> {
    const options = uuid === undefined ? this.#options : { [uuid]: this.requireKnown(uuid) };
    return (await this.#judgePeriod(options, sinceMs, untilMs)).past;
  }

  async #judgePeriod(options: AllOptions, sinceMs: Period['sinceMs'], untilMs: number) {
    const { journal, clock, store } = this.#dependencies;
    const inForce = await store.inForce();
    return { ...(await evaluate(journal, options, { sinceMs, untilMs, nowMs: clock.nowMs(), inForce })), inForce };
  }

  /** @throws ServiceError `not-found` */
  requireKnown(uuid: string): ExpectationOptions {
    const options = Object.hasOwn(this.#options, uuid) ? this.#options[uuid] : undefined;
    if (!options) throw new ServiceError('not-found', `There is no expectation "${uuid}".`);
    return options;
  }

  /**
   * Finds an occurrence by its due time. @throws ServiceError `not-found` if nothing is due then, `bad-request` if `due` is not RFC 3339
   */
  async #occurrenceAt(uuid: string, due: string): Promise<ToldOccurrence> {
    const options = this.requireKnown(uuid);
    const dueMs = parseTime('due', due);
    const { past } = await this.#judgePeriod({ [uuid]: { ...options, enabled: true } }, dueMs, dueMs);
    const found = past.find((one) => new Date(one.due).getTime() === dueMs);
    if (!found) throw new ServiceError('not-found', `Expectation "${uuid}" has no files that are due at ${due}.`);
    // After an administrator's decision, the occurrence counts as watched.
    const { watched: _, ...told } = found;
    return told;
  }

  /**
   * Excuses an occurrence (docs/spec/expectations.md#excuses).
   *
   * @param due due time of the occurrence, RFC 3339
   * @throws ServiceError `not-found` if nothing is due then, `exists` if the files have arrived, `bad-request` for a bad time or reason
   */
  async excuse(uuid: string, due: string, reason: string, administrator?: string): Promise<ToldOccurrence> {
    if (reason.trim() === '' || reason.length > 1000) throw new ServiceError('bad-request', 'Give a reason of up to 1,000 characters.');
    const found = await this.#occurrenceAt(uuid, due);
    if (found.state === 'met') throw new ServiceError('exists', `The files of "${uuid}" that were due at ${due} have already arrived.`);
    return this.#tellDecision(uuid, stateIds.excused, { ...found, state: 'excused', reason }, administrator);
  }

  /**
   * Expects the files of an occurrence again. Files that arrived before do not count (docs/spec/expectations.md#expecting-files-again).
   *
   * @param due due time of the occurrence, RFC 3339
   * @param until time after which the files are late or missing, RFC 3339
   * @throws ServiceError `not-found` if nothing is due then, `exists` if the files are already expected, `bad-request` for a bad time
   */
  async expectAgain(uuid: string, due: string, until: string, administrator?: string): Promise<ToldOccurrence> {
    const nowMs = this.#dependencies.clock.nowMs();
    const untilMs = parseTime('until', until);
    if (untilMs <= nowMs || untilMs > nowMs + latestMs)
      throw new ServiceError('bad-request', `The time "until" must be in the next ${latestMs / dayMs} days.`);
    const { reason: _, ...found } = await this.#occurrenceAt(uuid, due);
    if (found.state === 'waiting') throw new ServiceError('exists', `The files of "${uuid}" that are due at ${due} are expected already.`);
    const graceEnds = zonedTime(untilMs, this.requireKnown(uuid).time_zone);
    const told: ToldOccurrence = { ...found, state: 'waiting', files: [], grace_ends: graceEnds };
    return this.#tellDecision(uuid, eventIds.expectationReopened, told, administrator);
  }

  async #tellDecision(uuid: string, id: number, told: ToldOccurrence, administrator: string | undefined): Promise<ToldOccurrence> {
    const { events, server } = this.#dependencies;
    const context = eventContext(this.requireKnown(uuid), server);
    await events.emitDurable({ id, data: { ...told, administrator }, context });
    return told;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, store } = this.#dependencies;
    while (!signal.aborted) {
      try {
        if (await store.isTeller()) await this.#watch(signal);
        this.#watched = [];
        await clock.sleep(retryAfterMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.error('expectations cannot be watched at present', { reason: error });
        await clock.sleep(retryAfterMs, signal).catch(() => {});
      }
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { journal, store, clock } = this.#dependencies;
    const nowMs = clock.nowMs();
    const uuids = Object.entries(this.#options).flatMap(([uuid, { enabled }]) => (enabled ? [uuid] : []));
    const since = await store.since(uuids, nowMs);
    const earliestMs = Math.max(nowMs - oldestMs, await firstEventMs(journal));
    const watched = makeExpectations(this.#options, (uuid) => Math.max(since.get(uuid) ?? nowMs, earliestMs));
    const told = new Map<string, number>();
    const onState = ({ expectation, dueMs, id }: StateEvent) => {
      if (id === eventIds.expectationReopened) told.delete(`${expectation} ${dueMs}`);
      else told.set(`${expectation} ${dueMs}`, id);
    };
    let position = await readExpectations(journal, watched, { nowMs, onState });
    this.#watched = watched;
    const reader = journal.openReader(() => {}, { id: neededIds, uuid: [] });
    try {
      while (!signal.aborted && (await store.isTeller())) {
        position = await readOn(reader, position, (logged) => takeEvent(watched, logged, onState));
        this.#tellChanges(told);
        await clock.sleep(readEveryMs, signal);
      }
    } finally {
      reader.close();
    }
  }

  #tellChanges(told: Map<string, number>): void {
    const { events, server, clock } = this.#dependencies;
    const nowMs = clock.nowMs();
    for (const expectation of this.#watched) {
      expectation.advance(nowMs);
      for (const occurrence of expectation.occurrences) {
        const { state } = expectation.judge(occurrence, nowMs);
        const key = `${expectation.uuid} ${occurrence.dueMs}`;
        if (state === 'waiting' || !isNews(told.get(key), stateIds[state], expectation.hasTooMany(occurrence))) continue;
        const context = eventContext(expectation.options, server);
        events.emit({ id: stateIds[state], data: { ...expectation.tell(occurrence, nowMs) }, context });
        told.set(key, stateIds[state]);
      }
      expectation.forget(nowMs);
    }
  }
}

/** The time of the oldest event in the journal. Retention may have removed earlier files and reports. */
async function firstEventMs(journal: ReadableJournal): Promise<number> {
  const reader = journal.openReader(() => {});
  try {
    const [first] = (await reader.next(undefined)).events;
    return first ? eventTimeMs(first.event) : 0;
  } finally {
    reader.close();
  }
}

/**
 * Whether a new state is reported. Retention may have removed the events of files and excuses, and then the new state is wrong. So
 * `missing` is never reported after another state, and after `met`, `late` or `excused`, `malformed` is reported only if too many files
 * have arrived.
 */
function isNews(before: number | undefined, next: number, hasTooMany: boolean): boolean {
  if (before === undefined) return true;
  if (before === next || next === stateIds.missing) return false;
  const isDecided = before === stateIds.met || before === stateIds.late || before === stateIds.excused;
  return !isDecided || next !== stateIds.malformed || hasTooMany;
}

/** The context of an expectation's events. It names the account, so that handlers can filter by it. */
function eventContext({ account, group }: Pick<ExpectationOptions, 'account' | 'group'>, component: EventServer) {
  const named = account === undefined ? processAccount() : { ...processAccount(), name: account };
  return { account: named, component, ...(group !== undefined && { group }) };
}

/** @throws ServiceError `bad-request` */
function parseTime(name: 'due' | 'until', text: string): number {
  const timeMs = /^\d{4}-\d\d-\d\dT/.test(text) ? new Date(text).getTime() : Number.NaN;
  if (Number.isNaN(timeMs)) throw new ServiceError('bad-request', `The value of "${name}" must be a time such as 2026-01-31T06:00:00Z.`);
  return timeMs;
}

async function readOn(
  reader: ReturnType<ReadableJournal['openReader']>,
  from: LogPosition | undefined,
  take: (logged: Parameters<Expectation['add']>[0]) => void,
): Promise<LogPosition | undefined> {
  for (let position = from; ; ) {
    const { events, next } = await reader.next(position);
    for (const logged of events) take(logged);
    position = next;
    if (events.length === 0) return position;
  }
}
