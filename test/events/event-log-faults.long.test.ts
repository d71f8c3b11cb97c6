import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileEventLog, type FileEventLogOptions } from '../../src/events/journal/file-event-log.ts';
import { eventProblem } from '../../src/events/journal/reader.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { createLog } from '../../src/lib/log.ts';
import { eventLogContract, readAll, testEvent } from '../contracts/event-log.ts';
import { readEvents } from '../support/journal.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Journal {
  log: FileEventLog;
  folder: string;
  clock: ManualClock;
  lines: string[];
}

function open(t: TestContext, options: Partial<FileEventLogOptions> = {}): Journal {
  const folder = options.folder ?? temporaryFolder(t);
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', clock, write: (line) => lines.push(line) });
  return { folder, clock, lines, log: new FileEventLog({ folder, maximumFileSizeBytes: 1e9, retentionDays: 30, clock, log, ...options }) };
}

function segments(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('events-'));
}

eventLogContract('journal in one file', async (t) => open(t).log);
eventLogContract('journal in many files', async (t) => open(t, { maximumFileSizeBytes: 1200 }).log);

test('if a new file cannot be created, the current one stays in use, and a later attempt succeeds', async (t) => {
  const { log, folder, clock, lines } = open(t, { maximumFileSizeBytes: 1000 });
  log.append(testEvent());
  const inTheWay = join(folder, 'events-00000002.ndjson');
  mkdirSync(inTheWay);
  for (let index = 0; index < 5; index++) assert.ok(log.append(testEvent()), 'an event is lost');
  await log.appendDurable(testEvent());
  assert.equal(lines.filter((line) => line.includes('could not be created')).length, 1, 'a new file is tried only once a second');
  rmdirSync(inTheWay);
  clock.advance(1000);
  await log.appendDurable(testEvent());
  assert.deepEqual(log.end.segment, 2);
  assert.equal((await readAll(log)).length, 8);
  await log.close();
});

test('an empty file that an earlier attempt left behind is used', async (t) => {
  const { log, folder } = open(t, { maximumFileSizeBytes: 1000 });
  log.append(testEvent());
  writeFileSync(join(folder, 'events-00000002.ndjson'), '');
  for (let index = 0; index < 5; index++) assert.ok(log.append(testEvent()));
  assert.equal((await readAll(log)).length, 6);
  await log.close();
});

test('after the sync of a file failed, appends to this file are not acknowledged; the journal continues in a new file', async (t) => {
  let fails = true;
  const { log, folder, clock } = open(t, {
    sync: () => (fails ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : Promise.resolve()),
  });
  await assert.rejects(log.appendDurable(testEvent('1')), (error) => isServiceError(error, 'internal'));
  await assert.rejects(log.appendDurable(testEvent('2')));
  assert.throws(
    () => log.assertWritable(),
    (error) => isServiceError(error, 'internal'),
    'no change is begun',
  );
  assert.equal(segments(folder).length, 2, 'a disk that fails every sync is not filled with files');
  fails = false;
  clock.advance(1000);
  log.assertWritable();
  await log.appendDurable(testEvent('3'));
  assert.equal(log.end.segment, 3);
  assert.deepEqual(
    (await readAll(log)).map(({ event }) => event.data.text),
    ['1', '2', '3'],
  );
  await log.close();
});

test('after the removal of its file, the journal acknowledges nothing until it has a new file', async (t) => {
  const { log, folder, lines } = open(t, { folder: join(temporaryFolder(t), 'journal') });
  await log.appendDurable(testEvent('1'));
  rmSync(folder, { recursive: true });
  await assert.rejects(log.appendDurable(testEvent('2')), (error) => isServiceError(error, 'internal'));
  assert.ok(lines.some((line) => line.includes('events-00000001.ndjson was removed')));
  log.assertWritable();
  await log.appendDurable(testEvent('3'));
  assert.deepEqual(segments(folder), ['events-00000002.ndjson']);
  assert.deepEqual(
    (await readAll(log)).map(({ event }) => event.data.text),
    ['3'],
  );
  await log.close();
});

