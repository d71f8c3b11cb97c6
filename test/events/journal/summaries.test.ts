import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { journalEvents } from '../../../src/events/journal/event-search.ts';
import { FileEventLog } from '../../../src/events/journal/file-event-log.ts';
import { type EventSelection, eventGroups, eventTimeMs, isSelected } from '../../../src/events/journal/search/event-selection.ts';
import { countInParts } from '../../../src/events/journal/search/histogram.ts';
import { newestBlocks, SelectiveReader } from '../../../src/events/journal/search/selective-reader.ts';
import { Summariser, summarise } from '../../../src/events/journal/search/summariser.ts';
import { bloomFilter, hashKey, mayHold, summaryPath } from '../../../src/events/journal/search/summary.ts';
import { eventsSince, listSegments } from '../../../src/events/journal/segments.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog, silentLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/receiver.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { firstMs, groupAt, searchAll, summariseAll, writeJournal } from './searched-journal.ts';

const count = 6000;

/** Selections that match few events, each with a function that says whether the selection matches the event with an index. */
const rare: [Partial<EventSelection>, (index: number) => boolean][] = [
  [{ account: ['guest 2991'] }, (index) => index === 2991],
  [{ path: ['/in/17/file 1712.txt'] }, (index) => index === 1712],
  [{ path: ['/srv/files/in/17/'] }, (index) => Math.floor(index / 100) === 17 && index % 997 !== 0],
  [{ address: ['198.51.8.7'] }, (index) => index === 2007],
  [{ requestId: ['request-600', 'request-1500'] }, (index) => [600, 1500].includes(Math.floor(index / 2))],
  [{ id: [20142], address: ['198.51.3.247'] }, (index) => index === 997],
  [{ group: ['authentication'], until: firstMs + 900_000 }, (index) => index === 0],
  [{ userGroup: [groupAt(1000)], account: ['name 3'] }, (index) => groupAt(index) === groupAt(1000) && index % 50 === 3],
  [{ since: firstMs + 700_000, until: firstMs + 702_000 }, (index) => index === 700 || index === 701],
  [{ account: ['nobody'] }, () => false],
];

test('a Bloom filter finds all of its keys, and fewer than 2 % of other keys', () => {
  const keys = Array.from({ length: 1000 }, (_, index) => `key ${index}`);
  const filter = bloomFilter(new Set(keys));
  assert.ok(keys.every((key) => mayHold(filter, hashKey(key))));
  const wrong = Array.from({ length: 10_000 }, (_, index) => `other ${index}`).filter((key) => mayHold(filter, hashKey(key)));
  assert.ok(wrong.length < 200, `${wrong.length} of 10,000`);
  assert.equal(mayHold(bloomFilter(new Set()), hashKey('')), false);
});

test('with summaries, a search finds the same events, and for rare events it reads less than half of the bytes', async (t) => {
  const folder = temporaryFolder(t);
  const events = await writeJournal(folder, count);
  const expected = rare.map(([, isWanted]) => events.flatMap(({ uuid }, index) => (isWanted(index) ? [uuid] : [])));
  const without = await Promise.all(rare.map(([selection]) => searchAll(folder, selection)));
  await summariseAll(folder);
  for (const [index, [selection]] of rare.entries()) {
    const text = JSON.stringify(selection);
    const { uuids, readBytes } = await searchAll(folder, selection);
    assert.deepEqual(uuids, expected[index]?.toReversed(), text);
    assert.deepEqual(without[index]?.uuids, uuids, text);
    assert.ok(readBytes < (without[index]?.readBytes ?? 0) / 2, `${text}: ${readBytes} of ${without[index]?.readBytes} bytes`);
  }
  assert.equal((await searchAll(folder, {})).uuids.length, count);
});

