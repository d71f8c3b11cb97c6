import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import fs, { constants, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { OpenedFolder } from '../../src/files/disk/opened.ts';
import { openToLook } from '../../src/files/disk/real-roots.ts';
import { Temporaries } from '../../src/files/disk/temporaries.ts';
import { takeOverContent } from '../../src/files/uploads/take-over.ts';
import type { UploadHold, UploadRecord } from '../../src/files/uploads/upload-store.ts';
import { silentLog } from '../../src/lib/log.ts';
import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { append, part } from '../support/draft-uploads.ts';
import { startOnFailingDisk } from '../support/failing-server.ts';
import { startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { temporaryFolder } from '../support/temp.ts';
import { WatchedRequest } from '../support/watched-request.ts';

test('if fstat of a file in an SFTP upload fails, no descriptor stays open, and the failure has an event', async (t) => {
  const folder = temporaryFolder(t);
  const key = join(folder, 'host_key');
  writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const { whileFailing, home, openedAtHome, output, told } = await startOnFailingDisk(t, folder, {
    services: { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0, host_key_paths: [key], copy_on_resume_limit: 10 } },
  });
  await until('the SFTP service runs', () => /sftp:\S+:\d+/.test(output()));
  const { sftp, client } = await loginSftp(t, Number(/sftp:\S+:(\d+)/.exec(output())?.[1]));
  writeFileSync(join(home, 'copied'), 'short');
  writeFileSync(join(home, 'inplace'), 'longer than ten bytes');
  for (const name of ['copied', 'inplace'])
    await whileFailing(`fstatSync HOME/${name}$`, () => assert.rejects(sftp.open(`/${name}`, openFlags.write)));
  assert.deepEqual(openedAtHome(), []);
  const handle = await sftp.open('/inplace', openFlags.write);
  assert.equal(await sftp.write(handle, 0, 'L'), 0);
  const close = () => sftp.status(packetTypes.close, (fields) => fields.bytes(handle));
  assert.notEqual(await whileFailing('fsync HOME/inplace$\nfstatSync HOME/inplace$', close), 0);
  assert.deepEqual(openedAtHome(), []);
  client.end();
  assert.deepEqual((await told(['30042'])).get('/inplace'), ['30042']);
});

test('the quota counts the content on disk of an upload whose last request failed', async (t) => {
  const { client, whileFailing, folder, stop } = await startOnFailingDisk(t, temporaryFolder(t), { group: { quota_size: 6_000_000 } });
  const begun = await client.put('/home/a', 'x', { headers: part });
  const url = String(begun.headers.location);
  const request = new WatchedRequest(client, 'PATCH', new URL(url, client.url).pathname, append(1, false));
  await request.write(Buffer.alloc(4_500_000));
  const records = join(folder, 'data', 'uploads');
  const offset = () => Number(/"offsetBytes":(\d+)/.exec(readFileSync(join(records, readdirSync(records)[0] ?? ''), 'utf8'))?.[1]);
  await until('most of the content is on disk', () => offset() > 4_000_000);
  const failed = await whileFailing('fdatasync .kept', () => request.end(Buffer.alloc(1)));
  assert.equal(failed.status, 500, failed.text);
  assert.equal((await client.put('/home/b', Buffer.alloc(3_000_000), { mayFail: true })).status, 507);
  await stop();
});

test('a held upload that inspections accept is stored although its record cannot be removed', async (t) => {
  const inspector = await startInspector(t);
  const { client, whileFailing, home, told } = await startOnFailingDisk(t, temporaryFolder(t), {
    inspections: { check: { type: 'http', url: inspector.url, answer_within: 0.2 } },
    group: { inspections: [[], ['/*', 'check']] },
  });
  assert.equal((await client.put('/home/a', 'wait')).status, 202);
  const held = async () => (await client.get('/home/__svc__/held/')).json<{ held: { state: string }[] }>().held;
  await whileFailing('unlink /held', async () => {
    inspector.answerAll(204);
    await until('the file is there', () => readdirSync(home).includes('a'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.deepEqual(
      (await held()).filter(({ state }) => state === 'held'),
      [],
    );
  });
  for (let attempt = 0; attempt < 60 && (await held()).length > 0; attempt++) await new Promise((resolve) => setTimeout(resolve, 250));
  assert.deepEqual(await held(), []);
  assert.deepEqual((await told()).get('/a'), ['40021', '40017']);
});

test('a copy for a request that takes over an upload is removed if its folder cannot be synced', async (t) => {
  const folder = temporaryFolder(t);
  const name = `.svc-${'0'.repeat(24)}.kept`;
  writeFileSync(join(folder, name), 'content');
  mkdirSync(join(folder, 'data'));
  // A descriptor with O_PATH cannot be synced.
  const parent = new OpenedFolder(openSync(folder, openToLook | constants.O_DIRECTORY), folder);
  t.after(() => parent.close());
  const temporaries = { take: () => `.svc-${'1'.repeat(24)}.part`, giveBack() {}, delete() {} };
  const record = { contentPath: join(folder, name), offsetBytes: 7 } as UploadRecord;
  const taking = takeOverContent({ temporaries: temporaries as never }, {} as UploadHold, record, parent);
  await assert.rejects(taking, { code: 'internal' });
  assert.deepEqual(readdirSync(folder).sort(), [name, 'data']);
});

test('the former content of an upload that was taken over is removed by the next start if it cannot be removed now', async (t) => {
  const folder = temporaryFolder(t);
  const data = temporaryFolder(t);
  const name = `.svc-${'0'.repeat(24)}.kept`;
  writeFileSync(join(folder, name), 'content');
  const parent = new OpenedFolder(openSync(folder, 'r'), folder);
  t.after(() => parent.close());
  const hold = { renewContent: async (contentPath: string) => ({ contentPath }) } as UploadHold;
  const record = { contentPath: join(folder, name), offsetBytes: 7 } as UploadRecord;
  t.mock.method(fs, 'unlinkSync', () => {
    throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
  });
  syncBuiltinESMExports();
  try {
    const { contentPath } = await takeOverContent({ temporaries: new Temporaries(data, silentLog) }, hold, record, parent);
    assert.deepEqual(readdirSync(folder).sort(), [name, basename(contentPath)].sort());
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
  new Temporaries(data, silentLog).close();
  assert.equal(readdirSync(folder).length, 1);
  assert.equal(readdirSync(folder).includes(name), false);
});
