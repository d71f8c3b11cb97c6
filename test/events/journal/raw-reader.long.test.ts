import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { RawBlock, RawEvent, RawReader } from '../../../src/events/journal/event-log.ts';
import { FileEventLog } from '../../../src/events/journal/file-event-log.ts';
import { formatPosition, type LogPosition } from '../../../src/events/journal/position.ts';
import { listSegments } from '../../../src/events/journal/segments.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readAll, testEvent } from '../../contracts/event-log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFolder } from '../../support/temp.ts';

/** Opens a journal. The caller makes its next writes and syncs fail by adding faults to `writes` and `syncs`. */
function openFailing(t: TestContext, maximumFileSizeBytes: number) {
  const [writes, syncs]: [('full' | 'broken')[], Error[]] = [[], []];
  const clock = new ManualClock();
  let isTorn = false;
  const write = (fd: number, bytes: Buffer) => {
    const [fault] = writes;
    if (!fault) return writeSync(fd, bytes);
    isTorn = !isTorn;
    if (isTorn) return writeSync(fd, bytes.subarray(0, bytes.length >> 1));
    writes.shift();
    throw Object.assign(new Error(fault), { code: fault === 'full' ? 'ENOSPC' : 'EIO' });
  };
  const sync = async () => {
    const fault = syncs.shift();
    if (fault) throw fault;
  };
  const folder = temporaryFolder(t);
  const log = new FileEventLog({ folder, maximumFileSizeBytes, retentionDays: 36_500, clock, log: silentLog, write, sync });
  return { log, folder, clock, writes, syncs };
}

/** Reads the journal from `begin` with a reader of its own, some blocks at a time. */
class Follower {
  readonly begin: LogPosition;
  readonly read: Promise<string[]>[] = [];
  readonly #reader: RawReader;
  #position: LogPosition;

  constructor(log: FileEventLog, begin: LogPosition) {
    this.#reader = log.openRawReader();
    this.begin = this.#position = begin;
  }

  async readOn(most: number): Promise<void> {
    for (let blocks = 0; blocks < most; blocks++) {
      const block = await this.#reader.next(this.#position);
      if (block.count === 0) return;
      this.#position = block.next;
      this.read.push(
        block.events().then((events) => {
          assert.equal(events.length, block.count);
          assert.deepEqual([events[0]?.position, events.at(-1)?.next], [block.position, block.next]);
          return events.map(placed);
        }),
      );
    }
  }

  close(): void {
    this.#reader.close();
  }
}

const size = fc.oneof(fc.nat(300), fc.constantFrom(30_000, 70_000, 300_000));
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constantFrom('append', 'group'), count: fc.integer({ min: 1, max: 8 }), size }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('many'), count: fc.integer({ min: 60, max: 90 }), size: fc.constant(66_000) }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('read'), who: fc.nat(3), count: fc.constantFrom(1, 2, 1000) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('open', 'open-before', 'close'), who: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('full', 'very-full', 'broken', 'unsynced') }) },
) as fc.Arbitrary<{ what: string; count?: number; size?: number; who?: number }>;

test('a reader gets all lines from its start, once and in order, during writes, failures and closes', async (t) => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }),
    fc.constantFrom(2000, 200_000, 1e9),
    async (steps, fileSize) => {
      const { log, clock, writes, syncs } = openFailing(t, fileSize);
      const all = new Set<Follower>();
      const open: Follower[] = [];
      const begins = [log.end];
      const follow = (begin: LogPosition) => {
        const follower = new Follower(log, begin);
        all.add(follower);
        open.push(follower);
      };
      let number = 0;
      const event = (length = 0) => testEvent(`${number++} ${'x'.repeat(length)}`);
      for (const { what, count = 1, size: length = 0, who = 0 } of steps) {
        const follower = open[who % Math.max(open.length, 1)];
        if (what === 'append' || what === 'many') for (let index = 0; index < count; index++) log.append(event(length));
        else if (what === 'group') {
          for (let index = 0; index < count; index++) log.appendGrouped(event(length));
          if (count % 2 === 0) await log.grouped();
        } else if (what === 'read') await follower?.readOn(count);
        else if (what === 'open') follow(log.end);
        else if (what === 'open-before') follow(begins[who % begins.length] as LogPosition);
        else if (what === 'close' && follower) {
          // Wait for all writes first, so that nothing is written between the last read and the comparison.
          await log.grouped();
          await follower.readOn(1000);
          follower.close();
          open.splice(open.indexOf(follower), 1);
          if (follower.read.length > 0) all.delete(follower);
          const events = (await Promise.all(follower.read)).flat();
          assertSame(events, (await readAll(log, follower.begin)).map(placed));
        } else if (what === 'full') writes.push('full');
        else if (what === 'very-full') writes.push('full', 'full');
        else if (what === 'broken') writes.push('broken');
        else if (what === 'unsynced') {
          syncs.push(Object.assign(new Error('no'), { code: 'EIO' }));
          clock.advance(200);
        }
        if (number % 2 === 0) clock.advance(1000);
        begins.push(log.end);
      }
      await log.grouped();
      for (const follower of open) {
        await follower.readOn(1000);
        follower.close();
        const events = (await Promise.all(follower.read)).flat();
        assertSame(events, (await readAll(log, follower.begin)).map(placed));
      }
      await log.close().catch(() => {});
    },
  );
  await fc.assert(property, { numRuns: 15, endOnFailure: true });
});

function placed({ raw, position, next }: RawEvent): string {
  return `${formatPosition(position)} ${formatPosition(next)} ${raw.toString('utf8').slice(-60)} ${raw.toString('utf8').slice(0, 300)}`;
}

/** Like `deepEqual`, but without printing a difference of thousands of lines. */
function assertSame(found: readonly string[], wanted: readonly string[]): void {
  const at = wanted.findIndex((text, index) => text !== found[index]);
  assert.equal(found[at], wanted[at]);
  assert.equal(found.length, wanted.length);
}

test('reading a block that was damaged by hand, even at its end, fails; the other blocks are returned whole', async (t) => {
  const { log, folder } = openFailing(t, 1e9);
  const reader = log.openRawReader();
  t.after(() => reader.close());
  const events = Array.from({ length: 4 }, (_, index) => testEvent(String(index)));
  const blocks: RawBlock[] = [];
  for (const event of events) {
    const from = log.end;
    log.append(event);
    blocks.push(await reader.next(from));
  }
  const [path = ''] = listSegments(folder).map((segment) => segment.path);
  const overwrite = (at: number, text: string) => {
    const fd = openSync(path, 'r+');
    writeSync(fd, text, at);
    closeSync(fd);
  };
  const ends = blocks.map(({ next }) => next.offset);
  overwrite((ends[0] as number) - 1, 'x');
  overwrite((ends[1] as number) - 10, '\n');
  await assert.rejects((blocks[0] as RawBlock).events(), { code: 'unavailable' });
  await assert.rejects((blocks[1] as RawBlock).events(), { code: 'unavailable' });
  const whole = await Promise.all(blocks.slice(2).map((block) => block.events()));
  assert.deepEqual(
    whole.flat().map(({ raw }) => raw.toString('utf8')),
    events.slice(2).map((event) => JSON.stringify(event)),
  );
  await log.close();
});