test('counts over time are the same with and without summaries; where summaries suffice, less is read', async (t) => {
  const folder = temporaryFolder(t);
  const events = await writeJournal(folder, count);
  const [parts, since, until] = [3, firstMs + 100_500, firstMs + 5_800_000];
  const countBy = async (chosen: Partial<EventSelection>) => {
    const selection = { id: [], uuid: [], ...chosen, since, until };
    let readBytes = 0;
    const journal = {
      async *newestBlocks(...[wanted, before, suffices]: Parameters<typeof newestBlocks> extends [string, ...infer R] ? R : never) {
        for await (const block of newestBlocks(folder, wanted, before, suffices)) {
          readBytes += block.readBytes;
          yield block;
        }
      },
    };
    const limits = { bytes: 1e12, timeMs: 1e9 };
    const { counts, countedSinceMs } = await countInParts(journal, selection, parts, { limits, clock: systemClock });
    const wanted = events.filter((event) => isSelected(event, selection));
    const partOf = (event: (typeof events)[number]) => Math.floor(((eventTimeMs(event) - since) * parts) / (until - since));
    const expected = Array.from({ length: parts }, (_, part) => {
      const own = wanted.filter((event) => partOf(event) === part);
      return { events: own.length, failures: own.filter((event) => eventGroups(event).includes('failure')).length };
    });
    assert.deepEqual(counts, expected, JSON.stringify(chosen));
    assert.equal(countedSinceMs, since);
    return readBytes;
  };
  const selections = [{}, { id: [20142] }, { exceptId: [40017] }, { status: ['failure' as const] }, { account: ['name 3'] }];
  const before = await Promise.all(selections.map(countBy));
  await summariseAll(folder);
  const after = await Promise.all(selections.map(countBy));
  const share = after.map((bytes, index) => bytes / (before[index] ?? 0));
  assert.ok(
    share.slice(0, 4).every((part) => part < 0.75),
    share.join(),
  );
});

test('reading forwards skips unwanted events, reports malformed lines, and reaches the end', async (t) => {
  const folder = temporaryFolder(t);
  const events = await writeJournal(folder, count);
  const [first, second] = listSegments(folder);
  const read = async (selection: Partial<EventSelection>) => {
    let blocks = 0;
    const bad: string[] = [];
    const journal = {
      openReader(...[onBadLine, wanted]: [ConstructorParameters<typeof SelectiveReader>[2], EventSelection?]) {
        const reader = new SelectiveReader(folder, wanted as EventSelection, onBadLine);
        return {
          next(...args: Parameters<typeof reader.next>) {
            blocks++;
            return reader.next(...args);
          },
          close: () => reader.close(),
        };
      },
      since: (sinceMs: number | undefined) => eventsSince(folder, sinceMs),
    };
    const uuids: string[] = [];
    const all = journalEvents(journal, { id: [], uuid: [], ...selection }, (place) => bad.push(place));
    for await (const { event } of all) uuids.push(event.uuid);
    return { uuids, bad, blocks };
  };
  const [{ blocks: most }] = [await read({})];
  await summariseAll(folder);
  for (const [selection, isWanted] of rare) {
    const { uuids, bad, blocks } = await read(selection);
    assert.deepEqual(
      uuids,
      events.flatMap(({ uuid }, index) => (isWanted(index) ? [uuid] : [])),
      JSON.stringify(selection),
    );
    assert.deepEqual(bad, []);
    assert.ok(blocks < most / 2, `${JSON.stringify(selection)}: ${blocks} of ${most} blocks`);
  }
  assert.equal((await read({})).uuids.length, count);
  const path = second?.path ?? '';
  writeFileSync(path, readFileSync(path).fill('x', 0, 20));
  await summarise(second as NonNullable<typeof second>, async () => {});
  assert.deepEqual((await read({ account: ['nobody'] })).bad, [`${path}, byte 0`], 'a file with a bad line is read');
  assert.ok(existsSync(summaryPath(first?.path ?? '')));
});

