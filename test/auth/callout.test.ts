import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createTls } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Asked, calloutEndpoint as endpoint } from '../support/callout-endpoint.ts';
import { selfSigned } from '../support/certificates.ts';
import { rawEndpoint } from '../support/raw-endpoint.ts';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const json = { accept: 'application/json' };
const get = (server: TestServer, user = 'zoe:pässword') => server.get('/home/', { user, headers: json });

function callout(url: string, more: Record<string, unknown> = {}, service: Record<string, unknown> = {}) {
  return { authentications: { remote: { type: 'http', url, ...more }, local: { type: 'application' } }, service };
}

async function outcomes(server: TestServer): Promise<[string, unknown][]> {
  return (await server.events())
    .filter((event) => /^20(021|1(36|37|42|49)|031)$/.test(event.id))
    .map((event) => [event.id, event.data.details]);
}

test('the request to the endpoint has every member of the specification, and the configured headers', async (t) => {
  const remote = await endpoint(t, (response) => response.writeHead(204).end());
  const server = await startServer(t, callout(remote.url, { headers: 'X-Api-Key: marker-key', username: 'gate', password: 'marker-way' }));
  assert.equal((await get(server)).status, 200);
  const [asked] = remote.asked;
  const { peer, ...credentials } = (asked as Asked).credentials as { peer: Record<string, unknown> };
  assert.deepEqual(credentials, { type: 'password', username: 'zoe', content: 'pässword', creator: { uuid: 'web', type: 'http' } });
  assert.deepEqual({ ...peer, port: 0 }, { address: '127.0.0.1', port: 0, family: 'IPv4', protocol: 'TCP' });
  assert.deepEqual(Object.keys(JSON.parse(asked?.body ?? '')), ['credentials', 'server']);
  assert.equal(asked?.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(asked?.headers['x-api-key'], 'marker-key');
  assert.equal(asked?.headers.authorization, `Basic ${Buffer.from('gate:marker-way').toString('base64')}`);
});

test('each reply of the endpoint has its specified status and events; all refusals show the client the same message', async (t) => {
  let status = 0;
  let body: string | Buffer = '';
  const remote = await endpoint(t, (response) => response.writeHead(status, 'Reason').end(body));
  const server = await startServer(t, callout(remote.url));
  const cases: [number, string | Buffer, number, string][] = [
    [204, '', 200, '20137'],
    [200, '', 200, '20137'],
    [200, '{"account":{}}', 200, '20137'],
    [200, '{}', 200, '20137'],
    [200, '\ufeff{"account":{}}', 200, '20137'],
    [200, '\ufeff', 200, '20137'],
    [200, ' \r\n\t', 200, '20137'],
    [200, '{"account":{"email":"","permissions":[],"virtual_folders":[]}}', 200, '20137'],
    [401, 'unknown', 401, '20021'],
    [403, 'no', 401, '20136'],
    [403, '{"message":"m","extra":"x"}', 401, '20136'],
    ...[201, 301, 302, 307, 400, 404, 418, 429, 500, 503].map((code): [number, string, number, string] => [code, '', 401, '20142']),
    [200, 'no json', 401, '20142'],
    [200, '[]', 401, '20031,20142'],
    [200, Buffer.from([0x7b, 0xff]), 401, '20142'],
    [200, '{"account":null}', 401, '20031,20142'],
    [200, 'null', 401, '20031,20142'],
    [200, '{"account":{},"more":1}', 401, '20149,20142'],
    [200, '{"account":{"Home_Folder_Path":"/x"}}', 401, '20149,20142'],
    [200, '{"account":{"enabled":true}}', 401, '20149,20142'],
    [200, '{"account":{"__proto__":{"email":"a"}}}', 401, '20149,20142'],
    [200, '{"__proto__":{"account":{}}}', 401, '20149,20142'],
    [200, '{"account":{"home_folder_path":"relative"}}', 401, '20031,20142'],
    [200, '{"account":{"create_home_folder":"yes"}}', 401, '20031,20142'],
    [200, '{"account":{"permissions":[["allow-everything"]]}}', 401, '20031,20142'],
    [200, '{"account":{"permissions":"allow-read"}}', 401, '20031,20142'],
    [200, '{"account":{"virtual_folders":[["/a","relative"]]}}', 401, '20031,20142'],
    [200, '{"account":{"home_folder_structure":["../out"]}}', 401, '20031,20142'],
    [200, '{"account":{"home_folder_structure":["a\\nb"]}}', 401, '20031,20142'],
    [200, '{"account":{"group":"NONE"}}', 401, '20031,20142'],
    [200, `"${'x'.repeat(1024 * 1024)}"`, 401, '20142'],
  ];
  for (const [code, text, expected, events] of cases) {
    [status, body] = [code, text];
    const before = (await outcomes(server)).length;
    const reply = await get(server);
    assert.equal(reply.status, expected, `${code} ${String(text).slice(0, 60)}`);
    assert.equal(
      (await outcomes(server))
        .slice(before)
        .map(([id]) => id)
        .join(),
      events,
      `${code} ${String(text).slice(0, 60)}`,
    );
    if (expected === 401)
      assert.deepEqual(reply.json(), { errors: [{ message: 'The name or the password is not correct.', title: 'Unauthorized' }] });
  }
  const [, details] = (await outcomes(server)).find(([id, text]) => id === '20149' && String(text).includes('Home_Folder_Path')) ?? [];
  assert.match(String(details), /keys are lower-case: "home_folder_path"/);
});

test('the next method is asked only after a 401', async (t) => {
  let status = 401;
  const remote = await endpoint(t, (response) => response.writeHead(status).end());
  const server = await startServer(t, callout(remote.url));
  assert.equal((await get(server, testUser)).status, 200, 'the local method knows alice');
  for (status of [403, 500]) assert.equal((await get(server, testUser)).status, 401);
});

test('the account in a 200 reply is applied', async (t) => {
  const folder = temporaryFolder(t);
  const account = {
    home_folder_path: join(folder, 'zoe'),
    create_home_folder: true,
    home_folder_structure: ['in', ['out']],
    uuid: 'z-1',
    email: 'Zoe Z <zoe@example.com>, z@example.com',
    permissions: [
      ['allow-read', 'allow-list'],
      ['/in/*', 'allow-full-control'],
    ],
    virtual_folders: [['/shared', folder]],
  };
  const remote = await endpoint(t, (response) => response.writeHead(200).end(JSON.stringify({ account })));
  const server = await startServer(t, callout(remote.url));
  const user = 'zoe:x';
  assert.deepEqual(await server.names('/home/', { user }), ['in', 'out', 'shared']);
  assert.equal((await server.put('/home/in/a', 'x', { user })).status, 201);
  assert.equal((await server.put('/home/a', 'x', { user })).status, 403);
  const event = (await server.events()).find((candidate) => candidate.id === '40017');
  assert.deepEqual(
    [event?.account.uuid, event?.account.name, event?.account.email, event?.account.emails],
    [
      'z-1',
      'zoe',
      'zoe@example.com',
      [
        ['Zoe Z', 'zoe@example.com'],
        ['', 'z@example.com'],
      ],
    ],
  );
});

test('with public_error the client gets message and public_response, but never extra; without public_error, none of them', async (t) => {
  const body = JSON.stringify({ code: 7, message: '<b>locked</b>', extra: 'ticket-4711', public_response: { a: [1] } });
  const remote = await endpoint(t, (response) => response.writeHead(403).end(body));
  const shown = await startServer(t, callout(remote.url, {}, { public_error: true }));
  const reply = await get(shown);
  assert.deepEqual(reply.json(), { errors: [{ message: '<b>locked</b>', title: 'Unauthorized', response: { a: [1] } }] });
  const page = await shown.send('POST', '/__svc__/login', {
    user: null,
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'username=a&password=b',
  });
  assert.match(page.text, /&lt;b&gt;locked&lt;\/b&gt;/);
  assert.equal(/ticket-4711|public_response/.test(page.text + reply.text), false);
  assert.equal(page.text.includes('<b>'), false);
  const event = (await shown.events()).find((candidate) => candidate.id === '20136');
  assert.deepEqual(event?.data.response, JSON.parse(body));
  const hidden = await startServer(t, callout(remote.url));
  assert.deepEqual((await get(hidden)).json(), {
    errors: [{ message: 'The name or the password is not correct.', title: 'Unauthorized' }],
  });
});

test('if the refusal of Basic credentials redirects to the login page, this page shows the message once, and no URL contains the message', async (t) => {
  const message = `<b>gesperrt</b>;\r\nSet-Cookie: a=b "ü😀" ${'x'.repeat(2000)}`;
  const remote = await endpoint(t, (response) => response.writeHead(403).end(JSON.stringify({ message, extra: 'ticket-4711' })));
  const html = { accept: 'text/html' };
  const shown = await startServer(t, callout(remote.url, {}, { public_error: true }));
  const redirect = await shown.get('/home/a/?b=c', { user: 'zoe:x', headers: html });
  assert.equal(redirect.status, 302);
  assert.equal(redirect.headers.location, '/__svc__/login?next=%2Fhome%2Fa%2F%3Fb%3Dc');
  assert.equal(redirect.headers['www-authenticate'], 'basic realm="Web files access"');
  const [line = ''] = redirect.headers['set-cookie'] as unknown as string[];
  assert.match(line, /^SVC_FLASH=[\w-]{100,2000}; Path=\/__svc__\/login; HttpOnly; SameSite=Lax; Max-Age=60$/);
  const cookie = line.split(';', 1)[0] as string;
  const page = await shown.get(String(redirect.headers.location), { user: null, headers: { ...html, cookie } });
  assert.equal(page.status, 200);
  assert.match(page.text, /role="alert">&lt;b&gt;gesperrt&lt;\/b&gt;; Set-Cookie: a=b (&quot;|&#34;)ü😀(&quot;|&#34;) x{100,300}</);
  assert.match(String(page.headers['set-cookie']), /^SVC_FLASH=; Path=\/__svc__\/login;.* Max-Age=0$/);
  assert.equal(/ticket-4711/.test(page.text + redirect.text + line), false);
  assert.equal((await shown.get('/__svc__/login', { user: null, headers: html })).text.includes('role="alert"'), false);
  const wrong = await shown.get('/__svc__/login', { user: null, headers: { ...html, cookie: 'SVC_FLASH=%%%' } });
  assert.deepEqual([wrong.status, wrong.text.includes('role="alert"')], [200, false]);

  const hidden = await startServer(t, callout(remote.url));
  const quiet = await hidden.get('/home/', { user: 'zoe:x', headers: html });
  assert.deepEqual([quiet.status, quiet.headers['set-cookie']], [302, undefined]);
  const forged = await hidden.get('/__svc__/login', { user: null, headers: { ...html, cookie } });
  assert.equal(forged.text.includes('role="alert"'), false);
});

test('lying replies are rejected; the event has the cause, and the client learns nothing', async (t) => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const faults: [string, (socket: Socket) => void, RegExp][] = [
    ['garbage', (socket) => socket.end('nonsense\r\n\r\n'), /not valid HTTP/],
    ['closed at once', (socket) => socket.destroy(), /closed before the reply/],
    ['half a body', (socket) => socket.end(`${ok}Content-Length: 100\r\n\r\n{"acc`), /closed before the reply/],
    [
      'reset after the headers',
      (socket) => socket.write(`${ok}Content-Length: 5\r\n\r\n`, () => socket.resetAndDestroy()),
      /closed before the reply/,
    ],
    ['bad chunks', (socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), /closed before the reply|not valid HTTP/],
    ['1xx, then nothing', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), /no complete reply within 0.5 s/],
    ['headers, then nothing', (socket) => socket.write(`${ok}Content-Length: 5\r\n\r\n{`), /no complete reply within 0.5 s/],
    [
      'endless',
      (socket) => {
        socket.write(`${ok}\r\n`);
        const pump = () => {
          while (socket.writable && socket.write('x'.repeat(65_536)));
          if (socket.writable) socket.once('drain', pump);
        };
        pump();
      },
      /larger than 1048576 bytes|within 0.5 s/,
    ],
    ['compressed', (socket) => socket.end(`${ok}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08`), /content coding "gzip"/],
  ];
  for (const [name, answer, pattern] of faults) {
    const timeout = pattern.source.includes('within') ? 0.5 : 30;
    const server = await startServer(t, callout(await rawEndpoint(t, answer), { timeout }));
    const reply = await get(server);
    assert.deepEqual(
      [reply.status, reply.json()],
      [401, { errors: [{ message: 'The name or the password is not correct.', title: 'Unauthorized' }] }],
      name,
    );
    const [last] = (await outcomes(server)).slice(-1);
    assert.equal(last?.[0], '20142', name);
    assert.match(String(last?.[1]), pattern, name);
    await server.stop();
  }
});

test('with several URLs, the next one is tried only if there is no reply; a reply with any status is final', async (t) => {
  let status = 204;
  const good = await endpoint(t, (response) => response.writeHead(status).end());
  const dead = 'http://127.0.0.1:1/auth';
  const server = await startServer(t, callout(`${dead}, ${good.url}`));
  for (let round = 0; round < 3; round++) assert.equal((await get(server)).status, 200);
  assert.equal(server.log.filter((line) => line.includes('gave no reply')).length, 1, 'the URL without a reply is suspended');
  const other = await endpoint(t, (response) => response.writeHead(500).end());
  const strict = await startServer(t, callout(`${other.url}, ${good.url}`));
  status = 204;
  assert.equal((await get(strict)).status, 401);
});

test('a callout method whose endpoint fails the test at the start refuses all logins', async (t) => {
  const server = await startServer(t, callout('http://127.0.0.1:1/auth'));
  assert.equal((await get(server, testUser)).status, 401, 'the local method is not asked');
  const stopped = (await server.events()).find((event) => event.id === '20157');
  assert.deepEqual([stopped?.data.uuid, stopped?.data.family, stopped?.data.type], ['remote', 'authentication', 'http']);
  assert.match(String(stopped?.data.reason), /refused/);
});

test('a callout method whose endpoint has an unknown host name refuses all logins', async (t) => {
  const server = await startServer(t, callout('http://nobody.invalid/auth', { timeout: 5 }));
  assert.equal((await get(server)).status, 401);
  assert.match(String((await server.events()).find((event) => event.id === '20157')?.data.reason), /cannot be resolved/);
});

test('a service skips a disabled method of its list, with event 20111', async (t) => {
  const server = await startServer(t, callout('http://127.0.0.1:1/auth', { enabled: 'no' }, { authentications: 'remote, local' }));
  assert.equal((await get(server, testUser)).status, 200);
  assert.ok((await server.eventIds()).includes(20111));
});

test('cache_seconds keeps acceptances but never refusals; without it, every Basic request asks the endpoint', async (t) => {
  const remote = await endpoint(t, (response, { credentials }) => response.writeHead(credentials.content === 'right' ? 204 : 401).end());
  const cached = await startServer(t, callout(remote.url, { cache_seconds: 60 }));
  await Promise.all(Array.from({ length: 8 }, () => get(cached, 'zoe:right')));
  await get(cached, 'zoe:right');
  assert.equal(remote.asked.length, 1);
  await get(cached, 'zoe:wrong');
  await get(cached, 'zoe:wrong');
  assert.equal(remote.asked.length, 3);
  const uncached = await startServer(t, callout(remote.url));
  for (let round = 0; round < 3; round++) await get(uncached, 'zoe:right');
  assert.equal(remote.asked.length, 6);
  const session = { ...json, authorization: `session ${await uncached.login('zoe', 'right')}` };
  for (let round = 0; round < 3; round++) await uncached.get('/home/', { user: null, headers: session });
  assert.equal(remote.asked.length, 7, 'requests of a session do not ask the endpoint again');
});

test('connections to the endpoint are reused: 20 requests, four at a time, need at most five', async (t) => {
  const remote = await endpoint(t, (response) => response.writeHead(204).end());
  const server = await startServer(t, callout(remote.url));
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 4 }, () => get(server)));
  assert.ok(remote.sockets() <= 5, `${remote.sockets()} sockets`);
});

