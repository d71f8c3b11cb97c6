import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { accountOperations } from '../support/account-operations.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import type { TestReply, TestRequest } from '../support/client.ts';
import { heldOperations } from '../support/held-operations.ts';
import { Contract } from '../support/openapi-contract.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { fillDisk, smallDisk, unremovable } from '../support/small-disk.ts';
import { tokenOperations } from '../support/token-operations.ts';
import { trashKeeper } from '../support/trash.ts';

const json = { accept: 'application/json' };
const html = { accept: 'text/html' };
const asJson = { 'content-type': 'application/json', ...json };
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
const foreign = { origin: 'https://evil.example' };
/** Statuses that the tests below cause, because each needs a folder or a disk of its own. */
const producedBelow = ['delete /home/{folder}/ 422', 'delete /home/{file} 507', 'delete /home/{folder}/ 507', 'put /home/{folder}/ 507'];

test('the description is valid OpenAPI 3.0.3, and all its references exist', async (t) => {
  const server = await startServer(t);
  const reply = await server.get('/__svc__/openapi.yaml', { user: null });
  assert.match(String(reply.headers['content-type']), /^application\/yaml/);
  const result = await new Validator().validate(parse(reply.text));
  assert.equal(result.valid, true, JSON.stringify(result.errors));
  const { operations, document } = contractOf(reply.text);
  for (const [, reference] of reply.text.matchAll(/\$ref: '#\/([^']+)'/g)) {
    const target = (reference ?? '').split('/').reduce((at, key) => at?.[key as never], document as object | undefined);
    assert.ok(target, reference);
  }
  for (const kind of ['responses', 'headers', 'schemas', 'parameters'] as const) {
    for (const name of Object.keys((document as never as { components: Record<string, object> }).components[kind] ?? {}))
      assert.ok(reply.text.includes(`#/components/${kind}/${name}'`), `${kind}/${name} is not used`);
  }
  const ids = operations.map(([, operation]) => (operation as never as { operationId: string }).operationId);
  assert.equal(new Set(ids).size, ids.length);
});

function contractOf(yaml: string) {
  const contract = new Contract(yaml);
  return { contract, operations: contract.operations(), document: contract.document };
}

/** Sends a request and validates its reply against the document. */
type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

function exerciseOf(server: TestServer, contract: Contract): Exercise {
  return async (method, path, target, status, options = {}) => {
    const reply = await server.send(method, target, options);
    assert.equal(reply.status, status, `${method} ${target}: ${reply.text.slice(0, 300)}`);
    contract.check(method, path, reply);
    return reply;
  };
}
test('every operation and status: live replies conform to the description', async (t) => {
  const main = await startServer(t, {
    expectations: { daily: { account: 'alice', path: '/*', every: '1d' } },
    group: { allow_own_password_change: true, show_recent: true, show_expectations: true },
    groups: { reader: { home_folder_path: '/nonexistent', permissions: [['allow-read', 'allow-list']] }, none: { permissions: [[]] } },
    accounts: { keeper: await trashKeeper(t) },
    service: { maximum_request_size: 100_000, triggers: ['Approve'] },
  });
  const { contract } = contractOf((await main.get('/__svc__/openapi.yaml', { user: null })).text);
  const banned = await startServer(t, { server: { security_policy: { ban_after_failures: 1 } } });
  const denied = await startServer(t, { group: { permissions: [[]], allow_own_password_change: false } });
  const small = await startServer(t, { group: { quota_size: 10 } });
  writeFileSync(join(small.home, 'full'), 'x'.repeat(20));
  await banned.get('/home/', { user: 'alice:wrong' });

  await tokenOperations(exerciseOf(main, contract), exerciseOf(denied, contract), exerciseOf(banned, contract));
  await sessionOperations(main, exerciseOf(main, contract), exerciseOf(banned, contract), exerciseOf(denied, contract), denied);
  await fileOperations(exerciseOf(main, contract));
  await uploadOperations(main, exerciseOf(main, contract), { denied, small, banned }, contract);
  await folderOperations(main, exerciseOf(main, contract));
  await heldOperations(t, (server) => exerciseOf(server, contract), exerciseOf(banned, contract));
  await loginRedirects(t, main, contract);
  for (const server of [banned, denied, small]) await refusals(server, exerciseOf(server, contract), { banned, denied, small });
  assert.deepEqual(
    contract.unseen().filter((name) => !producedBelow.includes(name)),
    [],
    'operations and statuses that are described, but were never seen',
  );
});

