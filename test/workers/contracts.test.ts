import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { effectiveAccount } from '../../src/accounts/account.ts';
import { groupOptions } from '../../src/accounts/options.ts';
import type { SecurityPolicy } from '../../src/auth/ban-list.ts';
import type { SessionStore } from '../../src/auth/sessions.ts';
import type { EventLog, EventMarks } from '../../src/events/journal/event-log.ts';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { comparePositions } from '../../src/events/journal/position.ts';
import { faultOf } from '../../src/lib/channel.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import { StateHost, type StateSurroundings } from '../../src/server/workers/state-host.ts';
import { attempt, bansContract, inTurns as bansInTurns, guess } from '../contracts/bans.ts';
import { eventLogContract, readAll, testEvent } from '../contracts/event-log.ts';
import { lockStoreContract } from '../contracts/lock-store.ts';
import { type SessionsSurroundings, sessionsContract } from '../contracts/sessions.ts';
import { acceptedContract, urlHealthContract } from '../contracts/shared-state.ts';
import { connectWorker, hostJournal, type LoopbackWorker } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const lenient = (): SecurityPolicy => ({ ban_after_failures: 0, ban_seconds: 1, ban_window_seconds: 1 });
const long = { idleMs: 60_000, maximumAgeMs: 120_000 };

function open(t: TestContext, more: Partial<StateSurroundings> = {}): { host: StateHost; workers: [LoopbackWorker, LoopbackWorker] } {
  const surroundings = { clock: systemClock, policy: lenient, lifetimes: () => long, onTimeout: () => {}, ...more };
  const host = new StateHost(surroundings);
  t.after(() => host.close());
  return { host, workers: [connectWorker(host, undefined, surroundings.policy), connectWorker(host, undefined, surroundings.policy)] };
}

/** Each call by another worker. */
function inTurns<T>(...stores: T[]): () => T {
  let index = 0;
  return () => stores[index++ % stores.length] as T;
}

function sessionsOf(t: TestContext, { lifetimes, onTimeout }: SessionsSurroundings): SessionStore {
  const { workers } = open(t, { lifetimes, onTimeout: (_, account) => onTimeout(account) });
  const stores = workers.map(({ state }) => state.sessions('web', lifetimes));
  const closeAll = () => {
    for (const store of stores) store.close();
  };
  t.after(closeAll);
  const next = inTurns(...stores);
  return {
    create: (account, address) => next().create(account, address),
    createForConnection: (account, address, most) => next().createForConnection(account, address, most),
    find: (id) => next().find(id),
    hold(session) {
      const holds = stores.map((store) => store.hold(session));
      return {
        done() {
          for (const hold of holds) hold.done();
        },
      };
    },
    end: (session) => next().end(session),
    endAll: (uuid, except) => next().endAll(uuid, except),
    count: () => next().count(),
    list: () => next().list(),
    endKeys: (keys) => next().endKeys(keys),
    close: closeAll,
  };
}

sessionsContract('sessions of two workers', async (t, surroundings) => sessionsOf(t, surroundings));

bansContract('bans of two workers', async (t, policy) => {
  const { workers } = open(t, { policy });
  return bansInTurns(workers.map(({ state }) => state.bans));
});

lockStoreContract('locks of two workers', (t) => {
  const clock = new ManualClock();
  const { workers } = open(t, { clock });
  const next = inTurns(...workers.map(({ state }) => state.locks));
  const store = {
    take: (request: Parameters<LoopbackWorker['state']['locks']['take']>[0]) => next().take(request),
    refresh: (token: string, timeoutMs: number) => next().refresh(token, timeoutMs),
    release: (token: string) => next().release(token),
    covering: (path: string) => next().covering(path),
    within: (path: string) => next().within(path),
  };
  return { store, advance: (ms) => clock.advance(ms) };
});

urlHealthContract('suspensions of workers', async (t) => open(t).workers[0].state.urlHealth('method'));
acceptedContract('accepted credentials of workers', async (t, lifetimeMs) => {
  const [first, second] = open(t).workers.map(({ state }) => state.accepted('method', lifetimeMs));
  assert.ok(first && second);
  return { keyOf: (question) => first.keyOf(question), find: (key) => second.find(key), keep: (key, result) => first.keep(key, result) };
});

async function openJournal(t: TestContext) {
  const log = new FileEventLog({
    folder: temporaryFolder(t),
    maximumFileSizeBytes: 2_000_000,
    retentionDays: 30,
    clock: systemClock,
    log: silentLog,
  });
  const { host } = open(t);
  const journal = hostJournal(t, log, host);
  return { log, host, journal, worker: connectWorker(host, journal, lenient) };
}

// A worker never learns the position of an event: it is the end of the journal before it, as nobody else writes here. Marks of handlers
// that a request waits for are written by the primary process, as for `emitAndWait`.
eventLogContract('journal of a worker', async (t) => {
  const { log, worker } = await openJournal(t);
  const ended = (before: EventLog['end']) => (comparePositions(log.end, before) > 0 ? before : undefined);
  const sink = {
    append(event: Parameters<EventLog['append']>[0], marks: EventMarks = { group: undefined, takenBy: undefined }) {
      if (marks.takenBy !== undefined) return log.append(event, marks);
      const before = log.end;
      worker.journal.append(event, marks);
      worker.journal.flush();
      return ended(before);
    },
    async appendDurable(event: Parameters<EventLog['append']>[0], marks: EventMarks = { group: undefined, takenBy: undefined }) {
      if (marks.takenBy !== undefined) return log.appendDurable(event, marks);
      const before = log.end;
      await worker.journal.appendDurable(event, marks);
      return ended(before);
    },
    assertWritable: () => worker.journal.assertWritable(),
  };
  const bound = (target: FileEventLog, name: keyof FileEventLog) => {
    const value: unknown = target[name];
    return typeof value === 'function' ? value.bind(target) : value;
  };
  return new Proxy(log, {
    get: (target, name) => (name in sink ? sink[name as keyof typeof sink] : bound(target, name as keyof FileEventLog)),
  }) as EventLog;
});

