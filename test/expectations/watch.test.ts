import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { JournalledDispatcher } from '../../src/events/dispatcher.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { processAccount } from '../../src/events/event-factory.ts';
import { eventIds } from '../../src/events/event-ids.ts';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { expectationOptions } from '../../src/expectations/options.ts';
import { sumRuns } from '../../src/expectations/told-occurrence.ts';
import { ExpectationWatch } from '../../src/expectations/watch.ts';
import { silentLog } from '../../src/lib/log.ts';
import { fileExpectations } from '../../src/state/memory/expectations.ts';
import { readAll } from '../contracts/event-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const server = { uuid: 'server', type: 'server', name: 'test' };
const hourMs = 3_600_000;
const stateIds = [
  eventIds.expectationMet,
  eventIds.expectationMalformed,
  eventIds.expectationLate,
  eventIds.expectationMissing,
  eventIds.expectationExcused,
  eventIds.expectationReopened,
];

// The files are due on the hour; the clock of the test begins at 22:13:20 UTC.
const orders = expectationOptions.parse({ name: 'Orders', account: 'acme', path: '/in/*', every: '1h', grace: '10m', opens: '30m' });

interface Process {
  watch: ExpectationWatch;
  upload: () => void;
  told: () => Promise<[id: number, due: unknown][]>;
  stop: () => Promise<void>;
}

function open(folder: string, clock: ManualClock): Process {
  const journal = new FileEventLog({ folder: `${folder}/journal`, maximumFileSizeBytes: 1e6, clock, log: silentLog });
  const events = new JournalledDispatcher(journal, server, clock);
  const watch = new ExpectationWatch({ journal, events, server, store: fileExpectations(folder), clock, log: silentLog });
  const context = { account: { ...processAccount(), uuid: 'acme', name: 'acme' }, component: server };
  return {
    watch,
    upload: () => void events.emit({ id: eventIds.fileUploaded, context, data: { path: '/in/a', total_write: 1 } }),
    async told() {
      const all = (await readAll(journal)).map(({ event }) => event as ServiceEvent);
      return all.filter(({ id }) => stateIds.includes(Number(id))).map(({ id, data }) => [Number(id), data.due]);
    },
    async stop() {
      await watch.stop();
      await journal.close();
    },
  };
}

async function untilTold(clock: ManualClock, { told }: Process, count: number): Promise<void> {
  await until(`${count} states are reported`, async () => {
    clock.advance(1000);
    return (await told()).length >= count;
  });
}

async function begun(t: TestContext): Promise<{ folder: string; clock: ManualClock; first: Process }> {
  const [folder, clock] = [temporaryFolder(t), new ManualClock()];
  const first = open(folder, clock);
  await first.watch.apply({ orders });
  await until('the watch has started', () => first.watch.figures().length === 1);
  return { folder, clock, first };
}

test('a file in time, one that is missing and then late, and an excuse are each reported once', async (t) => {
  const { clock, first } = await begun(t);
  clock.advance(40 * 60_000);
  first.upload();
  await untilTold(clock, first, 1);
  assert.deepEqual(await first.told(), [[eventIds.expectationMet, '2023-11-14T23:00:00Z']]);
  assert.equal(first.watch.figures()[0]?.overdueS, 0);
  clock.advance(1.3 * hourMs);
  await untilTold(clock, first, 2);
  const missing = first.watch.figures()[0];
  assert.ok(missing && missing.state === 'missing' && missing.overdueS > 600);
  first.upload();
  await untilTold(clock, first, 3);
  clock.advance(hourMs);
  await untilTold(clock, first, 4);
  const due = '2023-11-15T01:00:00Z';
  const told = await first.watch.excuse('orders', due, 'a bank holiday', 'root');
  assert.deepEqual([told.state, told.reason], ['excused', 'a bank holiday']);
  await untilTold(clock, first, 5);
  assert.deepEqual(await first.told(), [
    [eventIds.expectationMet, '2023-11-14T23:00:00Z'],
    [eventIds.expectationMissing, '2023-11-15T00:00:00Z'],
    [eventIds.expectationLate, '2023-11-15T00:00:00Z'],
    [eventIds.expectationMissing, due],
    [eventIds.expectationExcused, due],
  ]);
  for (const [uuid, at, reason, code] of [
    ['nobody', due, 'x', 'not-found'],
    ['orders', '2023-11-15T01:30:00Z', 'x', 'not-found'],
    ['orders', 'soon', 'x', 'bad-request'],
    ['orders', due, ' ', 'bad-request'],
    ['orders', '2023-11-14T23:00:00Z', 'x', 'exists'],
  ] as const)
    await assert.rejects(first.watch.excuse(uuid, at, reason), { code });
  await first.stop();
});

