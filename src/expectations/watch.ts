import type { Account } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventServer } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import {
  evaluate,
  type Judged,
  makeExpectations,
  neededIds,
  type ReadableJournal,
  readExpectations,
  summarise,
  takeEvent,
} from './evaluate.ts';
import { type Expectation, type OccurrenceState, stateIds, type ToldExpectation, type ToldOccurrence } from './expectation.ts';
import type { ExpectationOptions } from './options.ts';

const dayMs = 86_400_000;

/** How often the journal is read on. */
const readEveryMs = 1000;

/** How long a fault is waited for. */
const retryAfterMs = 5000;

/** Older occurrences are no longer reported. */
const oldestMs = 32 * dayMs;

/** Time back in which a list looks for the last occurrence. */
const shownMs = 31 * dayMs;

/** Shared by the processes that watch the same expectations. */
export interface ExpectationStore {
  /**
   * Since when each expectation is watched (Unix time in milliseconds): new ones from now on; ones that are not listed are forgotten.
   * @throws ServiceError `unavailable`
   */
  since(uuids: readonly string[], nowMs: number): Promise<ReadonlyMap<string, number>>;
  /** Whether this process reports, at least for the next seconds. @throws ServiceError `unavailable` */
  isTeller(): Promise<boolean>;
}

/** The newest occurrence of an expectation, for figures. */
export interface ExpectationFigures {
  expectation: string;
  state: OccurrenceState;
  /** Seconds since the due time of a missing file; 0 when none is overdue. */
  overdueS: number;
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

/** Reports by events how the expectations of a configuration turn out. It keeps no state beside the journal. */
export class ExpectationWatch {
  readonly #dependencies: Dependencies;
  #options: AllOptions = {};
  #running: { end: AbortController; ended: Promise<void> } | undefined;
  #watched: readonly Expectation[] = [];

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Applies other expectations from now on. */
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

