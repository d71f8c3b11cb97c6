import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { testEvent } from '../contracts/event-log.ts';
import { fuzz } from '../support/fuzz.ts';
import { readEvents } from '../support/journal.ts';
import { temporaryFolder } from '../support/temp.ts';

const garbage = fc.oneof(
  fc.uint8Array({ maxLength: 30 }),
  fc.constantFrom('\n', '\n\n', '{"id":', '{}\n', 'null\n', '\0\0\0\0').map((text) => Buffer.from(text)),
);

test('journal: after any damage at its end, every whole event before it can be read, and so can later events', (t) => {
  const base = temporaryFolder(t);
  let number = 0;
  return fuzz(
    t,
    fc.record({ count: fc.integer({ min: 0, max: 6 }), cut: fc.nat(900), garbage, segments: fc.integer({ min: 1, max: 3 }) }),
    async ({ count, cut, garbage, segments }) => {
      const folder = join(base, String(++number));
      mkdirSync(folder);
      const events = Array.from({ length: count }, (_, index) => testEvent(`${index}`));
      for (let segment = 1; segment < segments; segment++)
        writeFileSync(join(folder, `events-${String(segment).padStart(8, '0')}.ndjson`), `${JSON.stringify(testEvent(`s${segment}`))}\n`);
      const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      const kept = bytes.subarray(0, Math.max(0, bytes.length - cut));
      writeFileSync(join(folder, `events-${String(segments).padStart(8, '0')}.ndjson`), Buffer.concat([kept, garbage]));
      const log = new FileEventLog({
        folder,
        maximumFileSizeBytes: 1_000_000,
        retentionDays: 30,
        clock: systemClock,
        log: silentLog,
        sync: async () => {},
      });
      await log.appendDurable(testEvent('after'));
      await log.close();
      const texts: unknown[] = [];
      for await (const { event } of readEvents(folder, undefined, () => {})) texts.push(event.data.text);
      const whole = kept.toString('latin1').split('\n').length - 1;
      const earlier = Array.from({ length: segments - 1 }, (_, index) => `s${index + 1}`);
      assert.deepEqual(texts.slice(0, earlier.length + whole), [...earlier, ...events.slice(0, whole).map((event) => event.data.text)]);
      assert.equal(texts.at(-1), 'after');
      assert.ok(texts.length <= earlier.length + whole + 2, 'no other events appear');
      rmSync(folder, { recursive: true });
    },
    { share: 0.1 },
  );
});
