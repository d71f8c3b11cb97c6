import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../support/child.ts';
import { within } from '../support/client.ts';
import { countStatuses, from, guessAtOnce } from '../support/guesses.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { startSupervised } from '../support/supervised.ts';

const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

test('the sessions of three nodes', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 3, { group: { allow_own_password_change: true } });

  await t.test('a session is valid in all nodes, and after its logout it is invalid in all nodes', async () => {
    writeFileSync(join(svc.home, 'a'), 'A');
    for (let round = 0; round < 2; round++) {
      const session = await svc.login();
      const used = await svc.everywhere(3, () => svc.get('/home/a', within(session)));
      assert.deepEqual(statuses(used), [200]);
      assert.equal((await svc.send('POST', '/__svc__/logout', within(session, { body: '' }))).status, 204);
      const refused = await svc.everywhere(3, () => svc.get('/home/a', within(session)));
      assert.deepEqual(statuses(refused), [401], 'no node accepts the ended session');
    }
    assert.equal(await svc.count(40037), 2);
  });

  await t.test('a reload accepts an accounts file that all nodes share', async () => {
    const reloaded = await run(t, ['reload', '--data-folder', svc.dataFolder], { cwd: svc.folder });
    assert.equal(reloaded.code, 0, reloaded.stderr);
  });

  await t.test('a password change ends the other sessions in all nodes, and the old password is refused by all', async () => {
    const sessions = await Promise.all([svc.login(), svc.login(), svc.login()]);
    const [own, ...others] = sessions as [string, ...string[]];
    for (const session of sessions) await svc.everywhere(3, () => svc.get('/home/', within(session)));
    const body = JSON.stringify({ current_password: testPassword, new_password: 'another-one' });
    const changed = await svc.send(
      'POST',
      '/home/__svc__/password-update',
      within(own, { body, headers: { 'content-type': 'application/json' } }),
    );
    assert.equal(changed.status, 204, changed.text);
    const json = { accept: 'application/json' };
    const old = await svc.everywhere(3, () => svc.get('/home/', { user: testUser, headers: json }));
    assert.deepEqual(statuses(old), [401]);
    for (const session of others) assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', within(session)))), [401]);
    assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', within(own)))), [200]);
    assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', { user: 'alice:another-one', headers: json }))), [200]);
  });

  assert.equal(await svc.stop(), 0);
});

test('a session times out once, and not while any node uses it', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, { service: { idle_connection_timeout: 2 } });
  writeFileSync(join(svc.home, 'a'), 'A');
  const used = await svc.login();
  const idle = await svc.login();
  await svc.everywhere(2, () => svc.get('/home/a', within(idle)));
  const endMs = performance.now() + 5000;
  while (performance.now() < endMs) {
    assert.equal((await svc.get('/home/a', within(used))).status, 200);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.deepEqual(statuses(await svc.everywhere(2, () => svc.get('/home/a', within(idle)))), [401]);
  await until('both sessions have timed out', async () => (await svc.count(40015)) === 2);
  const [event] = (await svc.events()).filter(({ id }) => id === '40015');
  assert.deepEqual([event?.account.name, event?.component.uuid], ['alice', 'web']);
  assert.equal((await svc.get('/home/a', within(used))).status, 401);
});

test('the failures that three nodes count', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const policy = { ban_after_failures: 5, ban_seconds: 60, ban_window_seconds: 60 };
  const password = await cheapHash(testPassword);
  const svc = await startSupervised(t, 3, {
    server: { security_policy: policy },
    service: { client_forwarded_header: 'X-Forwarded-For' },
    // Wrong passwords also count for the name, over all addresses. So most tests use a name of their own.
    accounts: { bob: { password }, carol: { password } },
  });
  const statusOf = async (address: string, user: string) => (await svc.get('/home/', from(address, user))).status;

  await t.test('concurrent guesses in several nodes share the slots of one address; a known client needs no slot', async () => {
    const get = () => svc.get('/home/', from('203.0.113.2', testUser));
    assert.deepEqual(statuses(await svc.everywhere(3, get)), [200]);
    const { guesses, inTheMiddle } = await guessAtOnce([svc], 100, '203.0.113.1', testUser);
    assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 95 });
    assert.equal(inTheMiddle?.status, 429);
    assert.equal(await svc.count(20021), 5);
    assert.deepEqual(statuses(await svc.everywhere(3, get)), [200]);
  });

  await t.test('a success resets the failures that other nodes counted', async () => {
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 4; index++) assert.equal(await statusOf('203.0.113.4', `bob:wrong ${round} ${index}`), 401);
      const reset = () => svc.get('/home/', from('203.0.113.4', `bob:${testPassword}`));
      assert.deepEqual(statuses(await svc.everywhere(3, reset)), [200]);
    }
  });

  await t.test('failures in different nodes add up to a ban in all of them', async () => {
    const session = await svc.login('carol');
    await svc.everywhere(3, () => svc.get('/home/', within(session)));
    for (let index = 0; index < 5; index++) assert.equal(await statusOf('203.0.113.3', `carol:wrong ${index}`), 401);
    const refused = await svc.everywhere(3, () => svc.get('/home/', from('203.0.113.3', `carol:${testPassword}`)));
    assert.deepEqual(statuses(refused), [429]);
    assert.ok(Number(refused[0]?.headers['retry-after']) > 0);
    assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', within(session)))), [200], 'a session continues');
    // A node that starts later knows of the ban, too.
    await svc.kill(svc.nodes());
    await svc.ready(3);
    assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', from('203.0.113.3', `carol:${testPassword}`)))), [429]);
    assert.deepEqual(statuses(await svc.everywhere(3, () => svc.get('/home/', within(session)))), [200]);
  });
});
