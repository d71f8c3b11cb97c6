import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { content, hidden, newest, part, sha256, uploads } from '../../support/draft-uploads.ts';
import { until } from '../../support/receiver.ts';
import { startServer } from '../../support/server.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

const named = (name: string) => `path ${Buffer.from(name).toString('base64')}`;
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
const wrongDigest = { 'content-digest': sha256(Buffer.from('else')) };
const chunked = { 'transfer-encoding': 'chunked' };

test('a failed request that should create an upload leaves nothing, because nobody knows the URL', async (t) => {
  const server = await startServer(t, { service: { maximum_request_size: 200_000 }, server: { uploads: { maximum_per_account: 1 } } });
  const some = content.subarray(0, 1000);
  const byTus = (headers: Record<string, string>) => ({ ...tus, 'upload-metadata': named('/a'), ...headers });
  const byPost = (headers: Record<string, string>) => ({
    'upload-complete': '?0',
    'content-disposition': 'inline; filename="a"',
    ...headers,
  });
  const refused: [number, string, string, Record<string, string>, Buffer][] = [
    [460, 'POST', uploads, byTus({ 'upload-length': '9999', 'upload-checksum': 'md5 1B2M2Y8AsgTpgAmY7PhCfg==' }), some],
    [400, 'POST', uploads, byTus({ 'upload-length': '10' }), some],
    [400, 'POST', uploads, byTus({ 'upload-length': '10', ...chunked }), some],
    [413, 'POST', uploads, byTus({ 'upload-defer-length': '1', ...chunked }), content],
    [400, 'POST', uploads, byPost(wrongDigest), some],
    [400, 'POST', uploads, byPost({ 'upload-complete': '?1', ...wrongDigest }), some],
    [413, 'POST', uploads, byPost(chunked), content],
    [400, 'PUT', '/home/a', { 'upload-complete': '?0', ...wrongDigest }, some],
    [413, 'PUT', '/home/a', { 'upload-complete': '?0', ...chunked }, content],
  ];
  for (const [status, method, target, headers, body] of refused) {
    const reply = await server.send(method, target, { headers, body });
    assert.equal(reply.status, status, `${method} ${JSON.stringify(headers)}: ${reply.text}`);
    assert.deepEqual(hidden(server), [], JSON.stringify(headers));
    assert.deepEqual(readdirSync(join(server.folder, 'data/uploads')), [], 'no record is kept, because no client can ask for it');
    if (!headers['tus-resumable']) assert.equal(reply.headers['upload-complete'], '?1', JSON.stringify(headers));
  }
  for (const headers of [byTus({ 'upload-length': '9999' }), byPost({})]) {
    const stuck = new WatchedRequest(server, 'POST', uploads, { ...headers, 'content-length': '9999' });
    await stuck.write(some);
    await until('the upload has begun', () => hidden(server).length === 1);
    stuck.cut();
    let next = await server.put('/home/next', '', { headers: part });
    await until('another upload can begin', async () => {
      if (next.status !== 201) next = await server.put('/home/next', '', { headers: part });
      return next.status === 201;
    });
    assert.equal(hidden(server).length, 1, 'only the content of the next upload is left');
    assert.equal((await server.send('DELETE', String(next.headers.location))).status, 204);
  }
});

test('a client that got the URL by a 104 can resume after a refusal', async (t) => {
  const server = await startServer(t);
  const headers = { ...part, ...wrongDigest, 'content-length': '1000' };
  const refused = await new WatchedRequest(server, 'PUT', '/home/a', headers).end(content.subarray(0, 1000));
  assert.deepEqual([refused.status, refused.headers['upload-complete']], [400, '?0']);
  const head = await server.send('HEAD', String(refused.interim[0]?.headers.location), { headers: newest });
  assert.deepEqual([head.status, head.headers['upload-offset']], [204, '0']);
});
