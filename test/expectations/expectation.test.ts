import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvent, processAccount } from '../../src/events/event-factory.ts';
import { eventIds } from '../../src/events/event-ids.ts';
import { dueTimesOf, Expectation, neededSince } from '../../src/expectations/expectation.ts';
import { expectationOptions, parseHolidays } from '../../src/expectations/options.ts';
import { measurePunctuality } from '../../src/expectations/told-occurrence.ts';

const server = { uuid: 'server', type: 'server', name: 'test' };

interface File {
  at: string;
  path?: string;
  size?: number;
  account?: string;
  group?: string;
  metadata?: Record<string, string>;
  id?: number;
}

function arrival({ at, path = '/in/a.csv', size = 10, account = 'acme', group, metadata, id = eventIds.fileUploaded }: File) {
  const context = { account: { ...processAccount(), uuid: `uuid-${account}`, name: account }, component: server };
  const event = createEvent({ id, context, data: { path, total_write: size, metadata } }, server, new Date(at).getTime());
  return { event, group };
}

function states(
  options: Record<string, unknown>,
  files: readonly File[],
  { from = '2026-01-01T00:00:00Z', now = '2026-01-03T12:00:00Z' } = {},
) {
  const given = expectationOptions.parse({ path: '/in/*.csv', schedule: '0 6 * * *', ...options });
  const expectation = new Expectation('orders', given, dueTimesOf(given), new Date(from).getTime());
  for (const file of files) expectation.add(arrival(file));
  const nowMs = new Date(now).getTime();
  expectation.advance(nowMs);
  return expectation.occurrences.filter(({ dueMs }) => dueMs <= nowMs).map((one) => expectation.judge(one, nowMs).state);
}

test('met, late, missing and waiting follow from the window, the due time and the grace', () => {
  const grace = { grace: '30m' };
  assert.deepEqual(states(grace, []), ['missing', 'missing', 'missing']);
  assert.deepEqual(states(grace, [], { now: '2026-01-01T06:30:00Z' }), ['waiting']);
  assert.deepEqual(
    states(grace, [{ at: '2026-01-01T06:30:00Z' }]),
    ['met', 'missing', 'missing'],
    'a file at the end of the grace is in time',
  );
  assert.deepEqual(states(grace, [{ at: '2026-01-01T06:30:01Z' }]), ['late', 'missing', 'missing']);
  assert.deepEqual(
    states(grace, [{ at: '2026-01-02T05:59:59Z' }]),
    ['late', 'missing', 'missing'],
    'the first open occurrence gets the file',
  );
  assert.deepEqual(
    states(grace, [{ at: '2026-01-01T05:00:00Z' }, { at: '2026-01-01T12:00:00Z' }]),
    ['met', 'met', 'missing'],
    'a file after the grace is early for the next occurrence if this one is complete',
  );
  const days = ['2026-01-02T05:30:00Z', '2026-01-03T05:30:00Z'].map((at) => ({ at }));
  assert.deepEqual(states({ opens: '1h' }, days), ['missing', 'met', 'met'], 'a missing file does not make a later occurrence late');
  assert.deepEqual(states({ opens: '1h' }, [{ at: '2026-01-01T09:00:00Z' }]), ['late', 'missing', 'missing']);
  assert.deepEqual(
    states({ opens: '1h' }, [{ at: '2026-01-01T04:59:59Z' }]),
    ['missing', 'missing', 'missing'],
    'a file before the window does not count',
  );
  assert.deepEqual(states({ opens: '1h' }, [{ at: '2026-01-01T05:00:00Z' }]), ['met', 'missing', 'missing']);
});

test('files of a wrong number, size or metadata are malformed, until the right ones arrive', () => {
  const two = { count: '2..3', grace: '1h' };
  const at = (minute: number): File => ({ at: `2026-01-01T05:${String(minute).padStart(2, '0')}:00Z` });
  const now = { now: '2026-01-01T12:00:00Z' };
  assert.deepEqual(states(two, [at(1)], now), ['malformed']);
  assert.deepEqual(states(two, [at(1), at(2)], now), ['met']);
  assert.deepEqual(states(two, [at(1), at(2), at(3), at(4)], now), ['malformed']);
  assert.deepEqual(states(two, [at(1), { at: '2026-01-01T11:00:00Z' }], now), ['late']);
  const large = { minimum_size: 100 };
  assert.deepEqual(states(large, [{ ...at(1), size: 99 }], now), ['malformed']);
  assert.deepEqual(
    states(
      large,
      [
        { ...at(1), size: 99 },
        { ...at(2), size: 100 },
      ],
      now,
    ),
    ['met'],
  );
  const orders = { metadata: 'type, order' };
  assert.deepEqual(states(orders, [{ ...at(1), metadata: { type: 'invoice' } }, at(2)], now), ['malformed']);
  assert.deepEqual(states(orders, [{ ...at(1), metadata: { type: 'order' } }], now), ['met']);
});

