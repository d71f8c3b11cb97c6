import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { asViewer, startConsole } from '../support/console.ts';
import { append, begin } from '../support/draft-uploads.ts';
import { clockAhead, whereFilesAreKept } from '../support/kept-files.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';
import { HeldClients, type Shown } from '../support/transfers.ts';

const large = 64 * 1024 * 1024;

test('the overview lists running transfers with speed and size until they end in any way', async (t) => {
  const { server, console } = await startConsole(t);
  for (const name of ['large', 'folder/large']) {
    mkdirSync(join(server.home, 'folder'), { recursive: true });
    writeFileSync(join(server.home, name), '');
    truncateSync(join(server.home, name), large);
  }
  const contract = await console.contract();
  const overview = async () => {
    const reply = await console.get('/api/overview', asViewer);
    contract.check('GET', '/api/overview', reply);
    return reply.json<{ transfers: Shown[]; transfers_left_out: number }>();
  };
  const transfers = async () => (await overview()).transfers;
  const paths = async () => (await transfers()).map(({ direction, path }) => `${direction} ${path}`).sort();
  assert.deepEqual(await transfers(), []);
  const clients = new HeldClients(t, server.port);
  const put = await clients.send('PUT', '/home/up', { 'content-length': 300_000 });
  put.write(Buffer.alloc(100_000));
  await until('the bytes have arrived', async () => (await transfers())[0]?.bytes === 100_000);
  const [{ started, id, bytes_per_second, ...shown }] = (await transfers()) as [Shown];
  assert.deepEqual(shown, {
    node: 'test',
    service: 'web',
    account: 'alice',
    path: '/up',
    direction: 'upload',
    bytes: 100_000,
    total_bytes: 300_000,
  });
  assert.ok(id !== '' && bytes_per_second > 0 && Date.parse(started) <= Date.now());
  const get = await clients.send('GET', '/home/large');
  const ranged = await clients.send('GET', '/home/large', { range: `bytes=0-${large / 2 - 1}` });
  const zip = await clients.send('GET', '/home/folder/', { accept: 'application/zip' });
  const url = await begin(server, 'draft', Buffer.alloc(1000));
  const draft = await clients.send('PATCH', new URL(url, server.url).pathname, {
    'upload-draft-interop-version': 9,
    ...append(1000, true),
    'content-length': 5000,
  });
  draft.write(Buffer.alloc(500));
  await until('all transfers are listed', async () => (await transfers()).length === 5);
  assert.deepEqual(await paths(), ['download /folder', 'download /large', 'download /large', 'upload /draft', 'upload /up']);
  await until('bytes of each transfer are counted', async () => (await transfers()).every(({ bytes }) => bytes > 0));
  const all = await transfers();
  assert.deepEqual(
    all.filter(({ path }) => path === '/large').map(({ total_bytes, bytes }) => [total_bytes, bytes < large / 2]),
    [
      [large, true],
      [large / 2, true],
    ],
  );
  assert.ok((all.find(({ path }) => path === '/folder')?.total_bytes ?? 0) > large, 'the length of an archive is known');
  assert.deepEqual(await overview().then(({ transfers_left_out }) => transfers_left_out), 0);
  for (const client of [get, ranged, zip, draft]) client.destroy();
  await until('the transfers of clients that left are not listed', async () => (await paths()).join() === 'upload /up');
  put.write(Buffer.alloc(200_000));
  await until('the upload is done', async () => (await transfers()).length === 0);
  assert.deepEqual((await server.get('/home/up')).body.length, 300_000);
  const again = await clients.send('PUT', '/home/up', { 'content-length': 300_000 });
  await until('the second upload is listed', async () => (await transfers()).length === 1);
  again.destroy();
  await until('the cancelled upload is not listed', async () => (await transfers()).length === 0);
});

test('a download of a small file is also listed while its client does not read it', whereFilesAreKept, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { certPath, keyPath, cert } = selfSigned(t);
  const web = { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath };
  const { server, console } = await startConsole(t, { services: { web } }, {}, clockAhead);
  writeFileSync(join(server.home, 'small'), Buffer.alloc(50_000));
  const transfers = async () => (await console.get('/api/overview', asViewer)).json<{ transfers: Shown[] }>().transfers;
  const session = connectHttp2(server.url, { ca: cert, settings: { initialWindowSize: 0 } });
  t.after(() => session.destroy());
  const streams = [0, 1].map(() => session.request({ ':path': '/home/small', authorization: testBasic }));
  await Promise.all(streams.map((stream) => once(stream, 'response')));
  await until('both downloads are listed', async () => (await transfers()).length === 2);
  for (const stream of streams) stream.resume();
  session.settings({ initialWindowSize: 100_000 });
  await until('both downloads have ended', async () => (await transfers()).length === 0);
});
