import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countStatuses, from, guessAtOnce } from '../support/guesses.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { startFleet, within } from '../support/workers.ts';

const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

test('the sessions of three workers', async (t) => {
  const fleet = await startFleet(t, 3, { group: { allow_own_password_change: true } });

  await t.test('a session of one connection is good in all workers, and its end holds in all at once', async () => {
    writeFileSync(join(fleet.home, 'a'), 'A');
    for (let round = 0; round < 2; round++) {
      const session = await fleet.login();
      const used = await fleet.everywhere(3, () => fleet.get('/home/a', within(session)));
      assert.deepEqual(statuses(used), [200]);
      assert.equal((await fleet.send('POST', '/__svc__/logout', within(session, { body: '' }))).status, 204);
      const refused = await fleet.everywhere(3, () => fleet.get('/home/a', within(session)));
      assert.deepEqual(statuses(refused), [401], 'no worker remembers it');
    }
    assert.equal(await fleet.count(40037), 2);
  });

  await t.test('a password change ends the other sessions in all workers, and the old password is good in none', async () => {
    const sessions = await Promise.all([fleet.login(), fleet.login(), fleet.login()]);
    const [own, ...others] = sessions as [string, ...string[]];
    for (const session of sessions) await fleet.everywhere(3, () => fleet.get('/home/', within(session)));
    const body = JSON.stringify({ current_password: testPassword, new_password: 'another-one' });
    const changed = await fleet.send(
      'POST',
      '/home/__svc__/password-update',
      within(own, { body, headers: { 'content-type': 'application/json' } }),
    );
    assert.equal(changed.status, 204, changed.text);
    const json = { accept: 'application/json' };
    const old = await fleet.everywhere(3, () => fleet.get('/home/', { user: testUser, headers: json }));
    assert.deepEqual(statuses(old), [401]);
    for (const session of others) assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', within(session)))), [401]);
    assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', within(own)))), [200]);
    assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', { user: 'alice:another-one', headers: json }))), [200]);
  });

  assert.equal(await fleet.stop(), 0);
});

test('a session times out once, and not while any worker uses it', async (t) => {
  const fleet = await startFleet(t, 2, { service: { idle_connection_timeout: 2 } });
  writeFileSync(join(fleet.home, 'a'), 'A');
  const used = await fleet.login();
  const idle = await fleet.login();
  await fleet.everywhere(2, () => fleet.get('/home/a', within(idle)));
  const endMs = performance.now() + 5000;
  while (performance.now() < endMs) {
    assert.equal((await fleet.get('/home/a', within(used))).status, 200);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.deepEqual(statuses(await fleet.everywhere(2, () => fleet.get('/home/a', within(idle)))), [401]);
  await until('both time out', async () => (await fleet.count(40015)) === 2);
  const [event] = (await fleet.events()).filter(({ id }) => id === '40015');
  assert.deepEqual([event?.account.name, event?.component.uuid], ['alice', 'web']);
  assert.equal((await fleet.get('/home/a', within(used))).status, 401);
});

test('the failures that three workers count', async (t) => {
  const policy = { ban_after_failures: 5, ban_seconds: 60, ban_window_seconds: 60 };
  const password = await cheapHash(testPassword);
  const fleet = await startFleet(t, 3, {
    server: { security_policy: policy },
    service: { client_forwarded_header: 'X-Forwarded-For' },
    // Wrong passwords of one name are counted, too, from wherever they come.
    accounts: { bob: { password }, carol: { password } },
  });
  const statusOf = async (address: string, user: string) => (await fleet.get('/home/', from(address, user))).status;

  await t.test('guesses at once in several workers have the slots of one address together; a known client waits for none', async () => {
    const get = () => fleet.get('/home/', from('203.0.113.2', testUser));
    assert.deepEqual(statuses(await fleet.everywhere(3, get)), [200]);
    const { guesses, inTheMiddle } = await guessAtOnce([fleet], 100, '203.0.113.1', testUser);
    assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 95 });
    assert.equal(inTheMiddle?.status, 429);
    assert.equal(await fleet.count(20021), 5);
    assert.deepEqual(statuses(await fleet.everywhere(3, get)), [200]);
  });

  await t.test('a success resets the failures that other workers counted', async () => {
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 4; index++) assert.equal(await statusOf('203.0.113.4', `bob:wrong ${round} ${index}`), 401);
      const reset = () => fleet.get('/home/', from('203.0.113.4', `bob:${testPassword}`));
      assert.deepEqual(statuses(await fleet.everywhere(3, reset)), [200]);
    }
  });

  await t.test('failures in different workers add up to a ban that holds in all of them', async () => {
    const session = await fleet.login('carol');
    await fleet.everywhere(3, () => fleet.get('/home/', within(session)));
    for (let index = 0; index < 5; index++) assert.equal(await statusOf('203.0.113.3', `carol:wrong ${index}`), 401);
    const refused = await fleet.everywhere(3, () => fleet.get('/home/', from('203.0.113.3', `carol:${testPassword}`)));
    assert.deepEqual(statuses(refused), [429]);
    assert.ok(Number(refused[0]?.headers['retry-after']) > 0);
    assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', within(session)))), [200], 'a session goes on');
    // A worker that comes later knows of it, too.
    await fleet.kill(fleet.workers());
    await fleet.ready(3);
    assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', from('203.0.113.3', `carol:${testPassword}`)))), [429]);
    assert.deepEqual(statuses(await fleet.everywhere(3, () => fleet.get('/home/', within(session)))), [200]);
  });
});
