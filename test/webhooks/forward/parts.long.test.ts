import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../support/receiver.ts';
import { s3Keys, startStorage } from '../../support/s3.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const mebibyte = 1024 * 1024;
const keys = { access_key_id: s3Keys.accessKeyId, secret_access_key: s3Keys.secretAccessKey };

/** Returns bytes that differ from part to part. */
function large(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes, 'abcdefg');
  for (let at = 0; at < sizeBytes; at += mebibyte) bytes.writeUInt32BE(at, at);
  return bytes;
}

const untilSent = (server: TestServer, count: number) =>
  until(`${count} files are sent`, async () => (await server.eventIds()).filter((id) => id === 20202).length >= count);

test('S3: parts of an earlier attempt are not sent again, even by another process, if they are still the same', async (t) => {
  const storage = await startStorage(t);
  let parts = 0;
  storage.fault = (request, response) => {
    if (!request.url?.includes('partNumber') || ++parts !== 4) return false;
    request.resume();
    response.writeHead(503, { 'retry-after': '0' }).end();
    return true;
  };
  const out = { type: 'forward', url: 's3://bucket/{path}', endpoint: `${storage.endpoint}/`, ...keys };
  const server = await startServer(t, { event_handlers: { out } });
  const content = large(70 * mebibyte);
  storage.uploads.set('foreign', { key: 'large.bin.other', parts: new Map() });
  await server.put('/home/large.bin', content);
  await untilSent(server, 1);
  assert.ok(storage.objects.get('large.bin')?.equals(content));
  assert.equal(parts, 6, 'three parts, the one that failed, and the two that were missing');
  const stale = large(70 * mebibyte).fill('z', 0, 10);
  storage.uploads.set('left', {
    key: 'large.bin',
    parts: new Map([
      [1, content.subarray(0, 16 * mebibyte)],
      [2, content.subarray(16 * mebibyte, 32 * mebibyte)],
    ]),
  });
  await server.put('/home/large.bin', stale);
  await untilSent(server, 2);
  assert.ok(storage.objects.get('large.bin')?.equals(stale));
  assert.equal(parts, 10, 'of the two existing parts, only the first has other content and is sent again');
});

function changeEnd(path: string): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, '!', 70 * mebibyte - 1);
  closeSync(fd);
}

const failures = async (server: TestServer) =>
  (await server.events()).filter(({ id }) => id === '20174').map(({ data }) => String(data.details));

test('S3: a file that changes while its parts are sent does not become an object', async (t) => {
  const storage = await startStorage(t);
  let home = '';
  let parts = 0;
  storage.fault = (request) => {
    if (request.url?.includes('partNumber') && ++parts === 2) changeEnd(join(home, 'large.bin'));
    return false;
  };
  const out = { type: 'forward', url: 's3://bucket/{path}', endpoint: storage.endpoint, ...keys };
  const server = await startServer(t, { event_handlers: { out } });
  home = server.home;
  await server.put('/home/large.bin', large(70 * mebibyte));
  await until('the change is reported', async () => (await failures(server)).length === 1);
  assert.match((await failures(server))[0] ?? '', /not sent: it changed while it was sent/);
  assert.equal(storage.objects.size, 0);
  assert.equal(storage.uploads.size, 0, 'the parts of the file are abandoned');
  assert.equal((await server.eventIds()).includes(20202), false);
});
