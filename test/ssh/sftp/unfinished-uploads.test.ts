import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptName } from '../../../src/files/disk/temporaries.ts';
import type { VirtualPath } from '../../../src/lib/virtual-path.ts';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { orderOf, removeUpload } from '../../contracts/upload-store.ts';
import { testSession } from '../../support/sftp-session.ts';

const { ok, noSuchFile, failure } = statusCodes;
const writeNew = openFlags.write | openFlags.create | openFlags.truncate;

test('RMDIR removes a folder that contains only unfinished HTTP uploads, and ends these uploads', async (t) => {
  const { client, home, environment, events } = testSession(t);
  const folder = join(home, 'in');
  mkdirSync(folder);
  const contentPath = join(folder, keptName());
  writeFileSync(contentPath, 'half');
  const { id } = await environment.uploads.add(orderOf(contentPath), 7);
  writeFileSync(join(folder, 'other'), '');
  assert.equal(await client.onPath(packetTypes.rmdir, '/in'), failure);
  assert.ok(existsSync(contentPath), 'the unfinished upload is removed only together with its folder');
  rmSync(join(folder, 'other'));
  assert.equal(await client.onPath(packetTypes.rmdir, '/in'), ok);
  assert.deepEqual(readdirSync(home), []);
  assert.equal((await environment.uploads.find(id))?.outcome?.kind, 'failed');
  assert.deepEqual(
    events.map((event) => event.id),
    [30033, 30032, 40022],
  );
});

test('RMDIR of a folder with a file that is being written is refused', async (t) => {
  const { client, home } = testSession(t);
  mkdirSync(join(home, 'in'));
  const handle = await client.open('/in/a', writeNew);
  assert.equal(await client.write(handle, 0, 'x'), ok);
  assert.equal(await client.onPath(packetTypes.rmdir, '/in'), failure);
  assert.equal(await client.close(handle), ok);
  assert.deepEqual(readdirSync(join(home, 'in')), ['a']);
});

test('files that are being written count as unfinished uploads of their account, until they are closed or lost', async (t) => {
  const session = testSession(t);
  const { client, environment, uploadLimits } = session;
  uploadLimits.maxPerAccount = 10;
  const handles = [];
  for (let index = 0; index < 9; index++) handles.push(await client.open(`/${index}`, writeNew));
  const record = await environment.uploads.add(orderOf(join(session.home, keptName())), 1);
  await assert.rejects(client.open('/more', writeNew), { status: failure });
  assert.deepEqual(readdirSync(session.home).length, 9, 'refused requests leave nothing');
  assert.equal(await client.close(handles[0] as Buffer), ok);
  assert.equal(await client.close(await client.open('/more', writeNew)), ok);
  const again = await client.open('/more', writeNew);
  await assert.rejects(environment.uploads.add(orderOf(join(session.home, keptName())), 1), { code: 'too-many-requests' });
  assert.equal(await client.close(again), ok);
  await removeUpload(environment.uploads, record.id);
  session.lose();
  await session.served;
  for (let index = 0; index < 10; index++) await environment.uploads.add(orderOf(join(session.home, keptName())), 1);
});

test('an upload whose folder is deleted by another client fails; an upload whose folder was moved moves with it', async (t) => {
  const { client, home, files, events } = testSession(t);
  for (const name of ['gone', 'old']) mkdirSync(join(home, name));
  const lost = await client.open('/gone/a', writeNew);
  const moved = await client.open('/old/a', writeNew);
  assert.deepEqual(await files.deleteFolder('/gone' as VirtualPath), []);
  assert.equal(await client.write(lost, 0, 'x'), noSuchFile);
  assert.equal(await client.close(lost), noSuchFile);
  await files.move('/old' as VirtualPath, '/new' as VirtualPath, { mayReplace: 'nothing', acrossKinds: false });
  mkdirSync(join(home, 'old'));
  assert.deepEqual(await files.deleteFolder('/old' as VirtualPath), []);
  assert.equal(await client.write(moved, 0, 'x'), ok);
  assert.equal(await client.close(moved), ok);
  assert.deepEqual(readdirSync(join(home, 'new')), ['a']);
  assert.equal(events.filter(({ id }) => id === 30042).length, 1);
});
