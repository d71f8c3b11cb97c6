import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { WatchedRequest } from '../support/watched-request.ts';

test('if another node continues an upload, the request that still sends content to the first node is cut', async (t) => {
  const begun = await startNodesOnRedis(t, 2, {});
  if (!begun) return;
  const { folder } = begun;
  const [here, there] = begun.nodes;
  assert.ok(here && there);
  const content = randomBytes(300_000);
  const home = join(folder, 'home');
  const first = new WatchedRequest(here, 'PUT', '/home/a', {
    'upload-draft-interop-version': '8',
    'upload-complete': '?1',
    'content-length': String(content.length),
  });
  const url = await first.location();
  await first.write(content.subarray(0, 200_000));
  await until('the first part of the content is stored', () =>
    readdirSync(home).some((name) => readFileSync(join(home, name)).length === 200_000),
  );
  const head = await there.send('HEAD', url);
  assert.deepEqual([head.status, head.headers['upload-offset']], [204, '200000']);
  assert.equal((await first.done).status, 0, 'the first request was cut');
  const append = { 'upload-offset': '200000', 'upload-complete': '?1', 'content-type': 'application/partial-upload' };
  const last = await there.send('PATCH', url, { headers: append, body: content.subarray(200_000) });
  assert.equal(last.status, 201, last.text);
  assert.deepEqual(readFileSync(join(home, 'a')), content);
  assert.equal((await here.send('HEAD', url)).headers['upload-complete'], '?1');
});

test('queries of one upload at two nodes are all answered', async (t) => {
  const begun = await startNodesOnRedis(t, 2, {});
  if (!begun) return;
  const { nodes } = begun;
  const [here] = nodes;
  const created = await here?.put('/home/a', 'abc', { headers: { 'upload-complete': '?0' } });
  const url = String(created?.headers.location);
  const heads = await Promise.all(Array.from({ length: 60 }, (_, index) => nodes[index % 2]?.send('HEAD', url)));
  for (const head of heads) assert.deepEqual([head?.status, head?.headers['upload-offset']], [204, '3']);
});