/** A client that accepts `text/html` and is not logged in is redirected to the login page, with a message if the endpoint has one. */
async function loginRedirects(t: TestContext, main: TestServer, contract: Contract) {
  const remote = await calloutEndpoint(t, (response) => response.writeHead(403).end('{"message":"locked"}'));
  const telling = await startServer(t, {
    authentications: { remote: { type: 'http', url: remote.url } },
    service: { public_error: true },
  });
  for (const [name, { responses }] of contract.operations()) {
    const [method = '', path = ''] = name.split(' ');
    if (!('401' in responses) || path === '/__svc__/login') continue;
    const target = path.replace('{file}', 'a').replace('{folder}', 'area');
    const plain = await exerciseOf(main, contract)(method.toUpperCase(), path, target, 302, { user: null, headers: html });
    assert.match(String(plain.headers['www-authenticate']), /^basic /, name);
    assert.match(String(plain.headers['content-type']), /^text\/html/, name);
    const told = await exerciseOf(telling, contract)(method.toUpperCase(), path, target, 302, { user: 'zoe:x', headers: html });
    const cookie = String(told.headers['set-cookie']).split(';', 1)[0] as string;
    await exerciseOf(telling, contract)('GET', '/__svc__/login', '/__svc__/login', 200, { user: null, headers: { ...html, cookie } });
  }
}

async function sessionOperations(main: TestServer, send: Exercise, asBanned: Exercise, asDenied: Exercise, denied: TestServer) {
  const login = '/__svc__/login';
  const credentials = `{"username":"alice","password":"${testPassword}"}`;
  await send('POST', login, login, 200, { user: null, headers: asJson, body: credentials });
  await send('POST', login, login, 302, { user: null, headers: { ...asForm, ...html }, body: `username=alice&password=${testPassword}` });
  await send('POST', login, login, 400, { user: null, headers: asJson, body: '{' });
  await send('POST', login, login, 401, { user: null, headers: asJson, body: '{"username":"alice","password":"no"}' });
  await send('POST', login, login, 401, { user: null, headers: { ...asForm, ...html }, body: 'username=alice&password=no' });
  await send('POST', login, login, 413, { user: null, headers: { ...asForm, ...json }, body: 'x'.repeat(20_000) });
  await send('POST', login, login, 415, { user: null, headers: { 'content-type': 'text/plain', ...json }, body: 'x' });
  await asBanned('POST', login, login, 429, { user: null, headers: asJson, body: credentials });
  await send('GET', login, login, 200, { user: null });
  for (const name of ['openapi.yaml', 'openapi.html'] as const)
    await send('GET', `/__svc__/${name}`, `/__svc__/${name}`, 200, { user: null });

  const logout = '/__svc__/logout';
  await send('POST', logout, logout, 204, { headers: json });
  await send('POST', logout, logout, 302, { headers: html });
  await send('POST', logout, logout, 400, { headers: { ...json, ...foreign } });
  await send('GET', logout, logout, 204, { headers: json });
  await send('GET', logout, logout, 302, { headers: html });

  const update = '/home/__svc__/password-update';
  const inSession = { authorization: `session ${await main.login()}` };
  const change = (current: string, wanted: string) => JSON.stringify({ current_password: current, new_password: wanted });
  await send('GET', update, update, 200, { headers: inSession });
  await send('GET', update, update, 401, { headers: json });
  await asDenied('GET', update, update, 403, { headers: { authorization: `session ${await denied.login()}`, ...html } });
  await asBanned('GET', update, update, 429, { headers: json });
  const recent = '/home/__svc__/recent';
  await send('GET', recent, recent, 200, { headers: html });
  await send('GET', recent, recent, 302, { user: null, headers: html });
  await send('GET', recent, recent, 401, { user: null, headers: json });
  await asDenied('GET', recent, recent, 403, { headers: html });
  await asBanned('GET', recent, recent, 429, { headers: json });
  await accountOperations(main, send, asDenied, asBanned);
  await send('POST', update, update, 400, { headers: { ...inSession, ...asJson }, body: '{' });
  await send('POST', update, update, 401, { headers: asJson, body: change(testPassword, 'another one') });
  await asDenied('POST', update, update, 403, {
    headers: { authorization: `session ${await denied.login()}`, ...asJson },
    body: change(testPassword, 'another one'),
  });
  await send('POST', update, update, 413, { headers: { ...inSession, ...asForm, ...json }, body: 'x'.repeat(20_000) });
  await send('POST', update, update, 415, { headers: { ...inSession, 'content-type': 'text/plain' }, body: 'x' });
  await send('POST', update, update, 422, { headers: { ...inSession, ...asJson }, body: change('wrong', 'another one') });
  await send('POST', update, update, 422, {
    headers: { ...inSession, ...asForm, ...html },
    body: 'current_password=x&new_password=another1',
  });
  await asBanned('POST', update, update, 429, { headers: asJson, body: change(testPassword, 'another one') });
  await send('POST', update, update, 204, { headers: { ...inSession, ...asJson }, body: change(testPassword, 'another one') });
  const back = 'current_password=another+one&new_password=marker+again';
  await send('POST', update, update, 303, { headers: { ...inSession, ...asForm, ...html }, body: back });
  const again = { ...inSession, ...asJson };
  await main.send('POST', update, { headers: again, body: change('marker again', testUser) });
}

