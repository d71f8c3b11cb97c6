import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from '../../src/lib/concurrency/fair-queue.ts';

/** Takes turns for parties in this order; the turns are had one after the other. @returns the order in which they were had */
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

test('parties take turns, however many one of them wants; the urgent go first', async () => {
  const turns = new FairQueue({ concurrency: 1, maxWaitingPerParty: 10, maxWaiting: 100 });
  assert.equal(await orderOf(turns, [...'aaaaabbc']), 'aabcabaa');
  assert.equal(await orderOf(turns, [...'aaaabbU'], (party) => party === 'U'), 'aUababa');
  assert.equal(await orderOf(turns, [...'a']), 'a', 'all turns were given back');
});

test('turns at once and those that wait are bounded, for one party and in all; the urgent always may wait', async () => {
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
