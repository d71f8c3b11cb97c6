import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { serverPathValue } from '../../src/http/request/request-target.ts';
import { pathFromSegments } from '../../src/lib/virtual-path.ts';
import { selfSigned } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

/** Decodes the header like a client: the bytes of the header are UTF-8, which Node.js returns as Latin-1. */
function utf8(value: unknown): string {
  return Buffer.from(String(value), 'latin1').toString('utf8');
}

/** Returns the path that a value stands for, by the rule in the specification. */
function pathNamed(value: string): string {
  return /%(?:[01][0-9A-F]|7F|C2%[89])|%20$/.test(value) ? decodeURIComponent(value) : value;
}

test('the value is the path; only a path with control characters or a final space is encoded', () => {
  const cases: [string, string][] = [
    ['/', '/'],
    ['/a b/c#d?e&f"g\\h', '/a b/c#d?e&f"g\\h'],
    ['/ü€/😀', '/ü€/😀'],
    ['/%41', '/%41'],
    ['/100 %', '/100 %'],
    ['/a /b', '/a /b'],
    ['/a ', '/a%20'],
    ['/a  ', '/a %20'],
    ['/50% ', '/50%25%20'],
    ['/a\tb', '/a%09b'],
    ['/%41\n ü', '/%2541%0A ü'],
    ['/\x7f', '/%7F'],
    ['/\u0085', '/%C2%85'],
  ];
  for (const [path, expected] of cases) assert.equal(utf8(serverPathValue(pathFromSegments(path.split('/').filter(Boolean)))), expected);
});

test('the value for every name can be sent and identifies the file', () => {
  const odd = fc.constantFrom(' ', '%', '\t', '\n', '\x7f', '\u0085', 'ü', '€', '😀', '"', '\\', 'a');
  const name = fc.array(odd, { minLength: 1, maxLength: 8 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), (segments) => {
      const path = pathFromSegments(segments);
      const value = serverPathValue(path);
      assert.match(value, /^[\x20-\x7e\x80-\xff]*[^ ]$/);
      assert.equal(pathNamed(utf8(value)), path);
    }),
    { seed: 7, numRuns: 3000 },
  );
});

const plain = [' ', '  ', ' lead', '%', '%41', '%20', '100 %', 'ü€', '#?&', '"\'', 'a;b', 'a=b, c', '..a', '...', '😀', '\\', '~', '-rf *'];
const encoded = ['end ', 'ends  ', '50% ', 'tab\tin', 'line\nbreak', '\r', '\x01', '\x7f', 'ü ', '\u0085'];
const oddNames = [...plain.slice(2), ...encoded].flatMap((name) =>
  ['', 'x', 'ü', 'ẞ', 'z\u0301', '%2F', '𝄞 ', 'a.b '].map((start) => `${start}${name}`),
);

test('at least 200 files with odd names are found again by the header server-path', async (t) => {
  const server = await startServer(t);
  const names = [...new Set([...oddNames, ...plain.slice(0, 2)])].filter((name) => !name.endsWith('%20'));
  assert.ok(names.length >= 200);
  for (const name of names) {
    const url = `/home/${encodeURIComponent(name)}`;
    const isOld = /[\x01-\x1f\x7f]/.test(name);
    if (isOld) writeFileSync(join(server.home, name), name);
    const reply = await (isOld ? server.get(url) : server.put(url, name));
    assert.equal(reply.status, isOld ? 200 : 201, name);
    const found = join(server.home, pathNamed(utf8(reply.headers['server-path'])));
    assert.ok(existsSync(found), JSON.stringify(name));
    assert.equal(readFileSync(found, 'utf8'), name);
  }
});

interface Answered {
  status: number;
  serverPath: string;
  body: Buffer;
  length: string | undefined;
}
type Send = (method: string, path: string, headers: Record<string, string>, body?: string) => Promise<Answered>;

