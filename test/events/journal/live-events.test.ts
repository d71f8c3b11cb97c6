import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RawEvent } from '../../../src/events/journal/event-log.ts';
import { FileEventLog } from '../../../src/events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../../src/events/journal/position.ts';
import { KeptEvents, type LiveBatch, LiveEvents } from '../../../src/events/journal/search/live-events.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { until } from '../../support/receiver.ts';
import { watchOutput } from '../../support/secret-watch.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { journalEventAt } from './searched-journal.ts';

const everything = { id: [], uuid: [] };
const uuidOf = ({ raw }: RawEvent) => JSON.parse(raw.toString('utf8')).uuid as string;

/** A journal that counts its readers. */
function openJournal(t: TestContext) {
  const folder = temporaryFolder(t);
  const log = new FileEventLog({ folder, maximumFileSizeBytes: 200_000, retentionDays: 36_500, clock: systemClock, log: silentLog });
  watchOutput(t, () => log.close(), []);
  const counts = { readers: 0, reads: 0 };
  const faults: Error[] = [];
  const journal = {
    get end() {
      return log.end;
    },
    waitForMore: (...args: Parameters<FileEventLog['waitForMore']>) => log.waitForMore(...args),
    openReader: (...args: Parameters<FileEventLog['openReader']>) => log.openReader(...args),
    openRawReader() {
      const reader = log.openRawReader();
      counts.readers++;
      return {
        next(from: LogPosition) {
          counts.reads++;
          const fault = faults.shift();
          return fault ? Promise.reject(fault) : reader.next(from);
        },
        close: () => reader.close(),
      };
    },
  };
  return { log, folder, counts, faults, live: new LiveEvents(journal, systemClock) };
}

/** Follows until this number of events has arrived, or a lag is reported. */
async function follow(
  batches: AsyncGenerator<LiveBatch>,
  count: number,
): Promise<{ uuids: string[]; lag: LiveBatch['lag']; next: LogPosition }> {
  const uuids: string[] = [];
  for (;;) {
    const { value } = await batches.next();
    const batch = value as LiveBatch;
    uuids.push(...batch.events.map(uuidOf));
    if (batch.lag || uuids.length >= count) {
      await batches.return(undefined);
      return { uuids, lag: batch.lag, next: batch.next };
    }
  }
}

test('a thousand followers share one reader, and each gets the events that it selected', async (t) => {
  const { log, counts, live } = openJournal(t);
  const all = Array.from({ length: 1000 }, (_, index) =>
    follow(
      live.follow({ ...everything, ...(index % 2 === 1 && { account: ['name 3'] }) }, undefined, new AbortController().signal),
      index % 2 === 1 ? 1 : 5,
    ),
  );
  await until('all followers have started', () => live.followers === 1000);
  const events = [1, 2, 3, 4, 5].map(journalEventAt);
  for (const event of events) log.append(event);
  const heard = await Promise.all(all);
  const uuids = events.map(({ uuid }) => uuid);
  assert.deepEqual(heard[0], { ...heard[0], uuids, lag: undefined });
  assert.deepEqual(heard[1]?.uuids, [uuids[2]]);
  assert.ok(heard.every(({ uuids: own }, index) => own.length === (index % 2 === 1 ? 1 : 5)));
  assert.equal(counts.readers, 1);
  assert.ok(counts.reads < 20, `${counts.reads} reads`);
  assert.equal(live.followers, 0);
});

test('a returning follower gets the events of its absence, once and in order; a wrong position does no harm', async (t) => {
  const { log, live } = openJournal(t);
  const signal = new AbortController().signal;
  const events = Array.from({ length: 1200 }, (_, index) => journalEventAt(index));
  const uuids = events.map(({ uuid }) => uuid);
  const first = follow(live.follow(everything, undefined, signal), 1);
  await until('the follower has started', () => live.followers === 1);
  log.append(events[0] as (typeof events)[0]);
  const { next } = await first;
  for (const event of events.slice(1, 1000)) log.append(event);
  const other = follow(live.follow(everything, undefined, signal), 200);
  await until('another follower has started', () => live.followers === 1);
  const back = follow(live.follow(everything, next, signal), 1199);
  for (const event of events.slice(1000)) log.append(event);
  assert.deepEqual((await back).uuids, uuids.slice(1));
  assert.deepEqual((await other).uuids, uuids.slice(1000));
  const beyond = follow(live.follow(everything, { segment: 999_999, offset: 7 }, signal), 1);
  await until('the follower has returned', () => live.followers === 1);
  const more = journalEventAt(1);
  log.append(more);
  assert.deepEqual((await beyond).uuids, [more.uuid]);
  const inside = await follow(live.follow(everything, { segment: next.segment, offset: next.offset - 5 }, signal), 1);
  assert.notEqual(inside.lag, undefined, 'half an event is reported as skipped');
});