async function fileOperations(send: Exercise) {
  const file = '/home/{file}';
  const user = `alice:${testUser}`;
  const to = (method: string, target: string, status: number, headers: TestRequest['headers'] = {}, body?: string) =>
    send(method, file, target, status, { user, headers: { ...json, ...headers }, ...(body === undefined ? {} : { body }) });
  await to('PUT', '/home/a%20b', 201, { 'x-oc-mtime': '1700000000' }, 'content');
  await to('PUT', '/home/a%20b', 400, { 'content-md5': 'nonsense' }, 'x');
  await send('PUT', file, '/home/a', 401, { user: null, headers: json, body: 'x' });
  await to('PUT', '/home/missing/a', 409, {}, 'x');
  await to('PUT', '/home/a%20b', 412, { 'if-none-match': '*' }, 'x');
  await to('PUT', '/home/a', 413, {}, 'x'.repeat(100_001));
  await to('PUT', '/home/a', 415, { 'content-encoding': 'gzip' }, 'x');
  await send('PUT', '/home/{folder}/', '/home/d/', 201, { user });
  for (const method of ['GET', 'HEAD']) {
    await to(method, '/home/a%20b', 200, method === 'GET' ? { 'want-repr-digest': 'sha-256=1' } : {});
    await to(method, '/home/a%20b', 304, { 'if-none-match': '*' });
    await to(method, '/home/d', 302);
    await send(method, file, '/home/a%20b', 401, { user: null, headers: json });
    await to(method, '/home/missing', 404);
    await to(method, '/home/a%20b', 412, { 'if-match': '"x"' });
  }
  await to('GET', '/home/a%20b?inline', 206, { range: 'bytes=0-1' });
  await to('GET', '/home/a%20b', 206, { range: 'bytes=0-1,3-4' });
  await to('GET', '/home/a%20b', 416, { range: 'bytes=99-' });
  await to('GET', '/home/%ff', 400);
  await to('GET', '/home/missing', 404, html);
  await to('OPTIONS', '/home/a%20b', 204);
  await to('DELETE', '/home/a%20b', 412, { 'if-match': '"x"' });
  await to('DELETE', '/home/d', 307);
  await to('DELETE', '/home/a%20b', 400, foreign);
  await send('DELETE', file, '/home/a%20b', 401, { user: null, headers: json });
  await to('DELETE', '/home/a%20b', 204);
  await to('DELETE', '/home/a%20b', 404);
}