test('a private authority of an https endpoint is trusted only if it is configured', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { key, cert, certPath } = selfSigned(t);
  const server = createTls({ key, cert }, (request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/`;
  assert.equal((await get(await startServer(t, callout(url, { ca_certificates_path: certPath })))).status, 200);
  const untrusting = await startServer(t, callout(url));
  assert.equal((await get(untrusting)).status, 401);
  assert.match(String((await untrusting.events()).find((event) => event.id === '20157')?.data.reason), /TLS failed/);
});

test('no secret appears in a log line or in the journal', async (t) => {
  const secrets = ['marker-password', 'marker-key', 'marker-basic', 'marker-query'];
  const remote = await endpoint(t, (response) => response.writeHead(200).end('{"account":{"marker-reply-key":1}}'));
  const urls = `http://127.0.0.1:1/auth?key=marker-query, ${remote.url}`;
  const server = await startServer(t, callout(urls, { headers: 'X-Key: marker-key', username: 'u', password: 'marker-basic' }));
  await get(server, 'zoe:marker-password');
  await server.send('POST', '/__svc__/login', {
    user: null,
    headers: { 'content-type': 'application/json' },
    body: '{"username":"zoe","password":"marker-password"}',
  });
  await server.stop();
  const all = server.log.join('') + readFileSync(join(server.folder, 'data/journal/events-00000001.ndjson'), 'utf8');
  assert.match(all, /gave no reply/);
  for (const secret of secrets) assert.equal(all.includes(secret), false, secret);
});
