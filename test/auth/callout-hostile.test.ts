import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { run } from '../support/child.ts';
import { rawEndpoint } from '../support/raw-endpoint.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

function replying(t: TestContext, reply: string | Buffer): Promise<string> {
  return rawEndpoint(t, (socket) => socket.end(reply));
}

function withLength(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

const startWith = (t: TestContext, url: string) =>
  startServer(t, { authentications: { remote: { type: 'http', url } }, service: { public_error: true } });

const login = (server: TestServer) => server.get('/home/', { user: 'zoe:marker-word', headers: { accept: 'application/json' } });

async function refusals(server: TestServer): Promise<Record<string, unknown>[]> {
  return (await server.events()).filter(({ id }) => id === '20136' || id === '20142').map(({ id, data }) => ({ id, ...data }));
}

for (const [name, body] of [
  ['a public_response 5,000 levels deep', `{"message":"no","public_response":${lists(5000)}}`],
  ['a public_response 100,000 levels deep', `{"public_response":${lists(100_000)}}`],
  ['100,000 levels of lists instead of an object', lists(100_000)],
  ['a public_response one level too deep', `{"message":"no","public_response":${lists(64)}}`],
] as const) {
  test(`a 403 with ${name} refuses the account, and its body is not passed on`, async (t) => {
    const server = await startWith(t, await replying(t, withLength('403 No', body)));
    for (let time = 0; time < 2; time++) {
      const reply = await login(server);
      assert.equal(reply.status, 401);
      assert.deepEqual(reply.json(), { errors: [{ message: 'The name or the password is not correct.', title: 'Unauthorized' }] });
    }
    const events = await refusals(server);
    assert.deepEqual(
      events.map(({ id, response }) => [id, response]),
      Array(2).fill(['20136', undefined]),
    );
    assert.match(String(events[0]?.details), /nested deeper than 64 levels/);
  });
}

test('the body of a 403 with 64 levels is passed on whole', async (t) => {
  const publicResponse = JSON.parse(lists(63)) as unknown;
  const server = await startWith(t, await replying(t, withLength('403 No', `{"message":"[{[{","public_response":${lists(63)}}`)));
  const reply = await login(server);
  assert.deepEqual(reply.json(), { errors: [{ message: '[{[{', title: 'Unauthorized', response: publicResponse }] });
  const [event] = await refusals(server);
  assert.deepEqual([event?.id, event?.response], ['20136', { message: '[{[{', public_response: publicResponse }]);
});

const account = '{"account":{}}';
const chunked = (body: Buffer | string) =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(body).toString(16)}\r\n`), Buffer.from(body), Buffer.from('\r\n0\r\n\r\n')]);
const coded = (headers: string, body: Buffer | string) =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n\r\n`),
    Buffer.from(body),
  ]);

