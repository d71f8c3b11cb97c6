import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { control, listed } from '../support/control.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('svc trash lists, restores and empties the trash of accounts, including that of virtual folders', async (t) => {
  const shared = temporaryFolder(t);
  const server = await startServer(t, { group: { trash: { days: 30 }, virtual_folders: [['/shared', shared]] } });
  const folder = join(server.folder, 'data');
  const none = await control(t, folder, 'trash', 'list');
  assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'svc: the trash is empty\n']);
  mkdirSync(join(shared, 'sub'));
  writeFileSync(join(shared, 'sub/a'), 'in shared');
  writeFileSync(join(server.home, 'b'), 'at home');
  for (const path of ['shared/sub/', 'b']) assert.equal((await server.send('DELETE', `/home/${path}`)).status, 204);

  const items = await listed(t, folder, 'trash');
  assert.deepEqual(
    items.map(({ account, path, size, is_directory, by }) => [account, path, size, is_directory, by]),
    [
      ['alice', '/b', 7, false, 'alice'],
      ['alice', '/shared/sub', 9, true, 'alice'],
    ],
  );
  assert.match(
    (await control(t, folder, 'trash', 'list')).stdout,
    /^ID +DELETED +ACCOUNT +SIZE +PATH\n[0-9a-f]{32} {2}\d{4}-\S+Z +alice +7 +\/b\n/,
  );
  assert.deepEqual(await listed(t, folder, 'trash', '--account', 'bob'), []);
  const [b, sub] = items;
  assert.ok(b && sub);
  const restored = await control(t, folder, 'trash', 'restore', sub.id);
  assert.deepEqual([restored.code, restored.stdout, restored.stderr], [0, 'restored /shared/sub\n', '']);
  assert.equal(readFileSync(join(shared, 'sub/a'), 'utf8'), 'in shared');
  writeFileSync(join(server.home, 'b'), 'another');
  const refused = await control(t, folder, 'trash', 'restore', b.id, 'f'.repeat(32), '--json');
  assert.deepEqual(
    [refused.code, refused.stdout, refused.stderr.split('\n').slice(0, 2)],
    [
      1,
      '',
      [
        `svc: ${b.id} (/b) is not restored: The name is taken; restore the item under another name.`,
        `svc: there is no item ${'f'.repeat(32)} in the trash`,
      ],
    ],
  );
  assert.equal((await control(t, folder, 'trash', 'restore')).code, 2);
  assert.equal((await control(t, folder, 'trash', 'empty', '--account', 'bob')).stdout, 'permanently deleted 0 items\n');
  assert.equal((await control(t, folder, 'trash', 'empty', '--account', 'alice')).stdout, 'permanently deleted 1 item\n');
  assert.deepEqual(await listed(t, folder, 'trash'), []);
  assert.ok(existsSync(join(server.home, 'b')));
  const told = (await server.events()).filter(({ id }) => ['40101', '40102'].includes(id));
  assert.deepEqual(
    told.map(({ id, account, data }) => [id, account.name, data.path, data.reason]),
    [
      ['40101', 'Process', '/shared/sub', undefined],
      ['40102', 'Process', '/b', 'person'],
    ],
  );
});
