import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import { countStatuses, from, guessAtOnce, hashOfCost } from '../support/guesses.ts';
import { type Answer, startReceiver, until } from '../support/receiver.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { startServer, type TestConfig } from '../support/server.ts';

const behindProxy = { client_forwarded_header: 'X-Forwarded-For' };

function guarded(t: TestContext, ban_after_failures: number, config: TestConfig = {}) {
  const security_policy = { ban_after_failures, ban_seconds: 60, ban_window_seconds: 60 };
  return startServer(t, {
    account: { password: hashOfCost(4) },
    ...config,
    service: { ...behindProxy, ...config.service },
    server: { security_policy, ...config.server },
  });
}

test('of 200 concurrent wrong passwords with the right one among them, five are checked, and none logs in', async (t) => {
  const server = await guarded(t, 5);
  const { guesses, inTheMiddle } = await guessAtOnce([server], 200, '203.0.113.1', testUser);
  assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 195 });
  assert.equal(inTheMiddle?.status, 429);
  assert.ok(Number(inTheMiddle?.headers['retry-after']) > 0);
  assert.equal((await server.eventIds()).filter((id) => id === 20021).length, 5);
  assert.equal((await server.get('/home/', from('203.0.113.2', testUser))).status, 200);
});

test('an endpoint gets only as many concurrent guesses from an address as may still fail before a ban', async (t) => {
  const endpoint = await startReceiver(t, { otherwise: { status: 401, delayMs: 300 } });
  const server = await guarded(t, 5, { authentications: { corporate: { type: 'http', url: endpoint.url, test_at_start: false } } });
  const { guesses } = await guessAtOnce([server], 100, '203.0.113.1');
  assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 95 });
  assert.equal(endpoint.requests.length, 5);
});

test('an endpoint that gives no reply or failed its first test causes no ban; each reply that refuses counts', async (t) => {
  const statusesWith = async (otherwise: Answer, test_at_start: boolean) => {
    const { url } = await startReceiver(t, { otherwise });
    const server = await guarded(t, 3, { authentications: { corporate: { type: 'http', url, test_at_start } } });
    const users = Array.from({ length: 20 }, (_, index) => `user${index}:x`);
    return countStatuses(await Promise.all(users.map((user) => server.get('/home/', from('203.0.113.1', user)))));
  };
  assert.deepEqual(await statusesWith({ fault: 'reset' }, false), { 401: 20 });
  assert.deepEqual(await statusesWith({ status: 500 }, true), { 401: 20 });
  assert.deepEqual(await statusesWith({ status: 500 }, false), { 401: 3, 429: 17 });
});

test('if an address sends more right passwords at a time than may still fail before a ban, some wait, and all log in', async (t) => {
  const names = Array.from({ length: 12 }, (_, index) => `user${index}`);
  const password = hashOfCost(4);
  const server = await guarded(t, 3, { accounts: Object.fromEntries(names.map((name) => [name, { password }])) });
  const replies = await Promise.all(names.map((name) => server.get('/home/', from('203.0.113.1', `${name}:${testPassword}`))));
  assert.deepEqual(countStatuses(replies), { 200: 12 });
});

test('a login removes earlier failures of its name; logins of another name do not remove the guesses at a name', async (t) => {
  const password = hashOfCost(4);
  const server = await guarded(t, 5, { accounts: { mallory: { password }, carol: { password } } });
  const get = async (user: string, address = '203.0.113.1') => (await server.get('/home/', from(address, user))).status;
  for (let round = 0; round < 4; round++) {
    for (let index = 0; index < 4; index++) assert.equal(await get(`carol:mistyped ${round} ${index}`), 401);
    assert.equal(await get(`carol:${testPassword}`), 200);
  }
  const statuses: number[] = [];
  for (let index = 0; index < 8; index++) {
    statuses.push(await get(`alice:guess number ${index}`, '203.0.113.2'));
    await get(`mallory:${testPassword}`, '203.0.113.2');
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
});

test('the same wrong password, repeated as by a mount, causes no ban', async (t) => {
  const server = await guarded(t, 3);
  for (let index = 0; index < 8; index++) assert.equal((await server.get('/home/', from('203.0.113.1', 'alice:old password'))).status, 401);
  assert.equal((await server.get('/home/', from('203.0.113.1', testUser))).status, 200);
});

test('after ten failures a minute, a name gets 429, except from addresses from which it has logged in', async (t) => {
  const server = await guarded(t, 5);
  assert.equal((await server.get('/home/', from('203.0.113.200', testUser))).status, 200);
  const guesses = Array.from({ length: 60 }, (_, index) =>
    server.get('/home/', from(`203.0.113.${index}`, `alice:from anywhere ${index}`)),
  );
  assert.deepEqual(countStatuses(await Promise.all(guesses)), { 401: 10, 429: 50 });
  const refused = await server.get('/home/', from('203.0.113.201', testUser));
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers['retry-after']) <= 60);
  assert.equal((await server.get('/home/', from('203.0.113.200', 'alice:mistyped'))).status, 401);
  assert.equal((await server.get('/home/', from('203.0.113.200', testUser))).status, 200);
  const event = (await server.events()).findLast(({ id }) => id === '20005');
  assert.deepEqual([event?.data.address, event?.data.username], ['203.0.113.201', 'alice']);
});