async function uploadOperations(
  main: TestServer,
  send: Exercise,
  others: Record<'denied' | 'small' | 'banned', TestServer>,
  contract: Contract,
) {
  const [asDenied, asSmall, asBanned] = [others.denied, others.small, others.banned].map((server) => exerciseOf(server, contract)) as [
    Exercise,
    Exercise,
    Exercise,
  ];
  const user = `alice:${testUser}`;
  const collection = '/home/__svc__/uploads/';
  const post = (status: number, headers: Record<string, string>, body?: string) =>
    send('POST', collection, collection, status, { user, headers: { ...json, ...headers }, ...(body !== undefined && { body }) });
  const tus = { 'tus-resumable': '1.0.0' };
  const named = { 'upload-metadata': 'path L3Vw' };
  const part = { 'upload-complete': '?0', ...named };
  const bytes = { 'content-type': 'application/offset+octet-stream' };
  const wrongChecksum = { 'upload-checksum': 'md5 AAAAAAAAAAAAAAAAAAAAAA==' };
  await post(201, { 'upload-complete': '?1', ...named }, 'all');
  await post(400, { ...tus, ...named });
  await send('POST', collection, collection, 401, { user: null, headers: json });
  await post(403, { ...part, 'upload-metadata': 'path L19fc3ZjX18vYQ==' });
  await post(409, { ...part, 'upload-metadata': 'path L25vbmUvYQ==' });
  await post(412, { ...part, 'if-none-match': '*' });
  await post(413, { ...tus, ...named, ...bytes, 'upload-length': '100001' }, 'x'.repeat(100_001));
  await post(415, { ...tus, ...named, 'upload-length': '1' }, 'x');
  await post(422, { ...tus, 'upload-metadata': 'path L25vbmUvYQ==', 'upload-length': '1' });
  await post(460, { ...tus, ...named, ...bytes, 'upload-length': '1', ...wrongChecksum }, 'x');
  await asSmall('POST', collection, collection, 507, { headers: { ...json, ...tus, ...named, 'upload-length': '100' } });
  await asDenied('POST', collection, collection, 403, { headers: { ...json, ...part } });

  const upload = '/home/__svc__/uploads/{upload}';
  const draft = String((await post(201, part, 'begin')).headers.location);
  const byTus = String((await post(201, { ...tus, ...named, 'upload-length': '10' })).headers.location);
  const deferred = String((await post(201, { ...tus, ...named, 'upload-defer-length': '1' })).headers.location);
  const to = (method: string, target: string, status: number, headers: Record<string, string> = {}, body?: string) =>
    send(method, upload, target, status, { user, headers: { ...json, ...headers }, ...(body !== undefined && { body }) });
  for (const target of [byTus, deferred]) await to('HEAD', target, 200, tus);
  await to('HEAD', draft, 204);
  await asBanned('POST', collection, collection, 429, { headers: json });
  for (const method of ['PATCH', 'DELETE']) await asBanned(method, upload, draft, 429, { headers: json });
  for (const method of ['HEAD', 'PATCH', 'DELETE']) {
    await send(method, upload, draft, 401, { user: null, headers: json });
    const headers = { 'upload-offset': '0', 'upload-complete': '?0', 'content-type': 'application/partial-upload' };
    await to(method, `${collection}unknown`, 404, headers);
  }
  const append = { 'upload-offset': '5', 'upload-complete': '?0', 'content-type': 'application/partial-upload' };
  await to('PATCH', draft, 204, append, 'more');
  await to('PATCH', draft, 409, append, 'more');
  await to('PATCH', draft, 415, { ...append, 'content-type': 'text/plain' }, 'more');
  await to('PATCH', draft, 400, { 'content-type': 'application/partial-upload' });
  await to('PATCH', draft, 413, { ...append, 'upload-offset': '9' }, 'x'.repeat(100_001));
  await to('PATCH', draft, 201, { ...append, 'upload-offset': '9', 'upload-complete': '?1' }, 'end');
  const offset = (bytesThere: number) => ({ ...tus, ...bytes, 'upload-offset': String(bytesThere) });
  await to('PATCH', byTus, 460, { ...offset(0), ...wrongChecksum }, 'x');
  await to('PATCH', byTus, 412, { ...offset(0), 'tus-resumable': '2.0.0' }, 'x');
  await to('PATCH', byTus, 204, offset(0), 'ten bytes!');
  const taken = String((await post(201, { ...tus, 'upload-metadata': 'path L3Rha2Vu', 'upload-length': '1' })).headers.location);
  await send('PUT', '/home/{folder}/', '/home/taken/', 201, { user });
  await to('PATCH', taken, 422, offset(0), 'x');
  await to('HEAD', taken, 410);
  await to('PATCH', taken, 410, { ...append, 'upload-offset': '0' });
  await to('DELETE', deferred, 204, tus);
  for (const [path, target] of [
    [collection, collection],
    [upload, draft],
  ] as const)
    await send('OPTIONS', path, target, 204, { user: null });
  await main.send('DELETE', '/home/up', { user });
}

