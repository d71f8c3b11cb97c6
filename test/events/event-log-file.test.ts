import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ServiceEvent } from '../../src/events/event.ts';
import { createEvent, processAccount } from '../../src/events/event-factory.ts';
import { FileEventLog, type FileEventLogOptions } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import { readEvents } from '../support/journal.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { smallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temp.ts';

const server = { uuid: 'server', type: 'server', name: 'test' };

function event(text = ''): ServiceEvent {
  const context = { account: processAccount(), component: server };
  return createEvent({ id: 20011, context, data: { text } }, server, 1_700_000_000_123.456);
}

function open(folder: string, options: Partial<FileEventLogOptions> = {}): FileEventLog {
  return new FileEventLog({ folder, maximumFileSizeBytes: 1e9, retentionDays: 30, clock: systemClock, log: silentLog, ...options });
}

async function read(folder: string): Promise<{ uuids: string[]; bad: number }> {
  const uuids: string[] = [];
  let bad = 0;
  for await (const item of readEvents(folder, undefined, () => bad++)) uuids.push(item.event.uuid);
  return { uuids, bad };
}

const first = 'events-00000001.ndjson';

test('events are read in order, one JSON object per line, exactly as they were appended', async (t) => {
  const folder = temporaryFolder(t);
  const log = open(folder);
  const events = [event('a'), event('line\nbreak'), event('\ud800 lone'), event('ü')];
  for (const item of events) log.append(item);
  assert.deepEqual(
    (await read(folder)).uuids,
    events.map((item) => item.uuid),
    'events can be read before any sync',
  );
  await log.close();
  const lines = readFileSync(join(folder, first), 'utf8').trimEnd().split('\n');
  assert.deepEqual(
    lines,
    events.map((item) => JSON.stringify(item)),
  );
  assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? '')), [
    'id',
    'uuid',
    'message',
    'timestamp',
    'data',
    'account',
    'component',
    'server',
  ]);
  assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? '').timestamp), ['timestamp', 'cwa_14051']);
});

test('a flush immediately writes events that would otherwise wait until the turn of the event loop ends', async (t) => {
  const folder = temporaryFolder(t);
  const log = open(folder);
  const events = [event('a'), event('b')];
  for (const item of events) log.appendGrouped(item);
  log.flushNow();
  assert.equal(readFileSync(join(folder, first), 'utf8'), events.map((item) => `${JSON.stringify(item)}\n`).join(''));
  await log.close();
});

test('concurrent durable appends share syncs, and none resolves before its sync', async (t) => {
  let syncs = 0;
  let release: (() => void) | undefined;
  const log = open(temporaryFolder(t), {
    sync: () => {
      syncs++;
      return new Promise((resolve) => {
        release = resolve;
      });
    },
  });
  let done = 0;
  const all = Array.from({ length: 50 }, () => log.appendDurable(event()).then(() => done++));
  await new Promise(setImmediate);
  assert.deepEqual([syncs, done], [1, 0]);
  release?.();
  await new Promise(setImmediate);
  assert.deepEqual([syncs, done], [2, 1], 'the other 49 share the next sync');
  release?.();
  await Promise.all(all);
  assert.equal(syncs, 2);
});

test('a failed sync is not answered as a success', async (t) => {
  const log = open(temporaryFolder(t), { sync: () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) });
  await assert.rejects(log.appendDurable(event()), (error) => error instanceof ServiceError && error.code === 'internal');
});

test('files are rotated by size and removed by age, and a reader continues from file to file', async (t) => {
  const folder = temporaryFolder(t);
  const log = open(folder, { maximumFileSizeBytes: 2000 });
  const uuids: string[] = [];
  for (let index = 0; index < 20; index++) {
    const item = event(String(index));
    uuids.push(item.uuid);
    if (index % 3 === 0) await log.appendDurable(item);
    else log.append(item);
  }
  await log.close();
  const segments = readdirSync(folder).filter((name) => name.startsWith('events-'));
  assert.ok(segments.length >= 5, `${segments.length} segments`);
  for (const name of segments) assert.ok(statSync(join(folder, name)).size <= 2000);
  assert.deepEqual((await read(folder)).uuids, uuids);

  const old = new Date(Date.now() - 40 * 86_400_000);
  for (const name of segments.slice(0, 3)) utimesSync(join(folder, name), old, old);
  await open(folder).close();
  assert.equal(readdirSync(folder).filter((name) => name.startsWith('events-')).length, segments.length - 3);
});

