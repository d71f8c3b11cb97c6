import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assetPaths } from '../../src/http/html/pages/assets.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const folderOf = (count: number) => Array.from({ length: count }, (_, index) => `file-${index}.txt`);

test('streamed bodies and files arrive whole, and HEAD has the headers of GET without a body', async (t) => {
  const server = await startServer(t, { service: { headers: ['X-Every: reply'] } });
  const names = folderOf(1500);
  for (const name of names) writeFileSync(join(server.home, name), 'x');
  writeFileSync(join(server.home, 'large'), Buffer.alloc(3_000_000, 'y'));
  assert.equal((await server.names('/home/')).length, names.length + 1);
  assert.equal((await server.get('/home/large')).body.length, 3_000_000);
  for (const path of ['/home/large', '/__svc__/login', '/__svc__/openapi.yaml', assetPaths.pageScript]) {
    const [get, head] = [await server.get(path), await server.send('HEAD', path)];
    assert.equal(head.body.length, 0, path);
    assert.equal(Number(head.headers['content-length']), get.body.length, path);
    const comparable = (reply: typeof get) => reply.rawHeaders.filter((_, index) => index % 2 === 0).join();
    assert.equal(comparable(head), comparable(get), path);
    assert.deepEqual([head.status, head.headers['x-every'], head.headers['x-hono-already-sent']], [200, 'reply', undefined], path);
  }
  const listing = await server.send('HEAD', '/home/', { headers: { accept: 'application/json' } });
  assert.deepEqual([listing.status, listing.body.length, listing.headers['x-hono-already-sent']], [200, 0, undefined]);
});

test('a reply that was written to the socket is not sent again, and the connection continues', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'content');
  const head = `Host: x\r\nAuthorization: ${testBasic}\r\n\r\n`;
  const paths = ['/home/a', '/home/', '/home/none', '/__svc__/login', '/__svc__/openapi.yaml'];
  const asked = paths.flatMap((path) => [`HEAD ${path}`, `GET ${path}`]);
  const replies = await server.raw(asked.map((line) => `${line} HTTP/1.1\r\n${head}`).join(''));
  assert.deepEqual(
    [...replies.matchAll(/HTTP\/1\.1 (\d+) [\w ]+\r\n/g)].map(([, status]) => status),
    ['200', '200', '200', '200', '404', '404', '200', '200', '200', '200'],
  );
});