  /** Figures of the process that reports; the others have none. */
  figures(): ExpectationFigures[] {
    const nowMs = this.#dependencies.clock.nowMs();
    return this.#watched.flatMap((expectation) => {
      const due = expectation.occurrences.filter(({ dueMs }) => dueMs <= nowMs);
      const newest = due.at(-1) ?? expectation.occurrences[0];
      if (!newest) return [];
      const open = due.find((one) => ['waiting', 'missing', 'malformed'].includes(expectation.judge(one, nowMs).state));
      const { state } = expectation.judge(newest, nowMs);
      return [{ expectation: expectation.uuid, state, overdueS: open ? (nowMs - open.dueMs) / 1000 : 0 }];
    });
  }

  /** The last and the next occurrence of each selected expectation. @throws ServiceError `unavailable` */
  async list(isWanted: (options: ExpectationOptions) => boolean = () => true): Promise<ToldExpectation[]> {
    const wanted = Object.fromEntries(Object.entries(this.#options).filter(([, options]) => isWanted(options)));
    if (Object.keys(wanted).length === 0) return [];
    return summarise(wanted, await this.#judge(wanted, shownMs));
  }

  /** The expectations for files of an account, or of its group. @throws ServiceError `unavailable` */
  ofAccount({ name, uuid, groupUuid }: Pick<Account, 'name' | 'uuid' | 'groupUuid'>): Promise<ToldExpectation[]> {
    return this.list(
      ({ account, group, enabled }) => enabled && (account === undefined ? group === groupUuid : [name, uuid].includes(account)),
    );
  }

  /** The occurrences of one expectation in the last days, the newest first, and the next one. @throws ServiceError `not-found`, `unavailable` */
  async occurrences(uuid: string, days: number): Promise<ToldOccurrence[]> {
    const options = this.requireKnown(uuid);
    const { past, next } = await this.#judge({ [uuid]: options }, days * dayMs);
    return [...past, ...next.values()].reverse();
  }

  #judge(options: AllOptions, periodMs: number): Promise<Judged> {
    const { journal, clock } = this.#dependencies;
    const nowMs = clock.nowMs();
    return evaluate(journal, options, { sinceMs: nowMs - periodMs, nowMs });
  }

  /** @throws ServiceError `not-found` */
  requireKnown(uuid: string): ExpectationOptions {
    const options = Object.hasOwn(this.#options, uuid) ? this.#options[uuid] : undefined;
    if (!options) throw new ServiceError('not-found', `There is no expectation "${uuid}".`);
    return options;
  }

  /**
   * Excuses an occurrence (docs/spec/expectations.md#excuses).
   *
   * @param due its due time, RFC 3339
   * @throws ServiceError `not-found` when nothing is due then, `exists` when the files are there, `bad-request` for a bad time or reason
   */
  async excuse(uuid: string, due: string, reason: string, administrator?: string): Promise<ToldOccurrence> {
    const { journal, events, server, clock } = this.#dependencies;
    const options = this.requireKnown(uuid);
    const dueMs = new Date(due).getTime();
    if (Number.isNaN(dueMs)) throw new ServiceError('bad-request', `The due time must be one such as 2026-01-31T06:00:00Z.`);
    if (reason.trim() === '' || reason.length > 1000) throw new ServiceError('bad-request', 'Give a reason of up to 1,000 characters.');
    const { past, next } = await evaluate(journal, { [uuid]: { ...options, enabled: true } }, { sinceMs: dueMs, nowMs: clock.nowMs() });
    const found = [...past, ...next.values()].find((one) => new Date(one.due).getTime() === dueMs);
    if (!found) throw new ServiceError('not-found', `Nothing of "${uuid}" is due at ${due}.`);
    if (found.state === 'met') throw new ServiceError('exists', `The files of "${uuid}" that were due at ${due} are there.`);
    const told: ToldOccurrence = { ...found, state: 'excused', reason };
    const context = { account: tellingAccount(options), component: server };
    await events.emitDurable({ id: stateIds.excused, data: { ...told, administrator }, context });
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

  /** Watches while this process is the one that reports. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { journal, store, clock } = this.#dependencies;
    const nowMs = clock.nowMs();
    const uuids = Object.entries(this.#options).flatMap(([uuid, { enabled }]) => (enabled ? [uuid] : []));
    const since = await store.since(uuids, nowMs);
    const watched = makeExpectations(this.#options, (uuid) => Math.max(since.get(uuid) ?? nowMs, nowMs - oldestMs));
    const told = new Map<string, number>();
    const onState = ({ expectation, dueMs, id }: { expectation: string; dueMs: number; id: number }) =>
      told.set(`${expectation} ${dueMs}`, id);
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
      expectation.forget(nowMs);
      for (const occurrence of expectation.occurrences) {
        const { state } = expectation.judge(occurrence, nowMs);
        const key = `${expectation.uuid} ${occurrence.dueMs}`;
        if (state === 'waiting' || !isNews(told.get(key), stateIds[state])) continue;
        const { account, group } = expectation.options;
        const context = { account: tellingAccount({ account }), component: server, ...(group !== undefined && { group }) };
        events.emit({ id: stateIds[state], data: { ...expectation.tell(occurrence, nowMs) }, context });
        told.set(key, stateIds[state]);
      }
    }
  }
}

/** Whether a state is reported: a state that a file or a person decided does not revert when retention removes the file's event. */
function isNews(before: number | undefined, next: number): boolean {
  if (before === undefined) return true;
  const isDecided = before === stateIds.met || before === stateIds.late || before === stateIds.excused;
  return before !== next && !(isDecided && (next === stateIds.missing || next === stateIds.malformed)) && next !== stateIds.missing;
}

/** The account of the events, so that handlers can filter by its name. */
function tellingAccount({ account }: Pick<ExpectationOptions, 'account'>) {
  return account === undefined ? processAccount() : { ...processAccount(), name: account };
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