async function folderOperations(server: TestServer, send: Exercise) {
  const user = `alice:${testUser}`;
  mkdirSync(join(server.home, 'area'));
  for (const [path, base] of [
    ['/home/{folder}/', '/home/area/'],
    ['/home/', '/home/'],
  ] as const) {
    const to = (method: string, status: number, headers: TestRequest['headers'] = {}, body?: string) =>
      send(method, path, base, status, { user, headers: { ...json, ...headers }, ...(body === undefined ? {} : { body }) });
    writeFileSync(join(server.home, base.slice('/home/'.length), 'member'), 'x');
    for (const accept of ['application/json', 'application/zip', 'text/html']) await to('GET', 200, { accept });
    await to('GET', 200, { ...html, cookie: 'SVC_FLASH=deleted-1' });
    await to('HEAD', 200);
    await to('HEAD', 200, html);
    for (const method of ['GET', 'HEAD', 'POST']) await send(method, path, base, 401, { user: null, headers: json });
    await to('OPTIONS', 204);
    const commands = (command: string, target: string) => JSON.stringify({ commands: [{ command, target }] });
    await to('POST', 200, asJson, commands('create-folder', 'made'));
    await to('POST', 422, asJson, commands('create-folder', 'made'));
    await to('POST', 400, asJson, '{}');
    await to('POST', 415, { 'content-type': 'text/plain' }, 'x');
    await to('POST', 413, asJson, ' '.repeat(1_100_000));
    await to('POST', 201, fileInForm.headers, fileInForm.body);
    await to('POST', 303, { ...asForm, ...html }, 'action=create-folder&new-folder=formed');
    await to('POST', 409, { ...asForm, ...html }, 'action=create-folder&new-folder=formed');
    await to('POST', 200, { ...asForm, ...html }, 'action=confirm-delete&selected-members=member');
    await to('POST', 200, { ...asForm, accept: '*/*' }, 'action=download-members&selected-members=member');
    await to('POST', 404, { ...asForm, ...json }, 'action=download-members&selected-members=missing');
    await to('POST', 200, { ...asForm, ...json }, 'action=Approve&selected-members=member');
  }
  const folder = '/home/{folder}/';
  await send('GET', folder, '/home/%ff/', 400, { user, headers: json });
  await send('GET', folder, '/home/missing/', 404, { user, headers: json });
  await send('HEAD', folder, '/home/missing/', 404, { user, headers: json });
  await send('PUT', folder, '/home/area/', 409, { user, headers: json });
  await send('PUT', folder, '/home/new/', 400, { user, headers: json, body: 'x' });
  await send('PUT', folder, '/home/new/', 401, { user: null, headers: json });
  await send('DELETE', folder, '/home/area/', 400, { user, headers: { ...json, ...foreign } });
  await send('DELETE', folder, '/home/area/', 401, { user: null, headers: json });
  await send('DELETE', folder, '/home/missing/', 404, { user, headers: json });
  await send('DELETE', folder, '/home/area/', 204, { user, headers: json });
}

