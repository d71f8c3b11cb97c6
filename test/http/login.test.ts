import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { learnSecret, testPassword, testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const both = ['basic realm="Web files access"', 'session'];

function challenges(rawHeaders: string[]): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'www-authenticate');
}

test('login over JSON gives a session ID that authenticates', async (t) => {
  const server = await startServer(t);
  const first = await server.login();
  const second = await server.login();
  assert.match(first, /^[\w-]{43}$/);
  assert.notEqual(first, second);
  const reply = await server.get('/home/', { user: null, headers: { authorization: `session ${first}`, accept: 'application/json' } });
  assert.equal(reply.status, 200);
  assert.deepEqual(
    readFileSync(join(server.folder, 'data/journal/events-00000001.ndjson'), 'utf8').includes(first),
    false,
    'the journal contains no session ID',
  );
});

test('login by form sets the cookie that the specification defines', async (t) => {
  const server = await startServer(t);
  const reply = await server.send('POST', '/__svc__/login', { user: null, headers: form, body: `username=alice&password=${testPassword}` });
  assert.equal(reply.status, 302);
  assert.equal(reply.headers.location, '/home/');
  const cookie = reply.headers['set-cookie']?.[0] ?? '';
  assert.match(cookie, /^SVC_HTTP_SESSION=[\w-]{43}; Path=\/; HttpOnly; SameSite=strict$/);
  const headers = { cookie: `other=1; ${cookie.split(';')[0]}`, accept: 'application/json' };
  assert.equal((await server.get('/home/', { user: null, headers })).status, 200);

  const wanted = await server.send('POST', '/__svc__/login', {
    user: null,
    headers: form,
    body: `username=alice&password=${testPassword}&next=%2Fhome%2Fd%2F`,
  });
  assert.equal(wanted.headers.location, '/home/d/');
  for (const next of ['//evil.example', 'https://evil.example/', '/\\evil', '/home/\r\nx: y', '/elsewhere']) {
    const open = await server.send('POST', '/__svc__/login', {
      user: null,
      headers: form,
      body: `username=alice&password=${testPassword}&next=${encodeURIComponent(next)}`,
    });
    assert.equal(open.headers.location, '/home/', `no open redirect to ${next}`);
  }
});

test('a failed login gets 401 with the errors in JSON, or with the login page', async (t) => {
  const server = await startServer(t);
  const json = await server.send('POST', '/__svc__/login', {
    user: null,
    headers: { ...form, accept: 'application/json' },
    body: 'username=alice&password=wrong',
  });
  assert.equal(json.status, 401);
  assert.equal(json.json<{ errors: { title: string }[] }>().errors[0]?.title, 'Unauthorized');
  const page = await server.send('POST', '/__svc__/login', {
    user: null,
    headers: { ...form, accept: 'text/html' },
    body: 'username=al%22ice&password=wrong',
  });
  assert.equal(page.status, 401);
  assert.match(page.headers['content-type'] ?? '', /^text\/html/);
  assert.match(page.text, /value="al&quot;ice"/);
  assert.equal(page.text.includes('wrong'), false, 'the password is not shown again');
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id === 40000 || id === 20021),
    [20021, 40000, 20021, 40000],
  );
});

test('a malformed login gets 400, a body of another media type 415, and a too long body 413', async (t) => {
  const server = await startServer(t);
  const send = (type: string, body: string) =>
    server.send('POST', '/__svc__/login', { user: null, headers: { 'content-type': type }, body });
  assert.equal((await send('application/json', '{')).status, 400);
  assert.equal((await send('application/json', '{"username":1,"password":"x"}')).status, 400);
  assert.equal((await send('application/x-www-form-urlencoded', 'username=alice')).status, 400);
  assert.equal((await send('text/plain', 'x')).status, 415);
  assert.equal((await send('application/x-www-form-urlencoded', `username=${'x'.repeat(20_000)}&password=x`)).status, 413);
});

test('names and passwords that are empty, too long, or have forbidden characters get 401', async (t) => {
  const server = await startServer(t);
  for (const user of [':secret', `${'x'.repeat(151)}:secret`, `alice:${'y'.repeat(151)}`, 'a/b:x', 'a\\b:x', '..:x', 'a\u0007b:x']) {
    assert.equal((await server.get('/home/', { user })).status, 401, user);
  }
});

