import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoizeForTick } from '../../src/lib/concurrency/event-loop.ts';
import { FairQueue } from '../../src/lib/concurrency/fair-queue.ts';
import { SharedRuns } from '../../src/lib/concurrency/shared-runs.ts';
import { Slots } from '../../src/lib/concurrency/slots.ts';

test('the result of a function is remembered until the end of the turn', async () => {
  const asked: string[] = [];
  const lengthOf = memoizeForTick((text) => {
    asked.push(text);
    return text.length;
  });
  assert.deepEqual([lengthOf(''), lengthOf(''), lengthOf('two'), lengthOf('two')], [0, 0, 3, 3]);
  assert.deepEqual(asked, ['', 'two']);
  await Promise.resolve();
  lengthOf('two');
  assert.deepEqual(asked, ['', 'two'], 'callbacks of promises run in the same turn');
  await new Promise((resolve) => setImmediate(resolve));
  lengthOf('two');
  assert.deepEqual(asked, ['', 'two', 'two']);
});

test('slots are taken for all names or for none, and are free after their release', () => {
  const places = new Slots();
  const both = [
    ['all', 3],
    ['of one', 2],
  ] as const;
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), 'of one');
  assert.equal(places.take([['all', 3]]), undefined, 'refused requests took no slot');
  assert.equal(places.take([['all', 3]]), 'all');
  assert.equal(places.take([['all', 4]]), undefined, 'a limit may be raised');
  places.free(['all', 'of one']);
  assert.equal(places.take(both), 'all');
  places.free(['all']);
  assert.equal(places.take(both), undefined);
  assert.equal(places.take(both), 'all');
});

/** Requests turns for parties in this order, and takes them one after the other. @returns the order in which they were granted */
async function orderOf(turns: FairQueue, parties: readonly string[], isUrgent: (party: string) => boolean = () => false): Promise<string> {
  const order: string[] = [];
  await Promise.all(
    parties.map(async (party) => {
      const end = await turns.take(party, isUrgent(party));
      order.push(party);
      await new Promise((resolve) => setImmediate(resolve));
      end();
    }),
  );
  return order.join('');
}

test('parties alternate however many turns one of them requests; urgent requests come first', async () => {
  const turns = new FairQueue({ concurrency: 1, maxWaitingPerParty: 10, maxWaiting: 100 });
  assert.equal(await orderOf(turns, [...'aaaaabbc']), 'aabcabaa');
  assert.equal(await orderOf(turns, [...'aaaabbU'], (party) => party === 'U'), 'aUababa');
  assert.equal(await orderOf(turns, [...'a']), 'a', 'all turns were released');
});

test('running and waiting turns are limited for each party and in total; urgent turns may always wait', async () => {
  const turns = new FairQueue({ concurrency: 2, maxWaitingPerParty: 2, maxWaiting: 3 });
  const ends = await Promise.all([turns.take('a'), turns.take('a')]);
  const waiting = [turns.take('a'), turns.take('a')];
  await assert.rejects(turns.take('a'), { code: 'unavailable' });
  waiting.push(turns.take('b'));
  await assert.rejects(turns.take('c'), { code: 'unavailable' });
  waiting.push(...Array.from({ length: 20 }, () => turns.take('c', true)));
  for (const end of ends) end();
  for (const turn of waiting) turn.then((end) => end());
  await Promise.all(waiting);
  assert.equal((await Promise.all([turns.take('a'), turns.take('a')])).length, 2);
});

test('callers during a run share the next run, which begins after their calls', async () => {
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
  assert.deepEqual(begun, ['a', 'b'], 'the three calls that waited share one run');
  assert.equal(runs.isRunning, true);
  ends[1]?.();
  await others;
  assert.equal(runs.isRunning, false);
});

test('a failed run fails only for the callers that shared it', async () => {
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