/** Replies that would accept an account if their coding were allowed. */
const codings: [string, Buffer][] = [
  ['Transfer-Encoding: gzip, chunked, and a body that is not gzip', coded('Transfer-Encoding: gzip, chunked', chunked(account))],
  ['Transfer-Encoding: gzip, chunked, and a body in gzip', coded('Transfer-Encoding: gzip, chunked', chunked(gzipSync(account)))],
  ['Transfer-Encoding: gzip', coded('Transfer-Encoding: gzip', account)],
  ['Transfer-Encoding: x-rot13, chunked', coded('Transfer-Encoding: x-rot13, chunked', chunked(account))],
  ['Transfer-Encoding twice', coded('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked(account))],
  ['Transfer-Encoding: identity', coded('Transfer-Encoding: identity', account)],
  ['Transfer-Encoding, empty', coded('Transfer-Encoding: ', account)],
  ['Content-Encoding: gzip, and a body that is not gzip', coded(`Content-Encoding: gzip\r\nContent-Length: ${account.length}`, account)],
  ['Content-Encoding: br of an empty body', coded('Content-Encoding: br\r\nContent-Length: 0', '')],
  ['Content-Encoding: identity, then deflate', coded('Content-Encoding: identity\r\nContent-Encoding: deflate', account)],
  ['a 204 with Transfer-Encoding: gzip', Buffer.from('HTTP/1.1 204 Fine\r\nTransfer-Encoding: gzip\r\n\r\n')],
];

for (const [name, reply] of codings) {
  test(`a reply in a coding that was not requested is invalid: ${name}`, async (t) => {
    const url = await replying(t, reply);
    const server = await startWith(t, url);
    assert.equal((await login(server)).status, 401);
    const [event] = await refusals(server);
    assert.deepEqual([event?.id, /invalid reply|not UTF-8 JSON/.test(String(event?.details))], ['20142', true], String(event?.details));
    const end = await run(t, ['auth-test', '--url', url, '--username', 'zoe', '--password', 'marker-word'], { cwd: temporaryFolder(t) });
    assert.deepEqual([end.code, end.stderr], [12, ''], end.stdout);
  });
}

test('codings that leave the content unchanged are accepted', async (t) => {
  for (const headers of ['Transfer-Encoding: Chunked', 'Transfer-Encoding: chunked\r\nContent-Encoding: identity']) {
    const server = await startWith(t, await replying(t, coded(headers, chunked(account))));
    assert.equal((await login(server)).status, 200, headers);
  }
});

test('a reply in an unsupported version of HTTP is invalid', async (t) => {
  for (const version of ['0.9', '2.0']) {
    const server = await startWith(t, await replying(t, `HTTP/${version} 200 OK\r\nContent-Length: 0\r\n\r\n`));
    assert.equal((await login(server)).status, 401, version);
  }
});

/** Name, status, body, exit code of `svc auth-test`, and its output. */
const odd: [string, string, string, number, RegExp][] = [
  ['a 403 of 100,000 levels', '403 No', `{"public_response":${lists(100_000)}}`, 11, /nested deeper than 64 levels/],
  ['a 403 whose body is a list of 100,000 levels', '403 No', lists(100_000), 11, /nested deeper than 64 levels/],
  ['a 200 of 100,000 levels', '200 OK', `{"account":${lists(100_000)}}`, 12, /nested deeper than 64 levels/],
  ['a 200 of 65 levels', '200 OK', lists(65), 12, /nested deeper than 64 levels/],
  ['a 200 of 400,000 values', '200 OK', `{"account":{"permissions":[[${'1,'.repeat(400_000)}1]]}}`, 12, /more than 20000 values/],
  [
    'a 200 of 10,000 unknown keys',
    '200 OK',
    `{${Array.from({ length: 10_000 }, (_, key) => `"k${key}":1`).join()}}`,
    12,
    /"k19\\?" is not/,
  ],
  ['a 500 of 100,000 levels', '500 Oh', lists(100_000), 11, /status 500/],
];

for (const [name, status, body, code, pattern] of odd) {
  test(`auth-test reports a result for ${name}`, async (t) => {
    const url = await replying(t, withLength(status, body));
    for (const args of [[], ['--json']]) {
      const end = await run(t, ['auth-test', '--url', url, '--username', 'zoe', '--password', 'marker-word', ...args], {
        cwd: temporaryFolder(t),
      });
      assert.deepEqual([end.code, end.stderr], [code, ''], end.stdout);
      assert.match(end.stdout, pattern);
      assert.ok(end.stdout.length < 10_000, 'only some findings of each kind are printed');
    }
  });
}

test('accounts whose members would take too much work are refused quickly; accounts with lists at the limits are accepted', async (t) => {
  let account: Record<string, unknown> = {};
  const url = await rawEndpoint(t, (socket) => socket.end(withLength('200 OK', JSON.stringify({ account }))));
  const server = await startWith(t, url);
  const rules = (count: number, expression: string) => ({
    permissions: [['allow-full-control'], ...Array.from({ length: count }, () => [expression, 'allow-read'])],
  });
  const folders = (count: number) => Array.from({ length: count }, (_, index) => [`/v${index}`, server.home]);
  const structure = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);
  const costly = [
    rules(1, `e/${'a{0,1000}'.repeat(400)}/`),
    rules(6000, 'e/(a|b|c){1000}/'),
    rules(1, `*${'?a'.repeat(1500)}`),
    rules(5000, '/x*'),
    { virtual_folders: folders(5000) },
    { home_folder_structure: structure(9000) },
    { home_folder_structure: structure(200).map((name) => `${name}${'/a'.repeat(1900)}`) },
    { home_folder_path: `/${'a'.repeat(100_000)}` },
    { uuid: 'a'.repeat(100_000) },
    { email: 'a@b.c,'.repeat(100_000) },
  ];
  for (account of costly) {
    const before = process.cpuUsage();
    assert.equal((await login(server)).status, 401);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 2_000_000, `${JSON.stringify(account).slice(0, 60)}: ${(user + system) / 1000} ms`);
  }
  assert.equal((await refusals(server)).length, costly.length);
  for (const event of await server.events())
    assert.ok(JSON.stringify(event).length < 10_000, `event ${event.id} repeats too much of the account`);
  const allowed = [
    { ...rules(999, '/never/*'), virtual_folders: folders(1000), home_folder_structure: structure(200) },
    rules(10, 'e/^\\/in\\/\\d{4}-\\d{2}-\\d{2}\\.csv$/i'),
  ];
  for (account of allowed) assert.equal((await login(server)).status, 200);
});

test('only the beginning of an unknown key of one megabyte is reported', async (t) => {
  const body = JSON.stringify({ account: { [`home_${'x'.repeat(900_000)}`]: 1 } });
  const server = await startWith(t, await replying(t, withLength('200 OK', body)));
  assert.equal((await login(server)).status, 401);
  const [event] = await refusals(server);
  assert.match(String(event?.details), /"account\.home_x{95}…" is not known/);
  assert.ok(JSON.stringify(await server.events()).length < 20_000);
});