test('only files of the expected account, group and path count, over HTTP or SFTP', () => {
  const now = { now: '2026-01-01T12:00:00Z' };
  const at = '2026-01-01T05:00:00Z';
  assert.deepEqual(states({ account: 'acme' }, [{ at, account: 'other' }], now), ['missing']);
  assert.deepEqual(states({ account: 'acme' }, [{ at }], now), ['met']);
  assert.deepEqual(states({ account: 'uuid-acme' }, [{ at }], now), ['met']);
  assert.deepEqual(states({ group: 'G' }, [{ at, group: 'H' }], now), ['missing']);
  assert.deepEqual(states({ group: 'G' }, [{ at, group: 'G' }], now), ['met']);
  assert.deepEqual(states({}, [{ at, path: '/in/a.txt' }], now), ['missing']);
  assert.deepEqual(states({}, [{ at, id: eventIds.sftpFileUploaded }], now), ['met']);
  assert.deepEqual(states({}, [{ at, id: eventIds.fileRemoved }], now), ['missing']);
});

test('a path with a date: a file counts for its own day, however late it arrives', () => {
  const dated = { path: '/in/{yyyy}{MM}{dd}.csv', grace: '1h', time_zone: 'Europe/Berlin' };
  assert.deepEqual(
    states(dated, [
      { at: '2026-01-03T04:00:00Z', path: '/in/20260101.csv' },
      { at: '2026-01-03T04:30:00Z', path: '/in/20260103.csv' },
    ]),
    ['late', 'missing', 'met'],
  );
});

test('an excused occurrence is shown with its reason and its times', () => {
  const options = expectationOptions.parse({ path: '/in/*', schedule: '0 6 * * *' });
  const expectation = new Expectation('orders', options, dueTimesOf(options), Date.UTC(2026, 0, 1));
  const nowMs = Date.UTC(2026, 0, 1, 12);
  expectation.advance(nowMs);
  const [first] = expectation.occurrences;
  assert.ok(first);
  first.excuse = 'bank holiday';
  const { state, reason, due, opens } = expectation.tell(first, nowMs);
  assert.deepEqual([state, reason, due, opens], ['excused', 'bank holiday', '2026-01-01T06:00:00Z', '2025-12-31T06:00:00Z']);
});

test('contradictory options are refused', () => {
  const problem = (options: Record<string, unknown>) =>
    expectationOptions.safeParse({ path: '/a', ...options }).error?.issues.map(({ message }) => message) ?? [];
  assert.deepEqual(problem({ schedule: '0 6 * * *' }), []);
  assert.deepEqual(problem({}), ['needs either "schedule" or "every"']);
  assert.deepEqual(problem({ schedule: '0 6 * * *', every: '1d' }), ['needs either "schedule" or "every"']);
  assert.deepEqual(problem({ every: '1s' }), ['must be at least a minute']);
  for (const bad of [
    { schedule: '* * *' },
    { every: '1d', time_zone: 'Europe/Atlantis' },
    { every: '1d', count: '0' },
    { every: '1d', count: '5..2' },
    { every: '1d', from: '25:00' },
    { every: '1d', path: 'in/a' },
    { every: '1d', grace: 'soon' },
    { every: '1d', account: 'a', group: 'b' },
  ])
    assert.equal(problem(bad).length, 1, JSON.stringify(bad));
  assert.deepEqual([...parseHolidays('# none\n2026-12-25 # Christmas\n\n')], ['2026-12-25']);
  assert.throws(() => parseHolidays('2026-12-25\n25.12.2026'), { message: 'line 2 must be a day such as 2026-12-25' });
});

test('punctuality: median, quartiles and extremes of arrival times, also for none and for one', () => {
  assert.equal(measurePunctuality([]), null);
  const minutes = Array.from({ length: 20 }, (_, index) => (19 - index) * 60_000 - 600_000);
  assert.deepEqual(measurePunctuality(minutes), {
    count: 20,
    earliest: -600,
    lower_quartile: -360,
    median: -60,
    upper_quartile: 240,
    ninth_decile: 420,
    latest: 540,
  });
  assert.equal(measurePunctuality([1500])?.median, 2);
});

test('to judge the newest occurrence, earlier ones are needed if their windows overlap with its window, within limits', () => {
  const nowMs = Date.UTC(2026, 0, 31, 12, 0, 30);
  const since = (options: object) => {
    const parsed = expectationOptions.parse({ account: 'acme', path: '/in/*', schedule: '* * * * *', ...options });
    return (nowMs - neededSince(parsed, dueTimesOf(parsed), nowMs, nowMs - 31 * 86_400_000)) / 60_000;
  };
  assert.equal(since({ grace: '0m' }), 0.5);
  assert.equal(since({ grace: '2h' }), 120.5);
  assert.equal(since({ grace: '20h' }), 500.5, 'at most 500 earlier occurrences are considered');
  assert.equal(since({ path: '/in/{HH}.csv' }), 500.5);
  assert.equal(since({ schedule: '0 6 * * *', path: '/in/{dd}.csv' }), 31 * 1440, 'a file may come a month late');
  assert.equal(since({ schedule: '0 6 1 1 *' }), 30 * 1440 + 360.5);
  assert.equal(since({ schedule: '0 6 1 12 *' }), 31 * 1440, 'the last due time is too long ago');
});
