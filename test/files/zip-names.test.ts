import assert from 'node:assert/strict';
import { win32 } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { archiveNames } from '../../src/lib/zip/zip-records.ts';
import { assertLinear } from '../support/doubling.ts';

const piece = fc.constantFrom('a', 'C:', 'c', ':', '\\', '_', '..', '.', ' (2)', '.txt', 'ü');
const name = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(''))
  .filter((text) => text !== '.' && text !== '..');

test('names in an archive: each once, none a path to Windows, safe ones as they are', () => {
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

test('many names that become the same one take time that grows with them', async () => {
  const names = (count: number) => {
    const bits = Math.log2(count);
    return Array.from({ length: count }, (_, number) =>
      [...number.toString(2).padStart(bits, '0')].map((bit) => (bit === '0' ? '\\' : '_')).join(''),
    );
  };
  const list = names(2 ** 12);
  assert.equal(new Set(archiveNames(list).values()).size, list.length - 1);
  await assertLinear('names of an archive', names, archiveNames, 2 ** 16);
});