test('missing files of the last seven days are counted until they are excused or expected again, also long after their windows', async (t) => {
  const { clock, first } = await begun(t);
  const { watch } = first;
  const misses = () => watch.figures()[0]?.misses;
  clock.advance(60 * hourMs);
  await until('the misses are counted', () => {
    clock.advance(1000);
    return misses() === 60;
  });
  const nowMs = clock.nowMs();
  const listed = await watch.between(nowMs - 100 * hourMs, nowMs);
  assert.equal(listed.filter(({ state, watched }) => state === 'missing' && watched !== false).length, 60, 'the list has as many');
  const runs = sumRuns(listed, 'Asia/Kolkata').filter(({ watched }) => watched === undefined);
  assert.deepEqual(
    runs.map(({ state, count, first: from, last }) => [state, count, from.slice(0, 16), last.slice(0, 16)]),
    [
      ['missing', 20, '2023-11-14T23:00', '2023-11-15T18:00'],
      ['missing', 24, '2023-11-15T19:00', '2023-11-16T18:00'],
      ['missing', 16, '2023-11-16T19:00', '2023-11-17T10:00'],
    ],
    'runs end with the day of the reader',
  );
  await watch.excuse('orders', '2023-11-14T23:00:00Z', 'a holiday');
  await watch.expectAgain('orders', '2023-11-15T00:00:00Z', '2023-11-18T00:00:00Z');
  await until('two are no longer missing', () => {
    clock.advance(1000);
    return misses() === 58;
  });
  clock.advance(8 * 24 * hourMs);
  await until('misses are forgotten after seven days', () => {
    clock.advance(1000);
    return misses() === 7 * 24 + 11;
  });
  await first.stop();
});

test('an occurrence that was met is reported as malformed, once, if more files than expected arrive', async (t) => {
  const [folder, clock] = [temporaryFolder(t), new ManualClock()];
  const process = open(folder, clock);
  await process.watch.apply({ orders: { ...orders, count: { minimum: 1, maximum: 1 } } });
  await until('the watch has started', () => process.watch.figures().length === 1);
  clock.advance(40 * 60_000);
  process.upload();
  await untilTold(clock, process, 1);
  process.upload();
  await untilTold(clock, process, 2);
  process.upload();
  clock.advance(1.3 * hourMs);
  await untilTold(clock, process, 3);
  assert.deepEqual(await process.told(), [
    [eventIds.expectationMet, '2023-11-14T23:00:00Z'],
    [eventIds.expectationMalformed, '2023-11-14T23:00:00Z'],
    [eventIds.expectationMissing, '2023-11-15T00:00:00Z'],
  ]);
  await process.stop();
});

test('states that changed while no process ran are reported once, at the next start; states before the first start are not', async (t) => {
  const { folder, clock, first } = await begun(t);
  clock.advance(40 * 60_000);
  first.upload();
  await first.stop();
  clock.advance(2.5 * hourMs);
  const second = open(folder, clock);
  await second.watch.apply({ orders });
  await untilTold(clock, second, 3);
  const expected = [
    [eventIds.expectationMet, '2023-11-14T23:00:00Z'],
    [eventIds.expectationMissing, '2023-11-15T00:00:00Z'],
    [eventIds.expectationMissing, '2023-11-15T01:00:00Z'],
  ];
  assert.deepEqual(await second.told(), expected);
  await second.stop();
  const third = open(folder, clock);
  await third.watch.apply({ orders });
  await until('the watch has started', () => third.watch.figures().length === 1);
  clock.advance(2000);
  assert.deepEqual(await third.told(), expected, 'no state is reported again');
  await third.watch.apply({});
  assert.deepEqual(third.watch.figures(), []);
  await third.stop();
});