test('during a rotation, an append is answered only after the sync of the file with its event', async (t) => {
  const syncs = new Map<number, () => void>();
  const { log } = open(t, {
    maximumFileSizeBytes: 500,
    sync: (fd) => new Promise((resolve) => syncs.set(fd, resolve)),
  });
  const done: string[] = [];
  const first = log.appendDurable(testEvent()).then(() => done.push('first'));
  const second = log.appendDurable(testEvent()).then(() => done.push('second'));
  assert.equal(log.end.segment, 2);
  const [firstSync, secondSync] = [...syncs.values()];
  secondSync?.();
  await second;
  assert.deepEqual(done, ['second']);
  firstSync?.();
  await first;
  syncs.forEach((resolve) => {
    resolve();
  });
  const closing = log.close();
  for (let turn = 0; turn < 10; turn++) {
    syncs.forEach((resolve) => {
      resolve();
    });
    await new Promise(setImmediate);
  }
  await closing;
});

test('a full disk: events of reads leave room for those of changes, and lost events are counted', async (t) => {
  let isFull = false;
  let roomBytes = 0;
  const { log, folder, clock, lines } = open(t, {
    write: (fd, bytes) => {
      if (isFull && bytes.length > roomBytes) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      roomBytes -= bytes.length;
      return writeSync(fd, bytes);
    },
  });
  isFull = true;
  const reserve = join(folder, 'reserve');
  const reserveBytes = statSync(reserve).size;
  // The simulated disk has as much room as the reserve file released.
  const given = () => statSync(reserve).size === 0;
  let written = 0;
  for (let index = 0; index < 3000; index++) {
    const wasGiven = given();
    if (log.append(testEvent('x'.repeat(500)))) written++;
    if (!wasGiven && given()) roomBytes = reserveBytes;
  }
  assert.ok(written > 300 && written < 1500, `${written} events of reads`);
  for (let index = 0; index < 100; index++) await log.appendDurable(testEvent('change'));
  assert.throws(
    () => log.assertWritable(),
    (error) => isServiceError(error, 'storage-full'),
  );
  const lost = lines.filter((line) => line.includes('could not be journalled'));
  assert.equal(lost.length, 1, 'many lost events cause one log line');
  isFull = false;
  clock.advance(1000);
  assert.ok(log.append(testEvent()), 'the reserve is filled again, although no change was begun');
  log.assertWritable();
  await log.close();
  assert.equal(JSON.parse(lines.at(-1) ?? '{}').lost, 3000 - written);
});

test('retention keeps files that a handler still needs, up to the limit, and removes files every hour', async (t) => {
  const folder = temporaryFolder(t);
  let needed: number | undefined = 2;
  const line = `${JSON.stringify(testEvent('x'.repeat(1000)))}\n`;
  for (let number = 1; number <= 6; number++) writeFileSync(join(folder, `events-0000000${number}.ndjson`), line);
  const old = new Date(1_700_000_000_000 - 31 * 86_400_000);
  for (const name of segments(folder)) utimesSync(join(folder, name), old, old);
  const { log, clock, lines } = open(t, {
    folder,
    neededFrom: () => (needed === undefined ? undefined : { segment: needed, offset: 0 }),
    neededLimitBytes: 3 * line.length,
  });
  const numbers = () => segments(folder).map((name) => Number(name.slice(7, 15)));
  assert.deepEqual(numbers(), [3, 4, 5, 6], 'above the limit, the oldest needed events are removed');
  assert.equal(lines.filter((text) => text.includes('undelivered')).length, 1);
  needed = 5;
  clock.advance(3_600_000);
  assert.deepEqual(numbers(), [5, 6]);
  needed = undefined;
  clock.advance(3_600_000);
  assert.deepEqual(numbers(), [6], 'the file that is being written stays');
  await log.close();
});

