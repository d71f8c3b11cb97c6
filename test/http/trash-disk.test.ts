import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';
import { fillDisk, homeWithDisk, smallDisk } from '../support/small-disk.ts';
import { trashOf } from '../support/trash.ts';

const trash = { days: 30 };

test('on a full disk the oldest items of the trash are removed; if the trash is empty, deletions are final', async (t) => {
  const disk = smallDisk(t, 512);
  if (!disk) return;
  const server = await startServer(t, { group: { trash, home_folder_path: disk } });
  for (const name of ['old', 'young', 'last', 'more']) writeFileSync(join(disk, name), Buffer.alloc(16 * 1024, name));
  for (const name of ['old', 'young']) assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  fillDisk(join(disk, 'filler'));
  assert.equal((await server.send('DELETE', '/home/last')).status, 204);
  const paths = (await trashOf(server)).map(({ path }) => path);
  assert.deepEqual(paths, ['/last', '/young']);
  assert.equal((await server.send('DELETE', '/home/__svc__/trash')).status, 204);
  fillDisk(join(disk, 'filler 2'));
  assert.equal((await server.send('DELETE', '/home/more')).status, 204);
  assert.equal(existsSync(join(disk, 'more')), false);
  assert.deepEqual(await trashOf(server), []);
  const told = (await server.events()).filter(({ id }) => id === '40012').map(({ data }) => [data.path, data.trashed]);
  assert.deepEqual(told.slice(-2), [
    ['/last', true],
    ['/more', undefined],
  ]);
});

test('on a disk that is mounted in the home folder, files are copied to the trash, and replacing folders is refused', async (t) => {
  const disk = homeWithDisk(t, 512);
  if (!disk) return;
  const { home, mounted } = disk;
  const server = await startServer(t, { group: { trash, home_folder_path: home }, service: { webdav_compatibility: true } });
  mkdirSync(join(mounted, 'folder'));
  writeFileSync(join(mounted, 'folder/a'), 'in the folder');
  writeFileSync(join(mounted, 'b'), 'first');
  assert.equal((await server.put('/home/mounted/b', 'second')).status, 201);
  assert.equal((await server.send('DELETE', '/home/mounted/folder/')).status, 204);
  assert.deepEqual(readdirSync(mounted), ['b']);
  for (const { id, path } of await trashOf(server))
    assert.equal(
      (
        await server.send('POST', `/home/__svc__/trash/${id}/restore`, {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ path: path.endsWith('b') ? 'b-before' : path }),
        })
      ).status,
      201,
    );
  assert.equal(readFileSync(join(mounted, 'folder/a'), 'utf8'), 'in the folder');
  assert.equal(readFileSync(join(mounted, 'b-before'), 'utf8'), 'first');
  mkdirSync(join(home, 'other'));
  const replaced = await server.send('MOVE', '/home/other/', { headers: { destination: '/home/mounted/folder/', overwrite: 'T' } });
  assert.equal(replaced.status, 403);
  assert.equal(readFileSync(join(mounted, 'folder/a'), 'utf8'), 'in the folder');
});
