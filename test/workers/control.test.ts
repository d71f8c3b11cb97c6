import assert from 'node:assert/strict';
import { test } from 'node:test';
import { control, listed } from '../support/control.ts';
import { startFleet, within } from '../support/workers.ts';

test('a session that is removed is over in all workers', { timeout: 60_000 }, async (t) => {
  const fleet = await startFleet(t, 2);
  const [first, second] = [await fleet.login(), await fleet.login()];
  const ok = await fleet.everywhere(2, () => fleet.get('/home/', within(first)));
  assert.ok(ok.every(({ status }) => status === 200));
  const all = await listed(t, fleet.dataFolder, 'sessions');
  assert.deepEqual(
    all.map(({ account, address }) => [account, address]),
    [
      ['alice', '127.0.0.1'],
      ['alice', '127.0.0.1'],
    ],
  );
  const older = all.sort((a, b) => a.created.localeCompare(b.created))[0];
  assert.equal((await control(t, fleet.dataFolder, 'sessions', 'remove', older?.id ?? '')).code, 0);
  const gone = await fleet.everywhere(2, () => fleet.get('/home/', within(first)));
  assert.ok(gone.every(({ status }) => status === 401));
  const stays = await fleet.everywhere(2, () => fleet.get('/home/', within(second)));
  assert.ok(stays.every(({ status }) => status === 200));
  assert.equal((await control(t, fleet.dataFolder, 'sessions', 'remove', '--all')).stdout, 'removed 1 session\n');
  const none = await fleet.everywhere(2, () => fleet.get('/home/', within(second)));
  assert.ok(none.every(({ status }) => status === 401));
});