test('the end of the journal is repaired at start', async (t) => {
  const cases: [string, string, number][] = [
    ['torn in the middle', JSON.stringify(event()).slice(0, 40), 1],
    ['torn by zeros', '\0'.repeat(100), 1],
    ['whole without its newline', JSON.stringify(event()), 2],
    ['whole', `${JSON.stringify(event())}\n`, 2],
    ['empty', '', 1],
  ];
  for (const [name, tail, count] of cases) {
    const folder = temporaryFolder(t);
    const kept = event('kept');
    writeFileSync(join(folder, first), `${JSON.stringify(kept)}\n${tail}`);
    const log = open(folder);
    const next = event('next');
    log.append(next);
    await log.close();
    const { uuids, bad } = await read(folder);
    assert.deepEqual([uuids.length, uuids[0], uuids.at(-1), bad], [count + 1, kept.uuid, next.uuid, 0], name);
  }
});

test('a malformed line in the middle is skipped and reported', async (t) => {
  const folder = temporaryFolder(t);
  const lines = [JSON.stringify(event()), '{"half":', '[]', JSON.stringify(event())];
  writeFileSync(join(folder, first), `${lines.join('\n')}\n`);
  const { uuids, bad } = await read(folder);
  assert.deepEqual([uuids.length, bad], [2, 2]);
});

test('random damage at the end never loses a whole line before it', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 0, max: 3000 }),
      fc.uint8Array({ maxLength: 40 }),
      async (count, cut, garbage) => {
        const folder = temporaryFolder(t);
        const path = join(folder, first);
        const lines = Array.from({ length: count }, (_, index) => `${JSON.stringify(event(String(index)))}\n`);
        writeFileSync(path, lines.join(''));
        const size = Math.max(0, Buffer.byteLength(lines.join('')) - cut);
        truncateSync(path, size);
        appendFileSync(path, garbage);
        await open(folder).close();
        let whole = 0;
        for (let end = 0; whole < count; whole++) {
          end += Buffer.byteLength(lines[whole] ?? '');
          if (end > size) break;
        }
        const { uuids } = await read(folder);
        assert.ok(uuids.length >= whole, `${uuids.length} of ${whole}`);
      },
    ),
    { numRuns: 60, seed: 7 },
  );
});

test('on a full disk, completed changes are still recorded and further changes are refused; the journal recovers', async (t) => {
  const disk = smallDisk(t, 3000);
  if (!disk) return;
  const clock = new ManualClock();
  const log = open(join(disk, 'journal'), { clock });
  log.assertWritable();
  log.append(event());
  const filler = join(disk, 'filler');
  writeFileSync(filler, '');
  try {
    for (;;) appendFileSync(filler, Buffer.alloc(4096, 1));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  }
  let recorded = 0;
  const big = 'x'.repeat(2000);
  for (let index = 0; index < 20; index++) {
    if (log.append(event(big))) recorded++;
  }
  assert.equal(recorded, 20, 'the reserve stores the events of running changes');
  assert.throws(
    () => log.assertWritable(),
    (error) => error instanceof ServiceError && error.code === 'storage-full',
  );
  truncateSync(filler, 0);
  assert.throws(() => log.assertWritable(), 'the journal tries again at most once a second');
  clock.advance(1001);
  log.assertWritable();
  await log.close();
  assert.deepEqual((await read(join(disk, 'journal'))).bad, 0);
});

test('a line that was written in part is cut off', async (t) => {
  const folder = temporaryFolder(t);
  let isFull = false;
  const log = open(folder, {
    write: (fd, bytes) => {
      if (!isFull) return writeSync(fd, bytes);
      if (bytes.length > 10) return writeSync(fd, bytes.subarray(0, 10));
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    },
  });
  log.append(event());
  isFull = true;
  assert.equal(log.append(event()), undefined, 'append() throws no exception if an event cannot be written');
  await assert.rejects(log.appendDurable(event()), (error) => error instanceof ServiceError && error.code === 'storage-full');
  isFull = false;
  log.append(event());
  await log.close();
  assert.deepEqual(await read(folder).then(({ uuids, bad }) => [uuids.length, bad]), [2, 0]);
});
