import assert from 'node:assert/strict';
import { test } from 'node:test';
import { append, begin, content, hidden, stored } from '../../support/draft-uploads.ts';
import { until } from '../../support/receiver.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

async function told(server: TestServer): Promise<string[]> {
  return (await server.events()).filter(({ id, data }) => data.path === '/a' && id !== '40018').map(({ id }) => id);
}

// MUSTs: no race, loss or corruption by concurrent requests (Concurrency).
test('many concurrent requests complete one upload without loss, and its end is reported once', async (t) => {
  const server = await startServer(t);
  const url = await begin(server, 'a', Buffer.alloc(0), { 'upload-length': String(content.length) });
  const headers = { ...append(0, true), 'content-length': String(content.length) };
  const replies = await Promise.all(Array.from({ length: 20 }, () => new WatchedRequest(server, 'PATCH', url, headers).end(content)));
  for (const { status } of replies) assert.ok([0, 201, 409].includes(status), String(status));
  const head = await server.send('HEAD', url);
  const offset = Number(head.headers['upload-offset']);
  if (head.headers['upload-complete'] === '?0')
    assert.equal((await server.send('PATCH', url, { headers: append(offset, true), body: content.subarray(offset) })).status, 201);
  assert.deepEqual(stored(server, 'a'), content);
  assert.deepEqual(hidden(server), []);
  assert.deepEqual(await told(server), ['40021', '40017']);
});

// MUSTs: no race, loss or corruption by concurrent requests (Concurrency).
test('DELETE cuts a request that sends content, and nothing is left', async (t) => {
  const server = await startServer(t);
  const url = await begin(server, 'a', Buffer.alloc(0));
  const stuck = new WatchedRequest(server, 'PATCH', url, { ...append(0, true), 'content-length': String(content.length) });
  await stuck.write(content.subarray(0, 1000));
  await until('the sent content has arrived', () => hidden(server).some((name) => stored(server, name).length === 1000));
  assert.equal((await server.send('DELETE', url)).status, 204);
  assert.equal((await stuck.done).status, 0);
  assert.deepEqual(hidden(server), []);
  assert.deepEqual(await told(server), ['40021', '40069', '40022']);
});

test('DELETE is answered, even if other requests for the same upload follow', async (t) => {
  const server = await startServer(t);
  for (let round = 0; round < 20; round++) {
    const url = await begin(server, 'a', Buffer.alloc(0));
    const cancelling = new WatchedRequest(server, 'DELETE', url).end();
    const headers = { ...append(0, true), 'content-length': String(content.length) };
    const later = Array.from({ length: 3 }, () => new WatchedRequest(server, 'PATCH', url, headers).end(content));
    assert.equal((await cancelling).status, 204);
    // One of these PATCH requests may have arrived before the DELETE.
    for (const { status } of await Promise.all(later)) assert.ok([0, 201, 404, 409].includes(status), String(status));
    assert.equal((await server.send('HEAD', url)).status, 404);
  }
  assert.deepEqual(hidden(server), []);
});

test('50 concurrent HEAD requests are answered; they cut a request with content, but not one another', async (t) => {
  const server = await startServer(t);
  const url = await begin(server, 'a', content.subarray(0, 1000));
  const stuck = new WatchedRequest(server, 'PATCH', url, { ...append(1000, true), 'content-length': String(content.length - 1000) });
  await stuck.write(content.subarray(1000, 5000));
  await until('the sent content has arrived', () => hidden(server).some((name) => stored(server, name).length === 5000));
  const heads = await Promise.all(Array.from({ length: 50 }, () => new WatchedRequest(server, 'HEAD', url).end()));
  assert.equal((await stuck.done).status, 0);
  for (const { status, headers } of heads) assert.deepEqual([status, headers['upload-offset']], [204, '5000']);
});
