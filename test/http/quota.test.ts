import assert from 'node:assert/strict';
import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { testBasic } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

const askForUsed = '<propfind xmlns="DAV:"><prop><quota-used-bytes/></prop></propfind>';

/** Returns the service's count of bytes in the account's files. */
async function toldBytes(server: TestServer): Promise<number> {
  const reply = await server.send('PROPFIND', '/home/', { headers: { depth: '0' }, body: askForUsed });
  return Number(/quota-used-bytes>(-?\d+)</.exec(reply.text)?.[1]);
}

function bytesOnDisk(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

async function limited(t: TestContext, quotaBytes: number): Promise<TestServer> {
  return startServer(t, { group: { quota_size: quotaBytes } });
}

test('many concurrent overwrites of one file free its size only once', async (t) => {
  const server = await limited(t, 1000);
  assert.equal((await server.put('/home/f', Buffer.alloc(900))).status, 201);
  const replies = await Promise.all(Array.from({ length: 20 }, () => server.put('/home/f', Buffer.alloc(10))));
  assert.deepEqual(
    replies.filter(({ status }) => status !== 201),
    [],
  );
  assert.equal(await toldBytes(server), 10);
  assert.equal((await server.put('/home/more', Buffer.alloc(991))).status, 507);
  assert.equal((await server.put('/home/more', Buffer.alloc(990))).status, 201);
  assert.equal(bytesOnDisk(server.home), 1000);
});

test('an upload gets the space of the file that it replaces only if that file still exists when the upload ends', async (t) => {
  const server = await limited(t, 1000);
  assert.equal((await server.put('/home/f', Buffer.alloc(900))).status, 201);
  let finish: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let started: () => void = () => undefined;
  const underway = new Promise<void>((resolve) => {
    started = resolve;
  });
  async function* body() {
    yield Buffer.alloc(450);
    started();
    await gate;
    yield Buffer.alloc(450);
  }
  const upload = fetch(`${server.url}/home/f`, {
    method: 'PUT',
    body: ReadableStream.from(body()),
    duplex: 'half',
    headers: { authorization: testBasic },
  } as RequestInit);
  await underway;
  assert.equal((await server.send('MOVE', '/home/f', { headers: { destination: '/home/g' } })).status, 201);
  finish();
  assert.equal((await upload).status, 507);
  assert.deepEqual(readdirSync(server.home), ['g']);
  assert.equal(await toldBytes(server), 900);
});

test('the replacement of a file that the service did not write does not make the count negative', async (t) => {
  const server = await limited(t, 1000);
  assert.equal((await server.put('/home/a', Buffer.alloc(10))).status, 201);
  writeFileSync(join(server.home, 'outside'), Buffer.alloc(900));
  assert.equal((await server.put('/home/outside', Buffer.alloc(5))).status, 201);
  assert.equal(await toldBytes(server), 15);
  assert.equal((await server.put('/home/b', Buffer.alloc(986))).status, 507);
});

const name = fc.constantFrom('a', 'b', 'c', 'd/a', 'd/b', 'link');
const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), path: name, bytes: fc.integer({ min: 0, max: 400 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('COPY' as const, 'MOVE' as const), path: name, to: name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('DELETE' as const), path: name }) },
);

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

async function perform(server: TestServer, one: Operation): Promise<number> {
  const url = `/home/${one.path}`;
  if (one.kind === 'put') return (await server.put(url, Buffer.alloc(one.bytes))).status;
  if (one.kind === 'DELETE') return (await server.send('DELETE', url)).status;
  return (await server.send(one.kind, url, { headers: { destination: `/home/${one.to}`, overwrite: 'T' } })).status;
}

test('after any concurrent actions, the files stay within the quota, and the count agrees with the disk', async (t) => {
  const server = await limited(t, 1000);
  await server.send('PUT', '/home/d/');
  symlinkSync('d/a', join(server.home, 'link'));
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 2, maxLength: 24 }), async (operations) => {
      const statuses = await Promise.all(operations.map((one) => perform(server, one)));
      assert.deepEqual(
        statuses.filter((status) => ![201, 204, 403, 404, 409, 503, 507].includes(status)),
        [],
      );
      const bytes = bytesOnDisk(server.home);
      assert.ok(bytes <= 1000, `${bytes} bytes`);
      assert.equal(await toldBytes(server), bytes);
    }),
    { numRuns: 60 },
  );
  assert.ok(!(await server.eventIds()).includes(40003), 'no internal error');
});

test('uploads cause no new count of the files on disk, and the running total is correct', async (t) => {
  const server = await limited(t, 1_000_000);
  assert.equal(await toldBytes(server), 0);
  // If the files were counted again, the count would include this file.
  writeFileSync(join(server.home, 'outside'), 'x');
  const upload = fc.record({ path: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 0, max: 400 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(upload, { minLength: 2, maxLength: 16 }), async (uploads) => {
      await Promise.all(uploads.map(({ path, bytes }) => server.put(`/home/${path}`, Buffer.alloc(bytes))));
      assert.equal(await toldBytes(server), bytesOnDisk(server.home) - 1);
    }),
    { numRuns: 30 },
  );
});