test('without valid credentials, programs get 401 with two challenge lines, and browsers the login page', async (t) => {
  const server = await startServer(t);
  const reply = await server.get('/home/', { user: null });
  assert.equal(reply.status, 401);
  assert.deepEqual(challenges(reply.rawHeaders), both);
  assert.equal(reply.json<{ errors: { title: string }[] }>().errors[0]?.title, 'Unauthorized');
  for (const authorization of [
    'session nonsense',
    'session ',
    'Bearer x',
    'Basic !!!',
    'Basic',
    `Basic ${Buffer.from('alice:wrong').toString('base64')}`,
  ]) {
    const refused = await server.get('/home/', { user: null, headers: { authorization } });
    assert.equal(refused.status, 401, authorization);
    assert.deepEqual(challenges(refused.rawHeaders), both);
  }
  const browser = await server.get('/home/a%20b/?x=1', { user: null, headers: { accept: 'text/html,*/*;q=0.8' } });
  assert.equal(browser.status, 302);
  assert.equal(browser.headers.location, '/__svc__/login?next=%2Fhome%2Fa%2520b%2F%3Fx%3D1');
  assert.deepEqual(challenges(browser.rawHeaders), ['basic realm="Web files access"']);
  assert.match(browser.text, /__svc__\/login/);
  assert.equal((await server.get('/home/', { user: null, headers: { accept: 'text/html;q=0' } })).status, 401);
});

test('announce_session_authentication: false omits the session challenge', async (t) => {
  const server = await startServer(t, { service: { announce_session_authentication: 'no', announce_version: 'no' } });
  const reply = await server.get('/home/', { user: null });
  assert.deepEqual(challenges(reply.rawHeaders), ['basic realm="Web files access"']);
  assert.equal(reply.headers.server, 'svc');
});

test('logout ends the session', async (t) => {
  const server = await startServer(t);
  const session = await server.login();
  const authorization = `session ${session}`;
  assert.equal((await server.send('POST', '/__svc__/logout', { user: null, headers: { authorization } })).status, 204);
  assert.equal((await server.get('/home/', { user: null, headers: { authorization } })).status, 401);
  const page = await server.send('POST', '/__svc__/logout', { user: null, headers: { accept: 'text/html' } });
  assert.equal(page.headers.location, '/__svc__/login');
  assert.ok((await server.eventIds()).includes(40037));
});

test('a session ends after its idle time and at its maximum age, with event 40015', async (t) => {
  const clock = new ShiftedClock();
  const idle = await startServer(t, { service: { idle_connection_timeout: 600 } }, clock);
  const headers = { authorization: `session ${await idle.login()}`, accept: 'application/json' };
  for (let round = 0; round < 3; round++) {
    clock.shift(400_000);
    assert.equal((await idle.get('/home/', { user: null, headers })).status, 200, 'activity keeps the session alive');
  }
  clock.shift(601_000);
  assert.equal((await idle.get('/home/', { user: null, headers })).status, 401);
  assert.ok((await idle.eventIds()).includes(40015));

  const old = await startServer(t, { service: { session_maximum_age: 60 } }, clock);
  const aged = { authorization: `session ${await old.login()}`, accept: 'application/json' };
  clock.shift(40_000);
  assert.equal((await old.get('/home/', { user: null, headers: aged })).status, 200);
  clock.shift(21_000);
  assert.equal((await old.get('/home/', { user: null, headers: aged })).status, 401);
});

test('CSRF: a foreign Origin or Referer is refused on every change, including the login', async (t) => {
  const server = await startServer(t, { service: { accepted_origins: 'https://files.example.com' } });
  writeFileSync(join(server.home, 'a'), 'old');
  const own = `http://127.0.0.1:${server.port}`;
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'garbage']) {
    for (const [method, target] of [
      ['PUT', '/home/a'],
      ['DELETE', '/home/a'],
      ['POST', '/home/'],
      ['POST', '/__svc__/login'],
    ] as const) {
      assert.equal((await server.send(method, target, { headers: { origin }, body: 'x' })).status, 400, `${method} ${origin}`);
    }
  }
  assert.equal((await server.put('/home/a', 'x', { headers: { referer: 'https://evil.example/page' } })).status, 400);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old');
  assert.equal((await server.get('/home/a', { headers: { origin: 'https://evil.example' } })).status, 200, 'reading changes nothing');
  for (const origin of [own, 'https://files.example.com'])
    assert.equal((await server.put('/home/a', 'x', { headers: { origin } })).status, 201);
  assert.equal((await server.put('/home/a', 'x', { headers: { referer: `${own}/home/` } })).status, 201);
});