test('an endless line is skipped in bounded memory, and the next event is found', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'events-00000001.ndjson');
  const block = Buffer.alloc(1024 * 1024, 'x');
  for (let index = 0; index < 64; index++) appendFileSync(path, block);
  const event = testEvent();
  appendFileSync(path, `\n${JSON.stringify(event)}\n`);
  const bad: number[] = [];
  const uuids: string[] = [];
  const before = process.memoryUsage().rss;
  for await (const item of readEvents(folder, undefined, ({ offset }) => bad.push(offset))) uuids.push(item.event.uuid);
  assert.deepEqual([uuids, bad], [[event.uuid], [0]]);
  const grownMib = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grownMib < 60, `${grownMib.toFixed(0)} MiB`);
});

test('invalid bytes and a half line at the end are not events', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'events-00000001.ndjson');
  const whole = JSON.stringify(testEvent());
  writeFileSync(path, Buffer.concat([Buffer.from(`${whole}\n{"id":"1","uuid":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]));
  appendFileSync(path, whole.slice(0, 50));
  const reasons: string[] = [];
  let count = 0;
  for await (const _ of readEvents(folder, undefined, ({ reason }) => reasons.push(reason))) count++;
  assert.deepEqual([count, reasons], [1, ['not valid UTF-8']]);
});

test('the torn end of an earlier file is repaired', async (t) => {
  const folder = temporaryFolder(t);
  const whole = JSON.stringify(testEvent());
  writeFileSync(join(folder, 'events-00000001.ndjson'), `${whole}\n${whole}`);
  writeFileSync(join(folder, 'events-00000002.ndjson'), `${whole}\n${whole.slice(0, 20)}`);
  const { log } = open(t, { folder });
  assert.equal((await readAll(log)).length, 3);
  await log.close();
});

test('a new file without a line does not keep a reader busy: the reader moves on and waits', async (t) => {
  let fails = false;
  const { log, clock } = open(t, {
    sync: () => (fails ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : Promise.resolve()),
  });
  const reader = log.openReader(() => assert.fail('bad line'));
  await log.appendDurable(testEvent('1'));
  const first = await reader.next({ segment: 1, offset: 0 });
  fails = true;
  await assert.rejects(log.appendDurable(testEvent('2')));
  const second = await reader.next(first.next);
  assert.equal(second.events.length, 1);
  fails = false;
  clock.advance(1000);
  log.assertWritable();
  assert.deepEqual(log.end, { segment: 2, offset: 0 });
  await log.waitForMore(second.next);
  const third = await reader.next(second.next);
  assert.deepEqual(third, { events: [], next: log.end });
  const waiting = log.waitForMore(third.next).then(() => 'woken');
  assert.equal(await Promise.race([waiting, new Promise((resolve) => setTimeout(() => resolve('waits'), 20))]), 'waits');
  await log.appendDurable(testEvent('3'));
  assert.equal(await waiting, 'woken');
  assert.equal((await reader.next(third.next)).events.length, 1);
  reader.close();
  await log.close();
});

test('lines with missing members or invalid times are not events', () => {
  const event = testEvent();
  assert.equal(eventProblem(event), undefined);
  for (const [changed, message] of [
    [{ timestamp: { timestamp: 'x' } }, /Unix time/],
    [{ timestamp: { timestamp: '99999999999999' } }, /Unix time/],
    [{ timestamp: { timestamp: '-1' } }, /Unix time/],
    [{ data: [] }, /"data"/],
    [{ account: { uuid: 'a', name: 'a' } }, /"account.peer"/],
    [{ component: null }, /"component"/],
    [{ id: 40017 }, /"id"/],
  ] as const)
    assert.match(eventProblem({ ...event, ...changed }) ?? '', message);
  assert.match(eventProblem([]) ?? '', /not an event/);
});