test('journal of a worker: what cannot be written fails the change it belongs to, and no other', async (t) => {
  let room = Number.POSITIVE_INFINITY;
  const { writeSync } = await import('node:fs');
  const log = new FileEventLog({
    folder: temporaryFolder(t),
    maximumFileSizeBytes: 2_000_000,
    retentionDays: 30,
    clock: systemClock,
    log: silentLog,
    write: (fd, bytes) => {
      if (bytes.length > room) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      room -= bytes.length;
      return writeSync(fd, bytes);
    },
  });
  const { host } = open(t);
  const journal = hostJournal(t, log, host);
  const worker = connectWorker(host, journal, lenient);
  const marks = { group: 'A', takenBy: undefined };
  room = 2 * (JSON.stringify(testEvent('x')).length + 1) + 10;
  const changes = ['x', 'x', 'y', 'z'].map((text) => worker.journal.appendDurable(testEvent(text), marks));
  const outcomes = await Promise.allSettled(changes);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  assert.throws(() => worker.journal.assertWritable(), { code: 'storage-full' });
  room = Number.POSITIVE_INFINITY;
  await until('it is writable again', () => journal.fault === undefined);
  await worker.journal.appendDurable(testEvent('again'), marks);
  worker.journal.assertWritable();
  assert.deepEqual(
    (await readAll(log)).map(({ event }) => event.data.text),
    ['x', 'x', 'again'],
  );
  await log.close();
});

test('a worker that dies gives up its holds, turns and claims; what waits for it goes on', async (t) => {
  const group = groupOptions.parse({ home_folder_path: '/srv' });
  const account = effectiveAccount('alice', {}, new Map([['DEFAULT_GROUP', group]]), { uuid: 'm', type: 'application' });
  const over: string[] = [];
  const lifetimes = { idleMs: 300, maximumAgeMs: 60_000 };
  const { workers } = open(t, { lifetimes: () => lifetimes, onTimeout: (_, { name }) => over.push(name) });
  const [first, second] = workers;
  const here = first.state.sessions('web', () => lifetimes);
  const id = await here.create(account);
  const session = await here.find(id);
  assert.ok(session);
  here.hold(session);
  here.close();
  await first.channel.call('takeTurn', '/a');
  const turn = second.channel.call('takeTurn', '/a');
  const claim = { limitBytes: 100, replacedBytes: 0, bytes: 80 };
  const countOf = (bytes: number) => ({ bytes, begun: { grownBytes: 0, changes: 0, moves: 0, kept: [] } });
  assert.equal(await first.channel.call('claimQuota', '/a', 1, claim, countOf(0)), 'taken');
  assert.equal(await second.channel.call('claimQuota', '/a', 1, claim, countOf(10)), 'refused');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.deepEqual(over, [], 'held');
  first.die();
  await turn;
  assert.equal(await second.channel.call('claimQuota', '/a', 1, claim, countOf(10)), 'taken');
  await assert.rejects(first.channel.call('countSessions', 'web'), { code: 'unavailable' });
  await until('it times out', () => over.length === 1);
  assert.equal(await second.channel.call('countSessions', 'web'), 0);
});

test('what a worker that dies was about to check keeps no slot', async (t) => {
  const { workers } = open(t, { policy: () => ({ ban_after_failures: 1, ban_seconds: 60, ban_window_seconds: 60 }) });
  const [first, second] = workers;
  assert.equal((await first.state.bans.begin(guess(), 60_000, true)).kind, 'admitted');
  assert.equal((await second.state.bans.begin(guess(), 60_000, true)).kind, 'busy');
  first.die();
  assert.equal(await attempt(second.state.bans, guess(), 'failed'), 'admitted');
  assert.equal(await attempt(second.state.bans, guess(), 'failed'), 'refused');
});

test('a session that is ended while a worker asks for it is not remembered there', async (t) => {
  const group = groupOptions.parse({ home_folder_path: '/srv' });
  const account = effectiveAccount('alice', {}, new Map([['DEFAULT_GROUP', group]]), { uuid: 'm', type: 'application' });
  const { workers } = open(t);
  const [first, second] = workers.map(({ state }): SessionStore => state.sessions('web', () => long)) as [SessionStore, SessionStore];
  t.after(() => {
    first.close();
    second.close();
  });
  for (let round = 0; round < 50; round++) {
    const id = await first.create(account);
    const session = await first.find(id);
    assert.ok(session);
    const asked = second.find(id);
    // The end overtakes nothing, and is behind the answer at most by moments.
    if (round % 2 === 0) await Promise.resolve();
    else await new Promise((resolve) => setImmediate(resolve));
    await first.end(session);
    await asked;
    assert.equal(await second.find(id), undefined);
  }
});

test('faults keep their kind from one process to the other, and say nothing that no message can carry', () => {
  const fault = faultOf(new ServiceError('locked', 'The path is locked.', { cause: new Error('inner'), details: { a: 1, f: () => {} } }));
  assert.deepEqual(fault, { code: 'locked', message: 'The path is locked.', details: { a: 1 } });
  assert.deepEqual(faultOf(new TypeError('odd')), { code: undefined, message: 'odd', details: {} });
});