test('a slow follower is told the number of skipped events, and memory stays small', async (t) => {
  const { log, live } = openJournal(t);
  const batches = live.follow(everything, undefined, new AbortController().signal);
  const first = batches.next();
  await until('the follower has started', () => live.followers === 1);
  log.append(journalEventAt(0));
  assert.equal(((await first).value as LiveBatch).events.length, 1);
  const events = Array.from({ length: 5000 }, (_, index) => journalEventAt(index));
  for (const event of events) log.append(event);
  await until('the reader has come to the end', () => comparePositions(live.end, log.end) === 0);
  const { value } = await batches.next();
  const { lag, events: heard } = value as LiveBatch;
  const index = events.findIndex(({ uuid }) => heard[0] !== undefined && uuid === uuidOf(heard[0]));
  assert.equal(lag?.skipped, index);
  assert.ok(index >= 5000 - 2 * 1024, `${index}`);
  await batches.return(undefined);
});

test('a follower ends if events are removed before it read them; when it returns, the gap is reported', async (t) => {
  const { log, live, folder } = openJournal(t);
  const batches = live.follow(everything, undefined, new AbortController().signal);
  const first = batches.next();
  await until('the follower has started', () => live.followers === 1);
  log.append(journalEventAt(0));
  const { next } = (await first).value as LiveBatch;
  for (let index = 0; index < 2000; index++) log.append(journalEventAt(index));
  await until('the reader has come to the end', () => comparePositions(live.end, log.end) === 0);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ndjson'));
  for (const name of files.sort().slice(0, -1)) rmSync(join(folder, name));
  await assert.rejects(batches.next(), { code: 'unavailable' });
  assert.equal(live.followers, 0);
  const back = live.follow(everything, next, new AbortController().signal);
  const { events, lag } = (await back.next()).value as LiveBatch;
  assert.ok(events.length > 0 && events.length < 1000, `${events.length} events of the last file`);
  assert.notEqual(lag, undefined);
  await back.return(undefined);
});

test('an unreadable journal ends its followers; new followers get new events, even if an earlier one has not ended yet', async (t) => {
  const { log, live, faults } = openJournal(t);
  const signal = new AbortController().signal;
  const [early, slow] = [live.follow(everything, undefined, signal), live.follow(everything, undefined, signal)];
  const heard = [early.next(), slow.next()];
  log.append(journalEventAt(0));
  await Promise.all(heard);
  faults.push(new Error('no such disk'));
  const ends = assert.rejects(early.next(), /no such disk/);
  log.append(journalEventAt(1));
  await ends;
  assert.equal(live.followers, 1);
  const late = live.follow(everything, undefined, signal);
  const hears = late.next();
  await until('the late follower has started', () => live.followers === 2);
  const event = journalEventAt(2);
  log.append(event);
  assert.deepEqual(((await hears).value as LiveBatch).events.map(uuidOf), [event.uuid]);
  await assert.rejects(slow.next(), /no such disk/);
  await late.return(undefined);
  assert.equal(live.followers, 0);
});

test('many returning followers that read nothing do not prevent others from returning', async (t) => {
  const { log, live } = openJournal(t);
  const signal = new AbortController().signal;
  const first = live.follow(everything, undefined, signal);
  const hears = first.next();
  log.append(journalEventAt(0));
  const { next } = (await hears).value as LiveBatch;
  await first.return(undefined);
  for (let index = 1; index < 1000; index++) log.append(journalEventAt(index));
  const deaf = Array.from({ length: 10 }, () => live.follow(everything, next, signal));
  await Promise.all(deaf.map((batches) => batches.next()));
  const back = await follow(live.follow(everything, next, signal), 999);
  assert.equal(back.uuids.length, 999);
  for (const batches of deaf) await batches.return(undefined);
});

test('after a failed read, a block is read again when it is requested again', async () => {
  const kept = new KeptEvents();
  const [position, next] = [0, 4].map((offset) => ({ segment: 1, offset })) as [LogPosition, LogPosition];
  let asked = 0;
  const events = async () => {
    if (asked++ === 0) throw new Error('too many open files');
    return [{ raw: Buffer.from('{}'), position, next }];
  };
  kept.add({ count: 1, bytes: 4, position, next, isOwn: true, events });
  await assert.rejects(kept.from(0).next(), /too many/);
  assert.equal((await kept.from(0).next()).value?.length, 1);
  await kept.from(0).next();
  assert.equal(asked, 2);
});
