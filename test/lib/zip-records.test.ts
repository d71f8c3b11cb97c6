import assert from 'node:assert/strict';
import { win32 } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  archiveNames,
  centralHeader,
  centralHeaderLength,
  descriptor,
  descriptorLength,
  localHeader,
  localHeaderLength,
} from '../../src/lib/zip/zip-records.ts';
import { assertLinear } from '../support/doubling.ts';

const entries = fc.record({
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
  isFolder: fc.boolean(),
  sizeBytes: fc.oneof(fc.nat(), fc.constantFrom(0xfffffffe, 0xffffffff, 0x100000000, 2 ** 44)),
  modifiedMs: fc.oneof(fc.nat({ max: 4_000_000_000_000 }), fc.constantFrom(-1, -(2 ** 43), 2 ** 43, 0x7fffffff * 1000)),
});

test('the computed lengths of ZIP records, which determine Content-Length, are right', () => {
  fc.assert(
    fc.property(entries, fc.oneof(fc.nat(), fc.constantFrom(0xfffffffe, 0xffffffff, 2 ** 44)), fc.nat(), (entry, offset, crc) => {
      assert.equal(localHeaderLength(entry), localHeader(entry, crc).length);
      assert.equal(centralHeaderLength(entry, offset), centralHeader(entry, crc, offset).length);
      assert.equal(descriptorLength(entry), descriptor(entry, crc).length);
    }),
    { numRuns: 2000 },
  );
});

test('ZIP records of a file from the year 1 have zeros for missing values, and the name in UTF-8', () => {
  const entry = { name: 'größe.txt', isFolder: false, sizeBytes: 3, modifiedMs: -62_135_596_800_000 };
  const header = localHeader(entry, 0x01020304);
  assert.equal(header.readUInt32LE(0), 0x04034b50);
  assert.equal(header.readUInt16LE(8), 0, 'the file is stored without compression');
  assert.equal(header.readUInt32LE(14), 0x01020304);
  assert.equal(header.readUInt16LE(28), 0, 'no extra field can hold the time');
  assert.equal(header.subarray(30).toString(), 'größe.txt');
  const central = centralHeader(entry, 0x01020304, 77);
  assert.deepEqual([...central.subarray(32, 38)], [0, 0, 0, 0, 0, 0], 'there is no comment, one disk, and no internal attribute');
  assert.equal(central.readUInt32LE(42), 77);
});

const piece = fc.constantFrom('a', 'C:', 'c', ':', '\\', '_', '..', '.', ' (2)', '.txt', 'ü');
const name = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(''))
  .filter((text) => text !== '.' && text !== '..');

test('names in an archive are unique, never a path for Windows, and unchanged if they are safe', () => {
  let changes = 0;
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
      const changed = archiveNames(names);
      const result = names.map((own) => changed.get(own) ?? own);
      assert.equal(new Set(result).size, names.length);
      for (const own of names) {
        const isSafe = win32.basename(own) === own && win32.parse(own).root === '';
        assert.equal(changed.has(own), !isSafe, own);
      }
      for (const own of changed.values()) {
        changes++;
        assert.equal(win32.basename(own), own);
        assert.equal(win32.parse(own).root, '');
        assert.notEqual(own, '..');
      }
    }),
    { numRuns: 5000 },
  );
  assert.ok(changes > 1000);
});

test('making many equal names unique takes linear time', async () => {
  const names = (count: number) => {
    const bits = Math.log2(count);
    return Array.from({ length: count }, (_, number) =>
      [...number.toString(2).padStart(bits, '0')].map((bit) => (bit === '0' ? '\\' : '_')).join(''),
    );
  };
  const list = names(2 ** 12);
  assert.equal(new Set(archiveNames(list).values()).size, list.length - 1);
  await assertLinear('names of an archive', names, archiveNames, 2 ** 15);
});
