import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { asOperator, asViewer, cookieOf, operatorPassword, startConsole } from '../support/console.ts';

test('requests for a foreign host name are refused, because its owner could point it at the console (DNS rebinding)', async (t) => {
  const { console } = await startConsole(t, {}, { accepted_origins: ['https://console.example.com'] });
  const get = (target: string, host: string) => console.get(target, { ...asOperator, headers: { host } });
  for (const host of [
    'evil.example',
    `evil.example:${console.port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'x y',
    '[::1',
    'console.example.com.',
  ])
    for (const target of ['/', '/api/me', '/api/login', '/nothing'])
      assert.equal((await get(target, host)).status, 403, `${target} at ${host}`);
  const login = await console.post('/api/login', { username: 'olga', password: operatorPassword }, { headers: { host: 'evil.example' } });
  assert.deepEqual([login.status, login.headers['set-cookie']], [403, undefined]);
  for (const host of [
    'localhost',
    `LOCALHOST:${console.port}`,
    '127.0.0.1',
    '[::1]:9',
    '192.0.2.7:8080',
    'console.example.com',
    'Console.Example.com:443',
  ])
    assert.equal((await get('/api/me', host)).status, 200, host);
});

test('viewers, pages of other origins, foreign session IDs, used login links and bad bodies have no effect', async (t) => {
  const { server, console } = await startConsole(t);
  const codeOf = (reply: { json<T>(): T }) => reply.json<{ errors: [{ code: string }] }>().errors[0].code;

  await t.test('a viewer cannot change anything', async () => {
    const { cookie, origin } = await console.session('vera', asViewer.user.slice(5));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'MKCOL']) {
      for (const options of [asViewer, { headers: { cookie, origin } }]) {
        const reply = await console.send(method, '/api/me', options);
        assert.deepEqual([reply.status, codeOf(reply)], [403, 'forbidden'], method);
      }
    }
    assert.equal((await console.send('POST', '/api/me', asOperator)).status, 405);
  });

  await t.test('requests that a page of another origin sends with a signed-in browser are refused', async () => {
    const { cookie, origin } = await console.session();
    const refusedHeads = [
      { cookie, origin: 'https://evil.example' },
      { cookie, origin: 'null' },
      { cookie, referer: 'https://evil.example/x' },
      { cookie, origin, 'sec-fetch-site': 'cross-site' },
      { cookie, origin, 'sec-fetch-site': 'same-site' },
      { cookie },
    ];
    for (const headers of refusedHeads)
      assert.equal((await console.send('POST', '/api/logout', { headers })).status, 403, JSON.stringify(headers));
    const basic = await console.send('POST', '/api/me', { ...asOperator, headers: { origin: 'https://evil.example' } });
    assert.equal(basic.status, 403);
    const login = await console.post(
      '/api/login',
      { username: 'olga', password: operatorPassword },
      { headers: { origin: 'https://evil.example' } },
    );
    assert.equal(login.status, 403);
    assert.equal((await console.get('/api/me', { headers: { cookie } })).status, 200, 'the session continues');
    // Forms and other requests without a preflight cannot have the content type of JSON.
    const form = { headers: { 'content-type': 'text/plain' }, body: JSON.stringify({ username: 'olga', password: operatorPassword }) };
    assert.equal((await console.send('POST', '/api/login', form)).status, 415);
  });

  await t.test('a session ID that was chosen by somebody else, or existed before a login, is invalid', async () => {
    const chosen = { cookie: 'svc_console=chosen-by-somebody-else', origin: console.url };
    const first = await console.post('/api/login', { username: 'olga', password: operatorPassword }, { headers: chosen });
    assert.notEqual(cookieOf(first), chosen.cookie);
    assert.equal((await console.get('/api/me', { headers: chosen })).status, 401);
    const headers = { cookie: cookieOf(first), origin: console.url };
    const second = await console.post('/api/login', { username: 'olga', password: operatorPassword }, { headers });
    assert.equal((await console.get('/api/me', { headers })).status, 401, 'the earlier session is invalid');
    assert.equal((await console.get('/api/me', { headers: { cookie: cookieOf(second) } })).status, 200);
  });

  await t.test('a login link logs in once', async () => {
    const link = new URL(server.service.consoleLink('olga') ?? '');
    assert.deepEqual([link.origin, link.search], [console.url, '']);
    const token = link.hash.slice('#token='.length);
    const first = await console.post('/api/login/link', { token });
    assert.deepEqual([first.status, first.json()], [200, { name: 'olga', role: 'operator' }]);
    assert.equal((await console.get('/api/me', { headers: { cookie: cookieOf(first) } })).status, 200);
    assert.equal((await console.post('/api/login/link', { token })).status, 401);
    assert.equal((await console.post('/api/login/link', { token: 'guessed' })).status, 401);
    const nobody = new URL(server.service.consoleLink('nobody') ?? '').hash.slice('#token='.length);
    assert.equal((await console.post('/api/login/link', { token: nobody })).status, 401);
  });

  await t.test('bodies that are invalid, too large, or endless are refused', async () => {
    const json = { 'content-type': 'application/json' };
    for (const body of ['', '[]', '"x"', '{"username":1,"password":2}', '{', '['.repeat(100)])
      assert.equal((await console.send('POST', '/api/login', { headers: json, body })).status, 400, body);
    const large = JSON.stringify({ username: 'olga', password: 'x'.repeat(17_000) });
    assert.equal((await console.send('POST', '/api/login', { headers: json, body: large })).status, 413);
    // An endless body gets a reply as soon as it is too large, and its connection is closed.
    const socket = connect(console.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write('POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
    const feeder = setInterval(() => socket.write(`1000\r\n${'x'.repeat(4096)}\r\n`), 5);
    await ended;
    clearInterval(feeder);
    assert.match(text, /^HTTP\/1\.1 413 .*connection: close/is);
  });
});

test('an address that guesses at the console is banned there for all requests; guesses at files are counted separately', async (t) => {
  const { server, console } = await startConsole(t, { server: { security_policy: { ban_after_failures: 3, ban_seconds: 300 } } });
  const statuses: number[] = [];
  for (let guess = 0; guess < 4; guess++)
    statuses.push((await console.post('/api/login', { username: `root${guess}`, password: `guess-${guess}` })).status);
  assert.deepEqual(statuses, [401, 401, 401, 429]);
  const right = await console.get('/api/me', asOperator);
  assert.equal(right.status, 429);
  assert.ok(Number(right.headers['retry-after']) > 0);
  assert.equal((await console.post('/api/login/link', { token: 'guess' })).status, 429);
  assert.equal((await server.get('/home/')).status, 200, 'a ban at the console does not apply to the files');
  for (let guess = 0; guess < 4; guess++) await server.get('/home/', { user: `nobody${guess}:guess-${guess}` });
  assert.equal((await server.get('/home/')).status, 429);
  assert.ok((await server.events()).some(({ id, component }) => id === '20005' && component.type === 'console'));
});

test('operators whose address is banned because of guesses at files can sign in to the console, see this ban and lift it', async (t) => {
  const { server, console } = await startConsole(t, { server: { security_policy: { ban_after_failures: 3, ban_seconds: 300 } } });
  for (let guess = 0; guess < 4; guess++) await server.get('/home/', { user: `nobody${guess}:guess-${guess}` });
  assert.equal((await server.get('/home/')).status, 429);
  const { cookie, origin } = await console.session();
  const headers = { cookie, origin };
  const bans = async () => (await console.get('/api/bans', { headers })).json<{ items: { address: string; logins: string }[] }>().items;
  assert.deepEqual(
    (await bans()).map(({ address, logins }) => [address, logins]),
    [['127.0.0.1', 'files']],
  );
  assert.equal((await console.send('DELETE', '/api/bans?all=1', { headers })).status, 200);
  assert.equal((await server.get('/home/')).status, 200);
});
