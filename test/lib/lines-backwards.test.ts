import assert from 'node:assert/strict';
import { appendFileSync, closeSync, openSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { openIfThere } from '../../src/lib/disk/descriptors.ts';
import { type BackwardBlock, linesBackwards, longestLineBytes } from '../../src/lib/disk/lines-backwards.ts';
import { temporaryFolder } from '../support/temp.ts';

const chunkBytes = 256 * 1024;

function fileOf(t: TestContext, content: string | Buffer): { path: string; fd: number; size: number } {
  const path = join(temporaryFolder(t), 'lines');
  writeFileSync(path, content);
  const fd = openSync(path, 'r');
  t.after(() => closeSync(fd));
  return { path, fd, size: statSync(path).size };
}

/** Returns all lines of a part of a file, in the order of the file. */
async function lines(fd: number, end: number, { start = 0, needles = [] as string[][] } = {}): Promise<string[]> {
  const found: string[] = [];
  const wanted = needles.map((list) => list.map((needle) => Buffer.from(needle)));
  for await (const block of linesBackwards(fd, { start, end }, wanted)) found.push(...block.lines.map(({ line }) => line.toString('utf8')));
  return found.toReversed();
}

test('lines whose characters cross the ends of chunks are whole, each with its position', async (t) => {
  const all = Array.from({ length: 2000 }, (_, index) => `${index} ${'ü🙂€'.repeat(1 + (index % 97))}`);
  const content = Buffer.from(all.map((line) => `${line}\n`).join(''));
  assert.ok(content.length > 2 * chunkBytes);
  // With these four paddings, each byte of a character is once at the end of a chunk.
  for (const pad of [0, 1, 2, 3]) {
    const { fd, size } = fileOf(t, Buffer.concat([Buffer.from(`${'x'.repeat(pad)}\n`), content]));
    assert.deepEqual(await lines(fd, size), ['x'.repeat(pad), ...all]);
  }
  const { fd, size } = fileOf(t, content);
  let before = size;
  for await (const block of linesBackwards(fd, { start: 0, end: size })) {
    for (const { line, offset } of block.lines) {
      assert.ok(content.subarray(offset).indexOf(Buffer.concat([line, Buffer.from('\n')])) === 0);
      assert.equal(offset + line.length + 1, before, 'no line is left out or repeated');
      before = offset;
    }
    assert.equal(block.start, before);
  }
  assert.equal(before, 0);
});

test('a carriage return belongs to its line, an empty line counts, and a line without an end does not', async (t) => {
  const { fd, size } = fileOf(t, 'a\r\n\r\n\nb\rc\ntorn');
  assert.deepEqual(await lines(fd, size), ['a\r', '\r', '', 'b\rc']);
  assert.deepEqual(await lines(fd, 4), ['a\r'], 'a line that the end cuts is left out');
  assert.deepEqual(await lines(fd, size, { start: 5 }), ['', 'b\rc']);
});

test('a file can be empty, without a line end, or absent', async (t) => {
  const empty = fileOf(t, '');
  assert.deepEqual(await lines(empty.fd, empty.size), []);
  const torn = fileOf(t, 'x'.repeat(3 * chunkBytes));
  assert.deepEqual(await lines(torn.fd, torn.size), []);
  assert.equal(openIfThere(`${torn.path}-gone`), undefined);
});

test('lines of any length are read, except those longer than any valid line', async (t) => {
  const long = ['y'.repeat(chunkBytes - 1), 'y'.repeat(chunkBytes), 'y'.repeat(5 * chunkBytes)];
  const longest = 'z'.repeat(longestLineBytes);
  const { fd, size } = fileOf(t, ['first', ...long, longest, `${longest}z`, 'last', ''].join('\n'));
  const read = await lines(fd, size);
  assert.ok(read.splice(4, 1)[0] === longest);
  assert.deepEqual(read, ['first', ...long, 'last']);
});

test('a file can shrink or grow while it is read', async (t) => {
  const all = Array.from({ length: 60_000 }, (_, index) => `line ${index}`);
  const { path, fd, size } = fileOf(t, all.map((line) => `${line}\n`).join(''));
  const blocks = linesBackwards(fd, { start: 0, end: size });
  const { value: first } = (await blocks.next()) as { value: BackwardBlock };
  assert.equal(first.lines[0]?.line.toString(), all.at(-1));
  appendFileSync(path, 'later\n');
  truncateSync(path, 1000);
  const left: string[] = [];
  for await (const block of blocks) left.push(...block.lines.map(({ line }) => line.toString()));
  left.reverse();
  assert.ok(left.length > 50);
  assert.deepEqual(left, all.slice(0, left.length), 'the remaining whole lines');
  assert.deepEqual(await lines(fd, size), left);
});

test('with needles, only lines with at least one needle of each list are returned', async (t) => {
  const line = fc.array(fc.constantFrom('a', 'b', 'ü', '\r', '"'), { maxLength: 6 }).map((parts) => parts.join(''));
  const needles = fc.array(fc.array(fc.constantFrom('a', 'ab', 'ü"', 'b', '\r'), { minLength: 1, maxLength: 3 }), { maxLength: 3 });
  const path = join(temporaryFolder(t), 'lines');
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), needles, fc.boolean(), async (all, lists, isTorn) => {
      writeFileSync(path, all.join('\n') + (isTorn ? '' : '\n'));
      const fd = openSync(path, 'r');
      const whole = isTorn ? all.slice(0, -1) : all.length === 0 ? [''] : all;
      const expected = whole.filter((text) => lists.every((list) => list.some((needle) => text.includes(needle))));
      assert.deepEqual(await lines(fd, statSync(path).size, { needles: lists }).finally(() => closeSync(fd)), expected);
    }),
    { numRuns: 300 },
  );
});
