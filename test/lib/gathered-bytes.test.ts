import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GatheredBytes } from '../../src/lib/gathered-bytes.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('bytes that arrive one by one are joined correctly, and take far less memory than one buffer each would', () => {
  const bytes = new GatheredBytes();
  const before = usedBytes();
  for (let index = 0; index < 300_000; index++) bytes.add(Buffer.from([index % 251]));
  const takenMiB = (usedBytes() - before) / 2 ** 20;
  assert.ok(takenMiB < 20, `${takenMiB} MiB; one buffer for each byte would take 100 MiB and more`);
  const whole = bytes.whole();
  assert.equal(whole.length, 300_000);
  assert.ok(whole.every((byte, index) => byte === index % 251));
  assert.deepEqual(bytes.whole(1025), whole.subarray(0, 1025));
});

test('a single piece is returned unchanged', () => {
  const bytes = new GatheredBytes();
  assert.equal(bytes.whole().length, 0);
  const piece = Buffer.from('all');
  bytes.add(piece);
  assert.equal(bytes.whole(), piece);
  assert.equal(bytes.whole(2).toString(), 'al');
});
