import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { FileEventLog } from '../../../src/events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../../src/events/journal/position.ts';
import { searchPage } from '../../../src/events/journal/search/search.ts';
import { newestBlocks } from '../../../src/events/journal/search/selective-reader.ts';
import { listSegments } from '../../../src/events/journal/segments.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { longestLineBytes } from '../../../src/lib/disk/lines-backwards.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { journalEventAt, searchAll, searchSlowly, summariseAll, writeJournal } from './searched-journal.ts';

const everything = { id: [], uuid: [] };

function journalIn(folder: string) {
  return { newestBlocks: (...[wanted, before]: [typeof everything, LogPosition?]) => newestBlocks(folder, wanted, before) };
}

test('a search ends at its limits of bytes and time, and the next page continues there', async (t) => {
  const folder = temporaryFolder(t);
  const events = await writeJournal(folder, 3000);
  for (const limits of [
    { bytes: 1, timeMs: 1e9 },
    { bytes: 1e12, timeMs: 0 },
  ]) {
    const found: string[] = [];
    let pages = 0;
    for (let before: LogPosition | undefined; ; pages++) {
      const page = await searchPage(journalIn(folder), everything, {
        before,
        limits: { ...limits, events: 1e6 },
        clock: new ManualClock(),
      });
      found.push(...page.events.map(({ event }) => event.uuid));
      assert.equal(page.isComplete, page.next === undefined);
      if (before && page.next) assert.ok(comparePositions(page.next, before) < 0, 'each page continues further');
      before = page.next;
      if (!before) break;
    }
    assert.ok(pages > 3, `${pages} pages`);
    assert.deepEqual(found, events.map(({ uuid }) => uuid).toReversed());
  }
});

test('a search from a cursor at any position returns the whole events before this position', async (t) => {
  const folder = temporaryFolder(t);
  await writeJournal(folder, 300, 60_000);
  await summariseAll(folder);
  const all = (await searchPage(journalIn(folder), everything, { limits: { events: 1000, bytes: 1e9, timeMs: 1e9 }, clock: systemClock }))
    .events;
  const anywhere = fc.record({ segment: fc.nat(8), offset: fc.nat(70_000) });
  await fc.assert(
    fc.asyncProperty(anywhere, async (before) => {
      const page = await searchPage(journalIn(folder), everything, {
        before,
        limits: { events: 1000, bytes: 1e9, timeMs: 1e9 },
        clock: systemClock,
      });
      // A line that the cursor cuts is omitted.
      const expected = all.filter(
        ({ position, raw }) => comparePositions({ segment: position.segment, offset: position.offset + raw.length }, before) < 0,
      );
      assert.deepEqual(
        page.events.map(({ position }) => position),
        expected.map(({ position }) => position),
      );
    }),
    { numRuns: 60 },
  );
});

test('during a search, files of the journal can be removed, cut off or added', async (t) => {
  for (const hasSummaries of [false, true]) {
    const folder = temporaryFolder(t);
    const events = await writeJournal(folder, 3000, 150_000);
    if (hasSummaries) await summariseAll(folder);
    const segments = listSegments(folder);
    const search = searchSlowly(folder);
    const found = [(await search.next()).value?.event.uuid];
    const removed = segments.at(-3);
    const torn = segments.at(-4);
    rmSync(removed?.path ?? '');
    truncateSync(torn?.path ?? '', 1000);
    const log = new FileEventLog({ folder, maximumFileSizeBytes: 500_000, retentionDays: 36_500, clock: systemClock, log: silentLog });
    for (let index = 0; index < 2000; index++) log.append(journalEventAt(index));
    for await (const { event } of search) found.push(event.uuid);
    await log.close();
    const expected = events.map(({ uuid }) => uuid).toReversed();
    const left = expected.filter((uuid) => found.includes(uuid));
    assert.deepEqual(found, left, 'events are in order and not repeated, and events that were appended meanwhile are left out');
    assert.ok(found.length < events.length && found.length > events.length / 2, `${found.length} of ${events.length}`);
    assert.ok(found.includes(events[0]?.uuid ?? '') && found.includes(events.at(-1)?.uuid ?? ''));
  }
});

test('a search finds events of any length, and skips torn lines and lines that are not events', async (t) => {
  const folder = temporaryFolder(t);
  const [first, second] = await writeJournal(folder, 2);
  const { path } = listSegments(folder)[0] as { path: string };
  const long = { ...journalEventAt(3), data: { text: 'y'.repeat(3_000_000) } };
  const last = journalEventAt(4);
  appendFileSync(path, `${JSON.stringify(long)}\n\n{"id":"1"}\n${'z'.repeat(longestLineBytes + 1000)}\n${JSON.stringify(last)}\n`);
  appendFileSync(path, JSON.stringify(journalEventAt(5)));
  const uuids = [last, long, second, first].map((event) => event?.uuid);
  assert.deepEqual((await searchAll(folder, {})).uuids, uuids, 'a line without an end is incomplete');
  writeFileSync(path.replace('00000001', '00000002'), '');
  await summariseAll(folder);
  assert.deepEqual((await searchAll(folder, {})).uuids, uuids);
  assert.deepEqual((await searchAll(folder, { text: 'yyyy' })).uuids, [long.uuid]);
  assert.ok(readFileSync(path.replace('.ndjson', '.summary')).length > 0);
});

test('a search ends when its signal is aborted', async (t) => {
  const folder = temporaryFolder(t);
  await writeJournal(folder, 3000);
  const abort = new AbortController();
  let blocks = 0;
  const journal = {
    async *newestBlocks(selection: typeof everything) {
      for await (const block of newestBlocks(folder, selection)) {
        if (++blocks === 2) abort.abort(new Error('gone'));
        yield block;
      }
    },
  };
  const limits = { events: 1e6, bytes: 1e9, timeMs: 1e9 };
  await assert.rejects(searchPage(journal, everything, { limits, clock: systemClock, signal: abort.signal }), /gone/);
  assert.equal(blocks, 2);
});

test('hostile names are found as they are', async (t) => {
  const folder = temporaryFolder(t);
  const log = new FileEventLog({ folder, maximumFileSizeBytes: 1e6, retentionDays: 36_500, clock: systemClock, log: silentLog });
  const names = [
    '<img src=x onerror=alert(1)>',
    '\u001b[31mred',
    'two\nlines\r',
    'a, b',
    '"},{"id":"1"',
    '\u202egnp.exe',
    '.*',
    '\\',
    'ü🙂',
  ];
  const events = names.map((name, index) => {
    const event = journalEventAt(index + 1);
    return { ...event, account: { ...event.account, name }, data: { path: `/in/${name}` } };
  });
  for (const event of events) log.append(event);
  await log.close();
  for (const [index, name] of names.entries()) {
    const uuids = [events[index]?.uuid];
    assert.deepEqual((await searchAll(folder, { account: [name] })).uuids, uuids, name);
    assert.deepEqual((await searchAll(folder, { path: [`/in/${name}`] })).uuids, uuids, name);
    assert.deepEqual((await searchAll(folder, { text: name })).uuids, uuids, name);
  }
});
