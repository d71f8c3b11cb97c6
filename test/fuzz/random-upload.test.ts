import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { Extents } from '../../src/files/operations/random-content.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { fuzz } from '../support/fuzz.ts';
import { testFiles } from '../support/sftp-session.ts';

const place = fc.nat(60);

test('extents: the gaps in a range are exactly its bytes that were not written', (t) =>
  fuzz(
    t,
    fc.array(fc.record({ start: place, length: fc.nat(20), isCut: fc.boolean() }), { maxLength: 20 }),
    (steps) => {
      const extents = new Extents();
      const written = new Set<number>();
      for (const { start, length, isCut } of steps) {
        if (isCut && length < 5) {
          extents.cut(start);
          for (const byte of [...written]) if (byte >= start) written.delete(byte);
        } else {
          extents.add(start, start + length);
          for (let byte = start; byte < start + length; byte++) written.add(byte);
        }
        for (const [from, to] of [
          [0, 100],
          [start, start + 10],
        ] as const) {
          const gaps = extents
            .gaps(from, to)
            .flatMap((gap) => Array.from({ length: gap.end - gap.start }, (_, index) => gap.start + index));
          const missing = Array.from({ length: to - from }, (_, index) => from + index).filter((byte) => !written.has(byte));
          assert.deepEqual(gaps, missing);
        }
      }
    },
    { share: 4 },
  ));

type Step =
  | { kind: 'write'; offset: number | 'end'; bytes: number; value: number }
  | { kind: 'truncate'; size: number }
  | { kind: 'read'; offset: number; length: number }
  | { kind: 'sync' };

const offset = fc.oneof(fc.nat(40), fc.nat(300_000));
const bytes = fc.oneof(fc.nat(30), fc.nat(70_000));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      offset: fc.oneof(offset, fc.constant('end' as const)),
      bytes,
      value: fc.integer({ min: 1, max: 255 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('truncate' as const), size: fc.oneof(offset, fc.nat(40)) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const), offset, length: bytes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sync' as const) }) },
);

class Model {
  content: Buffer;

  constructor(content: Buffer) {
    this.content = content;
  }

  truncate(size: number): void {
    const grown = Buffer.alloc(size);
    this.content.copy(grown);
    this.content = grown;
  }

  write(at: number, data: Buffer): void {
    if (data.length > 0 && at + data.length > this.content.length) this.truncate(at + data.length);
    data.copy(this.content, at);
  }
}

/** Makes all steps, many at once, like a client that does not wait for replies. */
async function writtenLikeModel(
  { files, home }: ReturnType<typeof testFiles>,
  start: { old: number | undefined; truncate: boolean; inPlace: boolean },
  steps: readonly Step[],
): Promise<void> {
  const path = join(home, 'f');
  // Leftovers of a failed case would make all of its smaller variants fail.
  for (const name of readdirSync(home)) rmSync(join(home, name));
  const old = start.old === undefined ? undefined : Buffer.alloc(start.old, 'old content ');
  if (old) writeFileSync(path, old);
  const upload = await files.openRandomUpload('/f' as VirtualPath, {
    create: true,
    exclusive: false,
    truncate: start.truncate,
    copyLimitBytes: start.inPlace ? 10 : 1_000_000_000,
    finalName: () => undefined,
  });
  const model = new Model(old && !start.truncate ? Buffer.from(old) : Buffer.alloc(0));
  const waiting: Promise<unknown>[] = [];
  for (const step of steps) {
    if (step.kind === 'write') {
      const data = Buffer.alloc(step.bytes, step.value);
      const at = step.offset === 'end' ? model.content.length : step.offset;
      const half = data.length >> 1;
      waiting.push(upload.write(step.offset, [data.subarray(0, half), data.subarray(half)]));
      model.write(at, data);
    } else if (step.kind === 'truncate') {
      waiting.push(upload.truncate(step.size));
      model.truncate(step.size);
    } else if (step.kind === 'sync') {
      waiting.push(upload.sync());
    } else {
      const expected = Buffer.from(model.content.subarray(step.offset, step.offset + step.length));
      const target = Buffer.alloc(step.length, 0xee);
      waiting.push(upload.read(step.offset, target).then((count) => assert.deepEqual(target.subarray(0, count), expected)));
    }
  }
  await Promise.all(waiting);
  assert.equal((await upload.entry()).sizeBytes, model.content.length);
  if (old && !start.inPlace) assert.ok(readFileSync(path).equals(old), 'the old file is there until the end');
  await upload.commit();
  assert.ok(readFileSync(path).equals(model.content), 'the file equals a plain buffer');
  assert.deepEqual(readdirSync(home), ['f']);
}

test('a file written at random positions equals a plain buffer', async (t) => {
  const shared = testFiles(t);
  await fuzz(
    t,
    fc.record({
      start: fc.record({ old: fc.option(offset, { nil: undefined }), truncate: fc.boolean(), inPlace: fc.boolean() }),
      steps: fc.array(step, { maxLength: 12 }),
    }),
    ({ start, steps }) => writtenLikeModel(shared, start, steps),
    { share: 0.25 },
  );
});

test('an upload cannot exceed the quota; after it was aborted, or its file replaced, the next one can use the whole quota', async (t) => {
  const quota = 100_000;
  const { files, home } = testFiles(t, { quota_size: quota });
  await fuzz(
    t,
    fc.array(fc.record({ size: fc.nat(120_000), isCommitted: fc.boolean() }), { maxLength: 4 }),
    async (uploads) => {
      rmSync(join(home, 'f'), { force: true });
      files.environment.quotas.usage(files.mounts.roots).removed();
      for (const { size, isCommitted } of uploads) {
        const upload = await files.openRandomUpload('/f' as VirtualPath, {
          create: true,
          exclusive: false,
          truncate: true,
          copyLimitBytes: 0,
          finalName: () => undefined,
        });
        const fits = await upload.write(0, [Buffer.alloc(size)]).then(
          () => true,
          () => false,
        );
        assert.equal(fits, size <= quota, `${size} bytes`);
        if (!isCommitted) await upload.abort(new Error('no more'));
        else if (fits) await upload.commit();
        else await assert.rejects(upload.commit(), /quota/);
      }
    },
    { share: 0.25 },
  );
});
