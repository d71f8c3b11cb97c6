import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../../support/sftp-session.ts';

const { ok, failure } = statusCodes;
const { write, create, truncate } = openFlags;

test('if SFTP removes, replaces or renames over a file, the file goes to the trash, which SFTP does not show', async (t) => {
  const { client, home, files, events } = testSession(t, {}, { trash: { days: 30 } });
  for (const name of ['file', 'replaced', 'onto', 'from', 'removed-open']) writeFileSync(join(home, name), `old ${name}`);
  mkdirSync(join(home, 'folder/full'), { recursive: true });
  mkdirSync(join(home, 'empty'));
  assert.equal(await client.onPath(packetTypes.remove, 'file'), ok);
  assert.equal(await client.onPath(packetTypes.rmdir, 'folder'), failure, 'a folder that is not empty');
  assert.equal(await client.onPath(packetTypes.rmdir, 'empty'), ok);
  const handle = await client.open('replaced', write | create | truncate);
  assert.equal(await client.write(handle, 0, 'new'), ok);
  assert.equal(await client.close(handle), ok);
  const posixRename = (from: string, to: string) =>
    client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text(from).text(to));
  assert.equal(await posixRename('from', 'onto'), ok);
  const open = await client.open('removed-open', write);
  assert.equal(await client.write(open, 0, 'x'), ok);
  assert.equal(await client.onPath(packetTypes.remove, 'removed-open'), ok);
  await client.close(open);

  assert.deepEqual((await client.list('.')).filter((name) => !/^\.\.?$/.test(name)).sort(), ['folder', 'onto', 'replaced']);
  for (const type of [packetTypes.opendir, packetTypes.stat, packetTypes.remove, packetTypes.rmdir])
    assert.notEqual(await client.status(type, (fields) => fields.text('.svc-trash')), ok, `${type}`);
  const trash = await files.trash.list();
  assert.deepEqual(trash.map(({ path }) => path).sort(), ['/empty', '/file', '/onto', '/removed-open', '/replaced']);
  const trashed = events.filter(({ data }) => data.trashed === true).map(({ id, data }) => [id, data.path, data.replaced]);
  assert.deepEqual(trashed, [
    [30023, '/file', undefined],
    [30032, '/empty', undefined],
    [30068, '/replaced', true],
    [30026, '/from', true],
    [30023, '/removed-open', undefined],
  ]);
  for (const { id, path } of trash) {
    const back = await files.trash.restore(id, () => {}, `/back${path}`);
    if (path !== '/empty') assert.equal(readFileSync(join(home, back), 'utf8'), `old ${path.slice(1)}`);
  }
  assert.deepEqual(readdirSync(join(home, 'back')).sort(), ['empty', 'file', 'onto', 'removed-open', 'replaced']);
});

test('RMDIR puts a folder into the trash if only a record of retention is left of its files', async (t) => {
  const { client, home } = testSession(t, {}, { trash: { days: 30 }, retain: { days: 30 } });
  mkdirSync(join(home, 'd'));
  await client.put('d/file', 'content');
  unlinkSync(join(home, 'd/file'));
  assert.match(readdirSync(join(home, 'd')).join(), /^\.svc-\w+\.retain$/);
  assert.equal(await client.onPath(packetTypes.rmdir, 'd'), ok);
  assert.deepEqual(readdirSync(home), ['.svc-trash']);
});