test('after a stop of days, missing files are reported once at the next start, but none from before the oldest event', async (t) => {
  const { folder, clock, first } = await begun(t);
  clock.advance(40 * 60_000);
  first.upload();
  await untilTold(clock, first, 1);
  await first.stop();
  clock.advance(72 * hourMs);
  const second = open(folder, clock);
  await second.watch.apply({ orders });
  await untilTold(clock, second, 72);
  const told = await second.told();
  assert.deepEqual([told.length, told[1]], [72, [eventIds.expectationMissing, '2023-11-15T00:00:00Z']]);
  await second.stop();

  // Retention removes the events: what they reported is not reported again.
  rmSync(`${folder}/journal`, { recursive: true });
  clock.advance(48 * hourMs);
  const third = open(folder, clock);
  third.upload();
  clock.advance(hourMs);
  await third.watch.apply({ orders });
  await untilTold(clock, third, 1);
  clock.advance(2000);
  assert.deepEqual(await third.told(), [[eventIds.expectationMet, '2023-11-19T23:00:00Z']]);
  await third.stop();
});

test('an occurrence that is expected again is met or missing a second time, also after a restart', async (t) => {
  const { folder, clock, first } = await begun(t);
  clock.advance(40 * 60_000);
  first.upload();
  await untilTold(clock, first, 1);
  const due = '2023-11-14T23:00:00Z';
  const hence = (hours: number) => new Date(clock.nowMs() + hours * hourMs).toISOString();
  for (const [bad, code] of [
    ['soon', 'bad-request'],
    [hence(-1), 'bad-request'],
    [hence(32 * 24), 'bad-request'],
  ] as const)
    await assert.rejects(first.watch.expectAgain('orders', due, bad), { code });
  await assert.rejects(first.watch.expectAgain('orders', '2023-11-14T23:30:00Z', hence(1)), { code: 'not-found' });
  // An occurrence can be expected again even after the end of its window.
  const told = await first.watch.expectAgain('orders', due, hence(1.6), 'root');
  assert.deepEqual([told.state, told.files, new Date(told.grace_ends).toISOString()], ['waiting', [], hence(1.6)]);
  await assert.rejects(first.watch.expectAgain('orders', due, hence(1)), { code: 'exists' });
  await first.stop();
  const second = open(folder, clock);
  await second.watch.apply({ orders });
  await until('the watch has started', () => second.watch.figures().length === 1);
  clock.advance(hourMs);
  // The older occurrence gets the file; the occurrence of midnight, whose window is open, waits for another file.
  second.upload();
  await untilTold(clock, second, 3);
  clock.advance(0.5 * hourMs);
  await untilTold(clock, second, 4);
  second.upload();
  await untilTold(clock, second, 5);
  assert.deepEqual(await second.told(), [
    [eventIds.expectationMet, due],
    [eventIds.expectationReopened, due],
    [eventIds.expectationMet, due],
    [eventIds.expectationMissing, '2023-11-15T00:00:00Z'],
    [eventIds.expectationLate, '2023-11-15T00:00:00Z'],
  ]);
  await second.watch.expectAgain('orders', due, hence(0.2));
  clock.advance(0.3 * hourMs);
  await untilTold(clock, second, 7);
  assert.deepEqual((await second.told()).slice(5, 7), [
    [eventIds.expectationReopened, due],
    [eventIds.expectationMissing, due],
  ]);
  // An occurrence from before the expectation was configured can be expected again, too.
  const before = '2023-11-14T20:00:00Z';
  await second.watch.expectAgain('orders', before, hence(1));
  await untilTold(clock, second, 8);
  second.upload();
  await until('the early occurrence is met', async () => {
    clock.advance(1000);
    return (await second.told()).some(([id, at]) => id === eventIds.expectationMet && at === before);
  });
  await second.stop();
});

