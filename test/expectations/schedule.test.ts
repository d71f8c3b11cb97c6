import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkSchedule, DueTimes, durationSeconds, pathOfDay } from '../../src/expectations/schedule.ts';
import { findInstant, wallClock, zonedTime } from '../../src/lib/time-zones.ts';

function dueTimes(
  schedule: { cron?: string; every?: string; from?: string; zone: string; holidays?: string[] },
  from: string,
  count: number,
): string[] {
  const { cron, every, zone, holidays = [] } = schedule;
  const everyMs = every === undefined ? undefined : (durationSeconds(every) as number) * 1000;
  const due = new DueTimes({ cron, everyMs, from: schedule.from ?? '00:00', timeZone: zone, holidays: new Set(holidays) });
  const found: string[] = [];
  for (let at = new Date(from).getTime(); found.length < count; ) {
    const next = due.after(at);
    if (next === undefined) break;
    found.push(zonedTime(next, zone));
    at = next;
  }
  return found;
}

test('daylight saving: a due time in a skipped hour moves to its end; one in a repeated hour occurs once', () => {
  const daily = (zone: string, cron: string, from: string) => dueTimes({ cron, zone }, from, 3);
  assert.deepEqual(daily('Europe/Berlin', '30 2 * * *', '2026-03-28T00:00:00Z'), [
    '2026-03-28T02:30:00+01:00',
    '2026-03-29T03:00:00+02:00',
    '2026-03-30T02:30:00+02:00',
  ]);
  assert.deepEqual(daily('Europe/Berlin', '30 2 * * *', '2026-10-24T00:00:00Z'), [
    '2026-10-24T02:30:00+02:00',
    '2026-10-25T02:30:00+02:00',
    '2026-10-26T02:30:00+01:00',
  ]);
  assert.deepEqual(daily('America/New_York', '30 2 * * *', '2026-03-07T05:00:00Z'), [
    '2026-03-07T02:30:00-05:00',
    '2026-03-08T03:00:00-04:00',
    '2026-03-09T02:30:00-04:00',
  ]);
  assert.deepEqual(daily('America/New_York', '30 1 * * *', '2026-10-31T04:00:00Z'), [
    '2026-10-31T01:30:00-04:00',
    '2026-11-01T01:30:00-04:00',
    '2026-11-02T01:30:00-05:00',
  ]);
  // Daylight saving of half an hour, on the southern hemisphere.
  assert.deepEqual(daily('Australia/Lord_Howe', '15 2 * * *', '2026-10-02T12:00:00Z'), [
    '2026-10-03T02:15:00+10:30',
    '2026-10-04T02:30:00+11:00',
    '2026-10-05T02:15:00+11:00',
  ]);
  assert.deepEqual(daily('Australia/Lord_Howe', '45 1 * * *', '2026-04-03T12:00:00Z'), [
    '2026-04-04T01:45:00+11:00',
    '2026-04-05T01:45:00+11:00',
    '2026-04-06T01:45:00+10:30',
  ]);
  assert.deepEqual(daily('Asia/Kolkata', '0 6 * * *', '2026-03-28T12:00:00Z'), [
    '2026-03-29T06:00:00+05:30',
    '2026-03-30T06:00:00+05:30',
    '2026-03-31T06:00:00+05:30',
  ]);
});

test('due times follow weekdays, holidays and local time; some schedules never fire; invalid ones are refused', () => {
  assert.deepEqual(dueTimes({ cron: '0 6 * * 1-5', zone: 'Europe/Berlin', holidays: ['2026-12-25'] }, '2026-12-24T12:00:00Z', 2), [
    '2026-12-28T06:00:00+01:00',
    '2026-12-29T06:00:00+01:00',
  ]);
  assert.deepEqual(dueTimes({ every: '1d', from: '06:00', zone: 'Europe/Berlin' }, '2026-03-28T06:00:00Z', 2), [
    '2026-03-29T06:00:00+02:00',
    '2026-03-30T06:00:00+02:00',
  ]);
  assert.deepEqual(dueTimes({ every: '6h', from: '01:00', zone: 'UTC' }, '2026-01-01T00:59:59Z', 3), [
    '2026-01-01T01:00:00Z',
    '2026-01-01T07:00:00Z',
    '2026-01-01T13:00:00Z',
  ]);
  assert.deepEqual(dueTimes({ cron: '0 0 30 2 *', zone: 'UTC' }, '2026-01-01T00:00:00Z', 1), []);
  const due = new DueTimes({ cron: '0 6 29 2 *', everyMs: undefined, from: '00:00', timeZone: 'UTC', holidays: new Set() });
  assert.equal(due.before(Date.UTC(2027, 0, 1)), Date.UTC(2024, 1, 29, 6));
  for (const bad of ['', '* * * *', '0 0 6 * * *', '61 * * * *', '@daily', 'x']) assert.ok(checkSchedule(bad), bad);
  for (const good of ['0 6 * * 1-5', '*/15 8-17 * * MON-FRI', '0 0 1,15 * *']) assert.equal(checkSchedule(good), undefined, good);
});

test('the local time of any instant leads back to the first instant that has it, and due times increase', () => {
  const zones = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC');
  const instants = fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2035, 0) });
  fc.assert(
    fc.property(zones, instants, (zone, at) => {
      const found = findInstant(wallClock(at, zone), zone);
      // In a repeated hour, the first instant has the same local time.
      assert.equal(wallClock(found, zone), wallClock(at, zone));
      assert.ok(found <= at);
      const due = new DueTimes({ cron: '30 2 * * *', everyMs: undefined, from: '', timeZone: zone, holidays: new Set() });
      const next = due.after(at) as number;
      assert.ok(next > at);
      assert.equal(due.before(next + 1), next);
    }),
    { numRuns: 200 },
  );
});

test('the parts of a date in a path are replaced; durations are read or refused', () => {
  const wall = new Date('2026-03-09T06:05:00Z');
  assert.equal(pathOfDay('/in/{yyyy}/{yy}{MM}{dd}-{HH}{mm}-*.csv', wall), '/in/2026/260309-06{mm}-*.csv');
  assert.deepEqual(['30', 45, '10m', '8h', '3d', '1.5h'].map(durationSeconds), [30, 45, 600, 28_800, 259_200, 5400]);
  for (const bad of ['', 'x', '-1', '1y', '1h30m']) assert.equal(durationSeconds(bad), undefined);
});