test('a summary that is torn, of another version or of another file is ignored and rewritten', async (t) => {
  const folder = temporaryFolder(t);
  const events = await writeJournal(folder, count);
  await summariseAll(folder);
  const paths = listSegments(folder).map(({ path }) => summaryPath(path));
  const [first = '', second = '', third = ''] = paths;
  const whole = new Map(paths.slice(0, -1).map((path) => [path, readFileSync(path)]));
  const bytes = whole.get(second) as Buffer;
  const header = bytes.indexOf('{');
  const damages: [string, () => void][] = [
    ['empty', () => truncateSync(second, 0)],
    ['cut in its header', () => truncateSync(second, header + 100)],
    ['cut in its filters', () => truncateSync(second, bytes.length - 1)],
    ['zeros at its end, as after a power cut', () => writeFileSync(second, Buffer.from(bytes).fill(0, bytes.length - 4096))],
    ['zeros in its filters of accounts', () => writeFileSync(second, Buffer.from(bytes).fill(0, bytes.indexOf('\n', header) + 1))],
    ['one bit of its header', () => writeFileSync(second, flipped(bytes, header + 30))],
    ['another version', () => writeFileSync(second, bytes.toString('latin1').replace('svc-summary 2', 'svc-summary 9'), 'latin1')],
    ['no summary', () => writeFileSync(second, 'svc-summary 2 99999999999999999999 1\n{}')],
    ['of another file', () => copyFileSync(third, second)],
    [
      'of a file of the same size',
      () => writeFileSync(second, bytes.toString('latin1').replace(/"journal_crc32":\d/, '"journal_crc32":0'), 'latin1'),
    ],
  ];
  const clock = new ManualClock();
  for (const [what, damage] of damages) {
    damage();
    for (const [selection, isWanted] of rare)
      assert.deepEqual(
        (await searchAll(folder, selection)).uuids,
        events.flatMap(({ uuid }, index) => (isWanted(index) ? [uuid] : [])).toReversed(),
        `${what}: ${JSON.stringify(selection)}`,
      );
    const left = `${second}.0123456789ab.tmp`;
    writeFileSync(left, 'of a process that was killed');
    const summariser = new Summariser({ folder, clock, log: silentLog });
    assert.equal(existsSync(left), false);
    await until(`${what}: the summary is rewritten`, () => {
      clock.advance(60_000);
      return readFileSync(second).equals(bytes);
    });
    await summariser.close();
  }
  for (const [path, before] of whole) assert.ok(readFileSync(path).equals(before), path);
  assert.ok(existsSync(first) && !existsSync(paths.at(-1) ?? ''), 'the file that is being written has no summary');
});

test('the service writes summaries of ended files, and retention removes them with their files', async (t) => {
  const folder = temporaryFolder(t);
  await writeJournal(folder, count);
  const clock = new ManualClock();
  const options = { folder, maximumFileSizeBytes: 500_000, retentionDays: 30, clock, log: silentLog };
  const segments = listSegments(folder);
  for (const { path } of segments) utimesSync(path, firstMs / 1000, firstMs / 1000);
  const log = new FileEventLog({ ...options, hasSummaries: true });
  const summaries = () => readdirSync(folder).filter((name) => name.endsWith('.summary'));
  await until('all ended files have a summary', () => {
    clock.advance(60_000);
    return summaries().length === segments.length - 1;
  });
  assert.equal(statSync(join(folder, summaries()[0] ?? '')).mode & 0o777, 0o600);
  await log.close();
  utimesSync(segments[0]?.path ?? '', 0, 0);
  await new FileEventLog(options).close();
  assert.deepEqual(
    summaries(),
    segments.slice(1, -1).map(({ path }) => summaryPath(path).slice(folder.length + 1)),
  );
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

test('if the journal folder cannot be read, the fault is logged, and the process does not end', async (t) => {
  const folder = join(temporaryFolder(t), 'journal');
  await writeJournal(folder, 300);
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', clock, write: (line) => lines.push(line) });
  const summariser = new Summariser({ folder, clock, log });
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'no folder');
  clock.advance(10_000);
  await until('the fault is logged', () => lines.some((line) => line.includes('ENOTDIR')));
  await summariser.close();
});