test('addresses that a client itself writes into X-Forwarded-For are ignored', async (t) => {
  const server = await guarded(t, 3);
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++)
    statuses.push((await server.get('/home/', from(`198.51.100.${index}, 203.0.113.1`, `alice:with another address ${index}`))).status);
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  assert.equal((await server.get('/home/', from('203.0.113.1, 203.0.113.2', testUser))).status, 200, 'a claimed address is not banned');
});

test('the headers of a proxy are used only if it is one of trusted_proxies', async (t) => {
  const server = await guarded(t, 2, { service: { trusted_proxies: '198.51.100.0/24, 2001:db8::1' } });
  for (let index = 0; index < 2; index++)
    assert.equal((await server.get('/home/', from(`203.0.113.${index}`, `alice:no proxy ${index}`))).status, 401);
  assert.equal((await server.get('/home/', from('203.0.113.9', testUser))).status, 429);
  const event = (await server.events()).findLast(({ id }) => id === '20005');
  assert.deepEqual(event?.data.address, '127.0.0.1');
  const copy = { destination: 'http://other.example/home/b', 'x-forwarded-host': 'other.example' };
  const trusting = await guarded(t, 0);
  const distrusting = await guarded(t, 0, { service: { trusted_proxies: '198.51.100.1' } });
  for (const [one, status] of [
    [trusting, 404],
    [distrusting, 502],
  ] as const)
    assert.equal((await one.send('COPY', '/home/a', { headers: copy })).status, status);
});

test('guesses from many addresses do not delay known clients, and delay other clients only until their turn', async (t) => {
  const server = await guarded(t, 10, {
    accounts: Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`user${index}`, { password: hashOfCost(13) }])),
  });
  const session = await server.login();
  assert.equal((await server.get('/home/', from('203.0.113.250', testUser))).status, 200);
  let answered = 0;
  const guesses = Array.from({ length: 40 }, (_, index) =>
    server.get('/home/', from(`203.0.113.${index % 8}`, `user${index % 8}:not a password ${index}`)).then((reply) => {
      answered++;
      return reply;
    }),
  );
  await until('the guesses begin', () => answered > 0);
  const before = answered;
  const known = [
    server.get('/home/', from('203.0.113.250', testUser)),
    server.get('/home/', { user: null, headers: { accept: 'application/json', authorization: `session ${session}` } }),
  ];
  assert.deepEqual(countStatuses(await Promise.all(known)), { 200: 2 });
  assert.ok(answered - before <= 6, `${answered - before} guesses were answered first`);
  const asked = answered;
  assert.equal((await server.get('/home/', from('203.0.113.251', `user8:${testPassword}`))).status, 200);
  assert.ok(answered - asked <= 20, `a stranger waited for ${answered - asked} guesses of eight others`);
  await Promise.all(guesses);
});

/** Counts the password hashes that are computed from now on. */
function countHashes(t: TestContext): () => number {
  const counted = t.mock.method(crypto, 'scrypt');
  syncBuiltinESMExports();
  t.after(() => {
    counted.mock.restore();
    syncBuiltinESMExports();
  });
  return () => counted.mock.callCount();
}

test('concurrent first requests with the same credentials need one verification of the password', async (t) => {
  const server = await guarded(t, 10);
  const hashes = countHashes(t);
  const replies = await Promise.all(Array.from({ length: 30 }, () => server.get('/home/', from('203.0.113.2', testUser))));
  assert.deepEqual(countStatuses(replies), { 200: 30 });
  assert.equal(hashes(), 1);
  assert.equal((await server.get('/home/', from('203.0.113.1', 'alice:wrong password'))).status, 401);
  assert.equal(hashes(), 2, 'a guess is verified, too');
});

test('password-update: wrong current passwords count like failed logins', async (t) => {
  const server = await guarded(t, 3, { group: { allow_own_password_change: true } });
  const session = await server.login();
  const update = (current_password: string, headers: Record<string, string> = {}) =>
    server.send('POST', '/home/__svc__/password-update', {
      user: null,
      headers: { authorization: `session ${session}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ current_password, new_password: 'something else' }),
    });
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++) statuses.push((await update(`not my password ${index}`)).status);
  assert.deepEqual(statuses, [422, 422, 422, 429, 429]);
  const right = await update(testPassword);
  assert.equal(right.status, 429, 'even the right password is refused');
  assert.ok(Number(right.headers['retry-after']) > 0);
  assert.equal(
    (await server.get('/home/', { headers: { accept: 'application/json' } })).status,
    429,
    'a login from this address is refused, too',
  );
  const elsewhere = { 'x-forwarded-for': '203.0.113.1' };
  for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x'])
    assert.equal((await update(testPassword, { ...elsewhere, 'content-type': type })).status, 415, type);
  assert.equal((await update(testPassword, { ...elsewhere, origin: 'https://evil.example' })).status, 400);
  const form = await server.send('POST', '/home/__svc__/password-update', {
    user: null,
    headers: {
      ...elsewhere,
      authorization: `session ${session}`,
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://evil.example',
    },
    body: new URLSearchParams({
      current_password: testPassword,
      new_password: 'something else',
      repeat_password: 'something else',
    }).toString(),
  });
  assert.equal(form.status, 400, 'a form of another origin is refused');
  assert.equal((await update(testPassword, elsewhere)).status, 204);
});