const part = (name: string, content: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const fileInForm = {
  headers: { 'content-type': 'multipart/form-data; boundary=b', ...json },
  body: `${part('action', 'upload-file')}${part('upload-file"; filename="a', 'x')}--b--\r\n`,
};

/** Sends requests of a banned address, of an account without permissions and of one without space. */
async function refusals(server: TestServer, send: Exercise, servers: Record<'banned' | 'denied' | 'small', TestServer>) {
  const status = server === servers.banned ? 429 : server === servers.denied ? 403 : 507;
  const command = (target: string) => JSON.stringify({ commands: [{ command: 'create-folder', target }] });
  if (status === 507) {
    await send('PUT', '/home/{file}', '/home/a', 507, { headers: json, body: 'x' });
    mkdirSync(join(server.home, 'd'));
    await send('POST', '/home/{folder}/', '/home/d/', 507, fileInForm);
    await send('POST', '/home/', '/home/', 507, fileInForm);
    const authorization = `session ${await server.login()}`;
    rmSync(server.home, { recursive: true });
    await send('GET', '/home/', '/home/', 404, { headers: { ...json, authorization } });
    return;
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const options = { headers: json, ...(method === 'PUT' ? { body: 'x' } : {}) };
    if (!(method === 'HEAD' && status === 429)) await send(method, '/home/{file}', '/home/a', status, options);
    if (!(method === 'HEAD' && status === 429)) await send(method, '/home/{folder}/', '/home/d/', status, { headers: json });
    if (method === 'GET') await send(method, '/home/', '/home/', status, { headers: json });
  }
  if (status === 403) {
    const form = { headers: { ...asForm, ...json }, body: 'action=create-folder&new-folder=x' };
    await send('POST', '/home/{folder}/', '/home/d/', status, form);
    await send('POST', '/home/', '/home/', status, form);
  }
  if (status === 429) {
    await send('POST', '/home/{folder}/', '/home/d/', status, { headers: asJson, body: command('x') });
    await send('POST', '/home/', '/home/', status, { headers: asJson, body: command('x') });
  }
}

test('if a part of a deleted folder remains, the reply is 422, with an item for each remaining path', async (t) => {
  const held = unremovable(t);
  if (!held) return;
  const server = await startServer(t, { group: { home_folder_path: held.home } });
  const { contract } = contractOf((await server.get('/__svc__/openapi.yaml', { user: null })).text);
  writeFileSync(join(held.home, 'd/goes'), 'x');
  const reply = await server.send('DELETE', '/home/d/', { headers: json });
  assert.equal(reply.status, 422);
  contract.check('DELETE', '/home/{folder}/', reply);
  assert.deepEqual(
    reply.json<{ errors: { target: string }[] }>().errors.map((item) => item.target),
    [held.left],
  );
  assert.deepEqual(readdirSync(join(held.home, 'd')), ['held'], 'the rest is gone');
});

test('if the disk of the journal is full, changes of folders and files get 507', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startServer(t, { server: { data_folder_path: join(disk, 'data') } });
  const { contract } = contractOf((await server.get('/__svc__/openapi.yaml', { user: null })).text);
  const send = exerciseOf(server, contract);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'a'), 'x');
  fillDisk(join(disk, 'filler'));
  await send('DELETE', '/home/{file}', '/home/a', 507, { headers: json });
  await send('DELETE', '/home/{folder}/', '/home/d/', 507, { headers: json });
  await send('PUT', '/home/{folder}/', '/home/new/', 507, { headers: json });
  assert.deepEqual(readdirSync(server.home), ['a', 'd']);
});

test('the API page and its files are served by the service itself under a strict policy', async (t) => {
  const server = await startServer(t);
  const page = await server.get('/__svc__/openapi.html', { user: null });
  assert.equal(page.status, 200);
  assert.match(String(page.headers['content-security-policy']), /script-src 'self'/);
  const files = [...page.text.matchAll(/(?:<link[^>]* href|src)="([^"]+)"/g)].map((match) => match[1] as string);
  assert.ok(files.length >= 4);
  for (const file of files) {
    const reply = await server.get(file, { user: null });
    assert.equal(reply.status, 200, file);
    assert.ok(file.startsWith('/__svc__/') && reply.body.length > 100);
  }
  assert.equal(/<script>|style=|onload=|https?:\/\/(?!opensource)/.test(page.text), false, 'nothing inline, nothing from elsewhere');
});