test('brute force gets 429 with Retry-After before any method is asked; a login removes earlier failures of its account', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 3, ban_seconds: 60 } } });
  const session = await server.login();
  let guesses = 0;
  const wrong = () => server.get('/home/', { user: `alice:wrong ${guesses++}` });
  assert.deepEqual([(await wrong()).status, (await wrong()).status], [401, 401]);
  assert.equal((await server.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
  assert.deepEqual([(await wrong()).status, (await wrong()).status, (await wrong()).status], [401, 401, 401]);
  const banned = await server.get('/home/');
  assert.equal(banned.status, 429);
  assert.ok(Number(banned.headers['retry-after']) > 50);
  const asked = (await server.events()).filter((event) => event.id === '20021').length;
  await wrong();
  assert.equal((await server.events()).filter((event) => event.id === '20021').length, asked);
  assert.ok((await server.eventIds()).includes(20005));
  assert.equal(
    (await server.get('/home/', { user: null, headers: { authorization: `session ${session}`, accept: 'application/json' } })).status,
    200,
  );
});

test('password-update checks the current password and the rules, and ends all other sessions of the account', async (t) => {
  const server = await startServer(t, {
    group: { allow_own_password_change: true },
    services: { web: { type: 'http', port: 0 }, second: { type: 'http', port: 0 } },
    server: {
      password_policy: { minimum_length: 10, character_requirements: ['digit'], history: 2 },
      security_policy: { ban_after_failures: 0 },
    },
  });
  const session = await server.login();
  const other = await server.login();
  const second = new Client(server.service.listening()[1]?.url ?? '');
  const elsewhere = await second.login();
  const update = (current: string, next: string, options = {}) =>
    server.send('POST', '/home/__svc__/password-update', {
      user: null,
      headers: { authorization: `session ${session}`, 'content-type': 'application/json' },
      body: JSON.stringify({ current_password: current, new_password: next }),
      ...options,
    });
  assert.equal(
    (await update(testPassword, 'long enough 1', { user: testUser, headers: { 'content-type': 'application/json' } })).status,
    401,
    'Basic credentials are not enough',
  );
  assert.equal((await update('wrong', 'long enough 1')).status, 422);
  const unmet = await update(testPassword, 'short');
  assert.equal(unmet.status, 422);
  assert.equal(unmet.json<{ errors: unknown[] }>().errors.length, 2);
  assert.equal((await update(testPassword, 'long enough 1')).status, 204);
  assert.equal((await server.get('/home/', { headers: { accept: 'application/json' } })).status, 401, 'the old password is invalid');
  const json = { accept: 'application/json' };
  assert.equal((await server.get('/home/', { user: 'alice:long enough 1', headers: json })).status, 200);
  assert.equal(
    (await server.get('/home/', { user: null, headers: { ...json, authorization: `session ${other}` } })).status,
    401,
    'other sessions ended',
  );
  const onSecond = await second.get('/home/', { user: null, headers: { ...json, authorization: `session ${elsewhere}` } });
  assert.equal(onSecond.status, 401, 'the session at the other service ended, too');
  assert.equal((await server.get('/home/', { user: null, headers: { ...json, authorization: `session ${session}` } })).status, 200);
  assert.equal((await update('long enough 1', 'long enough 1')).status, 422, 'a former password is refused');
  assert.match(readFileSync(join(server.folder, 'data/accounts.yaml'), 'utf8'), /password_overrides:\n {2}alice:/);
  const ids = await server.eventIds();
  assert.deepEqual([ids.includes(20085), ids.includes(20086)], [true, true]);
});

test('a body that is not JSON is shown nowhere, because it can contain a password', async (t) => {
  const server = await startServer(t, { group: { allow_own_password_change: true } });
  const session = await server.login();
  const marker = 'mark-8Kq2';
  learnSecret(marker, 'the password in a body that is no JSON');
  for (const target of ['/__svc__/login', '/home/__svc__/password-update', '/home/'])
    for (const body of [`{"password":"${marker}"x`, `"${marker}`, marker]) {
      const headers = { authorization: `session ${session}`, 'content-type': 'application/json', accept: 'application/json' };
      const reply = await server.send('POST', target, { user: null, headers, body });
      assert.equal(reply.status, 400, `${target} ${body}`);
      const { errors } = reply.json<{ errors: { message: string }[] }>();
      assert.deepEqual(errors[0]?.message, 'The request body is not valid JSON.');
    }
  const refused = (await server.events()).filter(({ id }) => id === '40019');
  assert.equal(refused.length, 9);
  // At the end, log and journal are searched for the whole marker. Here, its first characters are enough, because messages are cut.
  for (const text of [server.log.join(''), JSON.stringify(refused)]) assert.ok(!text.includes(marker.slice(0, 6)), text);
});

test('password-update is refused if the group does not allow it', async (t) => {
  const server = await startServer(t);
  const reply = await server.send('POST', '/home/__svc__/password-update', {
    user: null,
    headers: { authorization: `session ${await server.login()}`, 'content-type': 'application/json' },
    body: `{"current_password":"${testPassword}","new_password":"something else"}`,
  });
  assert.equal(reply.status, 403);
});