/** A clock whose time of day jumps while its timers continue. */
class JumpingClock extends ManualClock {
  jumpedMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.jumpedMs;
  }
}

test('after the clock jumped ahead, all skipped states are reported once; after it jumped back, none is repeated', async (t) => {
  const [folder, clock] = [temporaryFolder(t), new JumpingClock()];
  const process = open(folder, clock);
  await process.watch.apply({ orders });
  await until('the watch has started', () => process.watch.figures().length === 1);
  clock.jumpedMs = 5 * hourMs;
  await untilTold(clock, process, 5);
  const passed = await process.told();
  assert.deepEqual(
    passed,
    ['14T23', '15T00', '15T01', '15T02', '15T03'].map((hour) => [eventIds.expectationMissing, `2023-11-${hour}:00:00Z`]),
  );
  for (const jumpedMs of [2 * hourMs, 0, 5 * hourMs]) {
    clock.jumpedMs = jumpedMs;
    for (let second = 0; second < 5; second++) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    assert.deepEqual(await process.told(), passed);
  }
  await process.stop();
});

test('a schedule for each minute: other work runs while the history is computed, and a list agrees with the history', async (t) => {
  const clock = new ManualClock();
  const process = open(temporaryFolder(t), clock);
  await process.watch.apply({ feed: expectationOptions.parse({ account: 'acme', path: '/in/*', schedule: '* * * * *', grace: '3m' }) });
  for (let minute = 0; minute < 5; minute++) {
    process.upload();
    clock.advance(60_000);
  }
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  const { occurrences } = await process.watch.history('feed', 3);
  isOver = true;
  const [listed] = await process.watch.list();
  assert.equal(occurrences.length, 3 * 24 * 60 + 1);
  assert.deepEqual([listed?.next, listed?.last], occurrences.slice(0, 2));
  assert.ok(turns > 100, `${turns} turns for 4,321 occurrences`);
  await process.stop();
});

test('due times before an expectation was active are shown as not watched, until they are excused or expected again', async (t) => {
  const clock = new ManualClock();
  const process = open(temporaryFolder(t), clock);
  const sinceMs = clock.nowMs();
  await process.watch.apply({ orders });
  await until('the watch has started', () => process.watch.figures().length === 1);
  const last = async () => (await process.watch.list())[0]?.last;
  assert.deepEqual([(await last())?.state, (await last())?.watched], ['missing', false]);
  clock.advance(2 * hourMs);
  assert.deepEqual([(await last())?.state, (await last())?.watched], ['missing', undefined]);
  const missing = async () => {
    const { occurrences, watched_since } = await process.watch.history('orders', 1);
    assert.equal(watched_since, new Date(sinceMs).toISOString());
    const found = await process.watch.between(clock.nowMs() - 24 * hourMs, clock.nowMs());
    const past = occurrences.filter(({ due }) => Date.parse(due) <= clock.nowMs()).reverse();
    assert.deepEqual(found, past, 'the occurrences of a period agree with the history');
    return past.filter(({ state }) => state === 'missing');
  };
  for (const { due, watched } of await missing()) assert.equal(watched, Date.parse(due) < sinceMs ? false : undefined, due);
  const before = '2023-11-14T22:00:00Z';
  const told = await process.watch.excuse('orders', before, 'a trial', 'root');
  assert.deepEqual([told.state, told.watched], ['excused', undefined]);
  // After an occurrence was expected again, it is missing if no file comes.
  await process.watch.expectAgain('orders', before, new Date(clock.nowMs() + hourMs).toISOString());
  clock.advance(2 * hourMs);
  const again = (await missing()).find(({ due }) => due === before);
  assert.deepEqual([again?.state, again?.watched], ['missing', undefined]);
  await process.stop();
});
