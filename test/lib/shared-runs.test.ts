import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedRuns } from '../../src/lib/concurrency/shared-runs.ts';

test('who comes while a run is under way shares the next one, which begins after they came', async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const runs = new SharedRuns((name: string) => {
    begun.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  });
  const first = runs.run('a');
  const others = Promise.all(['b', 'c', 'd'].map((name) => runs.run(name)));
  assert.deepEqual(begun, ['a']);
  ends[0]?.();
  await first;
  assert.deepEqual(begun, ['a', 'b'], 'one run for three');
  assert.equal(runs.isRunning, true);
  ends[1]?.();
  await others;
  assert.equal(runs.isRunning, false);
});

test('a run that fails fails for those who shared it, and for nobody else', async () => {
  let isBroken = true;
  const runs = new SharedRuns(async () => {
    await new Promise(setImmediate);
    if (isBroken) throw new Error('broken');
  });
  const first = runs.run();
  const second = runs.run();
  await assert.rejects(first, /broken/);
  isBroken = false;
  await second;
  await runs.run();
});
