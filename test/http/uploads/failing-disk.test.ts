import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { append, part, sha256, uploads } from '../../support/draft-uploads.ts';
import { startOnFailingDisk } from '../../support/failing-server.ts';
import { startInspector } from '../../support/inspector.ts';
import { until } from '../../support/receiver.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

const content = randomBytes(300_000);
const firstBytes = 100_000;
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };

/** System calls that may fail during a request that continues an upload. */
const faults = {
  'content that cannot be written': 'writev .kept\nwritevSync .kept',
  'content that cannot be synced': 'fdatasync .kept\nfsync .kept',
  'content that cannot be opened': 'openSync .kept',
  'content whose fstat fails': 'fstatSync .kept',
  'content that cannot be read': 'read .kept',
  'content that cannot be renamed': 'renameSync .kept\nlinkSync .kept',
  'a folder that cannot be opened': 'openSync HOME',
  'a target whose lstat fails': 'lstatSync HOME/a',
  'a record that cannot be written': 'fdatasync /uploads/\nopen /uploads/',
};

test('a temporary failure of the disk ends no upload: confirmed content stays, and the client continues', async (t) => {
  const { client, whileFailing, stored, hidden, opened, told } = await startOnFailingDisk(t);
  for (const [index, [what, fault]] of Object.entries(faults).entries()) {
    const name = `a${index}`;
    const headers = { ...part, 'repr-digest': sha256(content) };
    const begun = await client.put(`/home/${name}`, content.subarray(0, firstBytes), { headers });
    assert.equal(begun.status, 201, begun.text);
    const url = String(begun.headers.location);
    let offset = firstBytes;
    for (const isLast of [false, true]) {
      const request = {
        headers: append(offset, isLast),
        body: content.subarray(offset, isLast ? undefined : offset + 1000),
        mayFail: true,
      };
      const reply = await whileFailing(fault, () => client.send('PATCH', url, request));
      if (isLast || reply.status !== 204) {
        assert.ok([500, 503].includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
        assert.equal(reply.headers['upload-complete'] ?? '?0', '?0', what);
      }
      const head = await client.send('HEAD', url);
      assert.equal(head.status, 204, `${what}: ${head.text}`);
      const now = Number(head.headers['upload-offset']);
      assert.ok(now >= offset && now < content.length, `${what}: ${now} after ${offset}`);
      offset = now;
    }
    const last = await client.send('PATCH', url, { headers: append(offset, true), body: content.subarray(offset) });
    assert.equal(last.status, 201, last.text);
    assert.deepEqual(stored(name), content, what);
    assert.deepEqual(opened(), [], what);
  }
  assert.deepEqual(hidden(), []);
  const events = await told();
  for (const index of Object.keys(Object.keys(faults))) assert.deepEqual(events.get(`/a${index}`), ['40021', '40017']);
});

test('a temporary failure of the disk or a wrong checksum ends no tus upload, and confirms no content', async (t) => {
  const { client, whileFailing, stored, hidden, told } = await startOnFailingDisk(t);
  const metadata = { 'upload-length': String(content.length), 'upload-metadata': `path ${Buffer.from('/a').toString('base64')}` };
  const created = await client.send('POST', uploads, { headers: { ...tus, ...metadata }, body: content.subarray(0, firstBytes) });
  assert.equal(created.status, 201, created.text);
  const url = String(created.headers.location);
  for (const [what, fault] of Object.entries(faults)) {
    const headers = { ...tus, 'upload-offset': String(firstBytes), 'upload-checksum': 'sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=' };
    const reply = await whileFailing(fault, () =>
      client.send('PATCH', url, { headers, body: content.subarray(firstBytes), mayFail: true }),
    );
    // Faults that would occur only when the upload ends do not occur, because the request is refused for its wrong digest.
    assert.ok([500, 503, 460].includes(reply.status), `${what}: ${reply.status} ${reply.text}`);
    const head = await client.send('HEAD', url, { headers: tus });
    assert.deepEqual([head.status, head.headers['upload-offset']], [200, String(firstBytes)], what);
  }
  const last = await client.send('PATCH', url, {
    headers: { ...tus, 'upload-offset': String(firstBytes) },
    body: content.subarray(firstBytes),
  });
  assert.equal(last.status, 204, last.text);
  assert.deepEqual(stored('a'), content);
  assert.deepEqual(hidden(), []);
  assert.deepEqual((await told()).get('/a'), ['40021', '40017']);
});

test('a failure of the disk during the first request ends no upload if the client already has the URL', async (t) => {
  const { client, whileFailing, stored, hidden, told } = await startOnFailingDisk(t);
  const first = new WatchedRequest(client, 'PUT', '/home/a', {
    'upload-draft-interop-version': '9',
    'upload-complete': '?1',
    'content-length': String(content.length),
  });
  const url = await first.location();
  await first.write(content.subarray(0, firstBytes));
  await until('the sent content has arrived', () => hidden().some((name) => stored(name).length === firstBytes));
  const reply = await whileFailing('fdatasync .kept', () => first.end(content.subarray(firstBytes)));
  // The end of this upload needs no fdatasync.
  assert.equal(reply.status, 201, reply.text);
  const second = new WatchedRequest(client, 'PUT', '/home/b', {
    'upload-draft-interop-version': '9',
    'upload-complete': '?1',
    'content-length': String(content.length),
  });
  const other = await second.location();
  await second.write(content.subarray(0, firstBytes));
  await until('the sent content has arrived', () => hidden().some((name) => stored(name).length === firstBytes));
  const failed = await whileFailing('fsync .kept', () => second.end(content.subarray(firstBytes)));
  assert.equal(failed.status, 500, failed.text);
  const offset = Number((await client.send('HEAD', other)).headers['upload-offset']);
  const last = await client.send('PATCH', other, { headers: append(offset, true), body: content.subarray(offset) });
  assert.equal(last.status, 201, last.text);
  assert.deepEqual([stored('a'), stored('b'), url === other], [content, content, false]);
  assert.deepEqual((await told()).get('/b'), ['40021', '40017']);
});

test('a home folder that temporarily cannot be resolved ends no upload', async (t) => {
  const before = await startOnFailingDisk(t);
  const begun = await before.client.put('/home/a', content.subarray(0, firstBytes), { headers: part });
  const url = String(begun.headers.location);
  await before.stop();
  const { client, whileFailing, stored, told } = await startOnFailingDisk(t, before.folder);
  const go = () => client.send('PATCH', url, { headers: append(firstBytes, true), body: content.subarray(firstBytes), mayFail: true });
  const refused = await whileFailing('realpathSync HOME', go);
  assert.equal(refused.status, 503, refused.text);
  const last = await go();
  assert.equal(last.status, 201, last.text);
  assert.deepEqual(stored('a'), content);
  assert.deepEqual((await told()).get('/a'), ['40021', '40017']);
});

test('if a hold cannot sync the folder, the upload keeps its content, and the repeated request is held', async (t) => {
  const inspector = await startInspector(t);
  inspector.decide = () => ({ status: 202, body: { message: 'Somebody has to look.' } });
  const { client, whileFailing, home, hidden, stop } = await startOnFailingDisk(t, temporaryFolder(t), {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [[], ['/*', 'check']] },
  });
  const begun = await client.put('/home/a', content.subarray(0, firstBytes), { headers: part });
  const url = String(begun.headers.location);
  const finish = () => client.send('PATCH', url, { headers: append(firstBytes, true), body: content.subarray(firstBytes), mayFail: true });
  const refused = await whileFailing('fsync HOME$', finish);
  assert.equal(refused.status, 500, refused.text);
  const held = async () => (await client.get('/home/__svc__/held/')).json<{ held: { id: string; size: number }[] }>().held;
  assert.deepEqual(await held(), []);
  const head = await client.send('HEAD', url);
  const offset = Number(head.headers['upload-offset']);
  assert.ok(offset >= firstBytes && offset < content.length, `${head.status} ${offset}`);
  const last = await client.send('PATCH', url, { headers: append(offset, true), body: content.subarray(offset) });
  const [result] = last.json<{ results: { held: string }[] }>().results;
  const items = (await held()).map(({ id, size }) => [id, size]);
  assert.deepEqual(items, [[result?.held, content.length]]);
  assert.deepEqual(
    hidden().map((name) => readFileSync(join(home, name)).equals(content)),
    [true],
  );
  await stop();
});