test('if the body of a refused request arrives later than the adapter would wait, the connection continues', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'content');
  const head = `Host: x\r\nAuthorization: ${testBasic}\r\n`;
  const socket = connect(server.port, '127.0.0.1');
  t.after(() => socket.destroy());
  const closed = once(socket, 'close');
  let replies = '';
  socket.on('data', (chunk) => {
    replies += chunk.toString('latin1');
  });
  socket.write(`PATCH /home/a HTTP/1.1\r\n${head}Content-Length: 4\r\n\r\nab`);
  await once(socket, 'data');
  assert.match(replies, /^HTTP\/1\.1 405 /);
  // The adapter's own limit is half a second.
  await sleep(1000);
  socket.write(`cdGET /home/a HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
  await closed;
  assert.match(replies, /HTTP\/1\.1 200 .*\r\n\r\ncontent$/s);
});

test('several lines of one header stay several lines', async (t) => {
  const server = await startServer(t);
  const { rawHeaders } = await server.get('/home/', { user: null });
  const challenges = rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === 'www-authenticate');
  assert.deepEqual(challenges, ['basic realm="Web files access"', 'session']);
});

test('Allow is derived from the table of routes, with HEAD where GET only reads', async (t) => {
  const server = await startServer(t);
  const allow = async (method: string, path: string) => {
    const { status, headers } = await server.send(method, path);
    return [status, headers.allow];
  };
  const ofFiles = 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, COPY, MOVE';
  assert.deepEqual(await allow('PATCH', '/home/a'), [405, ofFiles]);
  assert.deepEqual(await allow('LOCK', '/home/a'), [405, ofFiles]);
  assert.deepEqual(await allow('OPTIONS', '/home/a'), [204, ofFiles]);
  const ofFolders = 'OPTIONS, GET, HEAD, PUT, DELETE, POST, MKCOL, PROPFIND, PROPPATCH, COPY, MOVE';
  assert.deepEqual(await allow('PATCH', '/home/a/'), [405, ofFolders]);
  assert.deepEqual(await allow('PUT', '/__svc__/login'), [405, 'GET, HEAD, POST']);
  assert.deepEqual(await allow('OPTIONS', '/__svc__/login'), [204, 'GET, HEAD, POST']);
  assert.deepEqual(await allow('HEAD', '/__svc__/logout'), [405, 'GET, POST']);
  assert.deepEqual(await allow('GET', '/__svc__/theme'), [405, 'POST']);
  assert.deepEqual(await allow('DELETE', '/home/__svc__/password-update'), [405, 'GET, HEAD, POST']);
});

test('with webdav_compatibility, Allow has MKCOL, and LOCK and UNLOCK only for clients that need them', async (t) => {
  const server = await startServer(t, { service: { webdav_compatibility: true } });
  const allow = async (agent: string) => (await server.send('PATCH', '/home/a', { headers: { 'user-agent': agent } })).headers.allow;
  const common = 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, COPY, MOVE, MKCOL';
  assert.equal(await allow('curl/8'), common);
  assert.equal(await allow('Microsoft-WebDAV-MiniRedir/10.0'), `${common}, LOCK, UNLOCK`);
});

test('names are decoded once, including characters that are special in a router', async (t) => {
  const server = await startServer(t);
  for (const name of ['%2e%2e%2f', ':name', '*', '{a}', 'a?', 'ü', '__proto__', 'login', 'a%2Fb', '#']) {
    const url = `/home/${encodeURIComponent(name)}`;
    assert.equal((await server.put(url, name)).status, 201, name);
    const reply = await server.get(url);
    assert.deepEqual([reply.status, reply.text], [200, name]);
    assert.equal((await server.send('PUT', `/home/in-${encodeURIComponent(name)}/`)).status, 201, name);
  }
  assert.equal((await server.names('/home/')).length, 20);
});

test('a target that the adapter cannot parse gets the usual reply with errors, X-Request-Id and Server, and the usual event', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'content');
  const ask = (line: string, ...headers: string[]) => server.raw([line, ...headers, 'Connection: close', '', ''].join('\r\n'));
  const refused: [string, string[], string][] = [
    ['GET /home/%zz HTTP/1.1', ['Host: x'], 'The URL has an invalid percent code.'],
    ['GET /home/a#b HTTP/1.1', ['Host: x'], 'A request target must not contain \\"#\\"; write %23.'],
    ['GET * HTTP/1.1', ['Host: x'], 'The target \\"*\\" is only for OPTIONS.'],
    ['GET /home/a HTTP/1.1', [], 'The Host header is missing.'],
    ['GET /home/a HTTP/1.1', ['Host: a/b'], 'The Host header is not valid.'],
    ['GET /home/a HTTP/1.1', ['Host: x', 'Host: y'], 'The Host header is not valid.'],
  ];
  for (const [at, [line, headers, message]] of refused.entries()) {
    const reply = await ask(line, ...headers, `X-Request-Id: refused-${at}`);
    assert.match(reply, /^HTTP\/1\.1 400 /, line);
    assert.match(reply, new RegExp(`\r\nx-request-id: refused-${at}\r\n`), line);
    assert.match(reply, /\r\nserver: svc/, line);
    assert.ok(reply.endsWith(`{"errors":[{"message":"${message}"}]}`), reply);
  }
  const noted = (await server.events()).filter(({ id }) => id === '40019').map(({ data }) => data.request_id);
  assert.deepEqual(
    noted,
    refused.map((_, at) => `refused-${at}`),
  );
  const signedIn = `Authorization: ${testBasic}`;
  for (const host of ['a%41', 'x:99999', '999.1.1.1', '0X10', "it's", '[::1]:8080'])
    assert.match(await ask('GET /home/a HTTP/1.1', `Host: ${host}`, signedIn), /^HTTP\/1\.1 200 .*\r\n\r\ncontent$/s, host);
  assert.match(await ask('GET /home/a HTTP/1.0', signedIn), /^HTTP\/1\.1 200 /);
  assert.match(await ask('GET /home/a\\b HTTP/1.1', 'Host: x', signedIn), /^HTTP\/1\.1 404 /);
  assert.match(await ask('GET http://x/home/a HTTP/1.1', 'Host: x', signedIn), /^HTTP\/1\.1 200 /);
  assert.match(await ask('OPTIONS * HTTP/1.1', 'Host: x'), /^HTTP\/1\.1 204 /);
});

test('pipelined requests are answered in turn; a client that asks before it sends its body gets 100 Continue', async (t) => {
  const server = await startServer(t);
  const head = `Host: x\r\nAuthorization: ${testBasic}\r\n`;
  const replies = await server.raw(
    `PUT /home/a HTTP/1.1\r\n${head}Content-Length: 3\r\n\r\noneGET /home/a HTTP/1.1\r\n${head}\r\nDELETE /home/a HTTP/1.1\r\n${head}\r\nGET /home/a HTTP/1.1\r\n${head}\r\n`,
  );
  assert.deepEqual(
    [...replies.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['201', '200', '204', '404'],
  );
  const asked = await server.raw(`PUT /home/b HTTP/1.1\r\n${head}Content-Length: 3\r\nExpect: 100-continue\r\n\r\n`);
  assert.equal(asked, 'HTTP/1.1 100 Continue\r\n\r\n');
});