function overHttp1(port: number, ca: string): Send {
  return (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const request = requestHttps({ port, host: '127.0.0.1', ca, method, path, headers, agent: false }, (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('end', () => {
          const { 'server-path': value, 'content-length': length } = reply.headers;
          resolve({ status: reply.statusCode ?? 0, serverPath: utf8(value), body: Buffer.concat(chunks), length });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
}

function overHttp2(t: TestContext, url: string, ca: string): Send {
  const session = connectHttp2(url, { ca });
  t.after(() => session.close());
  return (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':method': method, ':path': path, ...headers });
      const chunks: Buffer[] = [];
      let head: Record<string, unknown> = {};
      stream.on('response', (reply) => {
        head = reply;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () => {
        const length = head['content-length'] as string | undefined;
        resolve({ status: Number(head[':status']), serverPath: utf8(head['server-path']), body: Buffer.concat(chunks), length });
      });
      stream.end(body);
    });
}

for (const version of ['HTTP/1.1', 'HTTP/2']) {
  test(`every reply under /home/, even a refusal, has the path, and its body is whole: ${version}`, async (t) => {
    if (!hasProgram(t, 'openssl')) return;
    const { cert, certPath, keyPath } = selfSigned(t);
    const web = { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath };
    const permissions = [['allow-full-control'], ['/denied/*', 'deny-full-control']];
    const server = await startServer(t, { services: { web }, account: { permissions } });
    const send = version === 'HTTP/2' ? overHttp2(t, server.url, cert) : overHttp1(server.port, cert);
    const auth = { authorization: testBasic };
    const html = { accept: 'text/html' };
    const check = async (expected: number, method: string, path: string, headers: Record<string, string> = auth, body?: string) => {
      const url = `/home${path.split('/').map(encodeURIComponent).join('/')}`;
      const reply = await send(method, url, headers, body);
      const what = `${method} ${url} ${JSON.stringify(headers)}: ${reply.body}`;
      assert.equal(reply.status, expected, what);
      assert.equal(reply.serverPath, utf8(serverPathValue(pathFromSegments(path.split('/').filter(Boolean)))), what);
      if (method !== 'HEAD' && reply.length !== undefined) assert.equal(reply.body.length, Number(reply.length), what);
      return reply.body.toString();
    };
    for (const name of ['ü€', 'ü€ ', '%41', 'a\nb%', 'plain']) {
      const file = `/${name}`;
      // Uploads may not create a name with a control character, so this file is written to disk directly.
      const refused = name.includes('\n') ? 400 : undefined;
      if (refused) writeFileSync(join(server.home, name), 'größe');
      await check(refused ?? 201, 'PUT', file, auth, 'größe');
      assert.equal(await check(200, 'GET', file), 'größe');
      await check(200, 'HEAD', file);
      await check(304, 'GET', file, { ...auth, 'if-none-match': '*' });
      await check(206, 'GET', file, { ...auth, range: 'bytes=0-1' });
      await check(401, 'GET', file, {});
      await check(401, 'HEAD', file, {});
      await check(302, 'GET', file, html);
      await check(400, 'PUT', file, { ...auth, origin: 'https://evil.example' }, 'x');
      await check(403, 'GET', `/denied${file}`);
      assert.match(await check(403, 'GET', `/denied${file}`, { ...auth, ...html }), /<main/);
      await check(404, 'GET', `/missing${file}`);
      assert.match(await check(404, 'GET', `/missing${file}`, { ...auth, ...html }), /<main/);
      await check(405, 'PATCH', file);
      await check(refused ?? 409, 'PUT', `/missing${file}`, auth, 'x');
      await check(refused ?? 412, 'PUT', file, { ...auth, 'if-none-match': '*' }, 'x');
      mkdirSync(join(server.home, 'f', name), { recursive: true });
      writeFileSync(join(server.home, 'f', name, 'größe'), 'x');
      const folder = `/f/${name}`;
      await check(302, 'GET', folder);
      const listing = await check(200, 'GET', `${folder}/`, { ...auth, accept: 'application/json' });
      assert.equal(JSON.parse(listing).content[0].name, 'größe');
      assert.match(await check(200, 'GET', `${folder}/`, { ...auth, ...html }), /größe/);
      assert.match(await check(207, 'PROPFIND', folder), /größe/);
      await check(200, 'GET', `${folder}/`, { ...auth, accept: 'application/zip' });
      await check(204, 'OPTIONS', folder, {});
      await check(204, 'DELETE', `${folder}/`);
    }
  });
}

test('a listing for an HTTP/1.0 client, which does not support chunks, has the right header and body', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'ü€'));
  writeFileSync(join(server.folder, 'file'), '');
  for (let index = 0; index < 3000; index++) linkSync(join(server.folder, 'file'), join(server.home, 'ü€', `größe ${index}`));
  const text = utf8(
    await server.raw(`GET /home/%C3%BC%E2%82%AC/ HTTP/1.0\r\nAccept: application/json\r\nAuthorization: ${testBasic}\r\n\r\n`),
  );
  assert.match(text, /^server-path: \/ü€\r$/m);
  assert.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).content[0].name.startsWith('größe'), true);
});

test('the reply to a request that is refused because of its head has the path, too', async (t) => {
  const server = await startServer(t);
  for (const [head, status] of [
    ['GET /home/%C3%BC%20x HTTP/1.1\r\nHost: a\r\nHost: b', 400],
    ['GET /home/%C3%BC%20x HTTP/1.1\r\nHost: a/b', 400],
    ['GET http://other.example/home/%C3%BC%20x HTTP/1.1\r\nHost: a', 400],
    ['GET /home/%C3%BC%20x HTTP/1.1', 400],
  ] as const) {
    const text = utf8(await server.raw(`${head}\r\n\r\n`));
    assert.ok(text.startsWith(`HTTP/1.1 ${status} `), `${head}: ${text}`);
    assert.match(text, /^server-path: \/ü x\r$/m, head);
  }
  const malformed = await server.raw('GET /home/%FF HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(/server-path/i.test(malformed), false);
});
