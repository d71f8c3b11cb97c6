import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { command, form, httpDoors, httpFolderDoors, sftpDoors, urlOf } from '../support/doors.ts';
import { startServer, type TestConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { tree } from '../support/tree.ts';
import { propfind } from '../support/webdav.ts';
import { zipWith } from '../support/zips.ts';

async function bothProtocols(t: TestContext, config: TestConfig = {}) {
  const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } };
  const server = await startServer(t, { ...config, services });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'spare'), 'old');
  const port = Number(new URL(server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port);
  const { sftp } = await loginSftp(t, port);
  return { server, home: server.home, sftp };
}

/** U+0001 to U+001F and U+007F. No protocol accepts NUL in a name. */
const controls = [...Array.from({ length: 31 }, (_, index) => index + 1), 0x7f].map((code) => String.fromCharCode(code));

const nameWithControl = fc
  .tuple(fc.string({ minLength: 1, maxLength: 8 }), fc.constantFrom(...controls), fc.string({ minLength: 1, maxLength: 8 }))
  .map(([before, control, behind]) => `x${before}${control}${behind}x`.replace(/[/\\"\0]/g, '_'));

test('no interface creates a name with a control character: the reply is 400, 422 or FAILURE, and nothing changes', async (t) => {
  const { server, home, sftp } = await bothProtocols(t);
  const before = tree(home);
  for (const control of controls)
    assert.equal(await sftpDoors.MKDIR?.(sftp, `a${control}b`), statusCodes.failure, `U+${control.charCodeAt(0).toString(16)}`);
  const doors = { ...httpDoors, ...httpFolderDoors };
  await fc.assert(
    fc.asyncProperty(nameWithControl, fc.constantFrom('/', '/d'), async (name, folder) => {
      for (const [what, door] of Object.entries(doors)) {
        // A line break in the name would end the `Content-Disposition` line of the part.
        if (what === 'form, file' && /[\r\n]/.test(name)) continue;
        const { status, text } = await door(server, { folder, name });
        assert.equal(status, what.startsWith('command') ? 422 : 400, `${what}: ${text}`);
      }
      const path = `${folder === '/' ? '' : folder}/${name}`;
      for (const [what, door] of Object.entries(sftpDoors)) assert.equal(await door(sftp, path), statusCodes.failure, what);
      assert.deepEqual(tree(home), before);
    }),
    { numRuns: 8 },
  );
});

test('C1 controls and line separators of Unicode are allowed in names', async (t) => {
  const { server, sftp } = await bothProtocols(t);
  for (const name of ['a\u0085b', 'a\u009fb', 'a\u2028b']) {
    assert.equal((await server.put(urlOf(`/${name}`), 'new')).status, 201, JSON.stringify(name));
    assert.equal(await sftp.onPath(packetTypes.remove, name), 0);
  }
});

test('existing names with control characters can be read, listed, archived, moved away and deleted', async (t) => {
  const { server, home, sftp } = await bothProtocols(t);
  const names = controls.map((control) => `a${control}b`);
  const inD = (name: string) => join(home, 'd', name);
  for (const name of names) writeFileSync(inD(name), name);
  for (const name of names) assert.equal((await server.send('GET', urlOf(`/d/${name}`))).text, name);
  const listed = (await server.send('GET', '/home/d/', { headers: { accept: 'application/json' } }))
    .json<{ content: { name: string }[] }>()
    .content.map(({ name }) => name);
  assert.deepEqual(listed, names.toSorted());
  const { responses } = await propfind(server, '/home/d/', '1,noroot');
  assert.deepEqual(responses.map(({ href }) => decodeURIComponent(href)).toSorted(), names.map((name) => `/home/d/${name}`).toSorted());
  assert.deepEqual(await sftp.list('d'), names.toSorted());
  const zip = await server.send('GET', '/home/d/', { headers: { accept: 'application/zip' } });
  writeFileSync(join(server.folder, 'all.zip'), zip.body);
  const archived = zipWith(join(server.folder, 'all.zip'));
  assert.deepEqual([archived.bad, archived.names.toSorted()], [null, names.map((name) => `d/${name}`).toSorted()]);
  // One name for each way to remove a name.
  const [moved = '', renamed = '', deleted = '', removed = '', formed = '', commanded = '', ...rest] = names;
  assert.equal((await server.send('MOVE', urlOf(`/d/${moved}`), { headers: { destination: '/home/clean' } })).status, 201);
  assert.equal(await sftp.rename(`d/${renamed}`, 'clean too'), 0);
  assert.equal((await server.send('DELETE', urlOf(`/d/${deleted}`))).status, 204);
  assert.equal(await sftp.onPath(packetTypes.remove, `d/${removed}`), 0);
  const at = { folder: '/d', name: '' };
  assert.equal((await form(server, at, { action: 'delete-members', 'selected-members': formed })).status, 200);
  assert.equal((await command(server, at, { command: 'delete', target: commanded })).status, 200);
  assert.deepEqual(readdirSync(join(home, 'd')).sort(), rest.toSorted());
  assert.equal((await server.send('COPY', urlOf(`/d/${rest[0]}`), { headers: { destination: '/home/copy' } })).status, 201);
  assert.equal((await server.put(urlOf(`/d/${rest[0]}`), 'new')).status, 400);
  assert.equal((await command(server, at, { command: 'move', target: rest[0], destination: '/home/' })).status, 422);
  assert.equal(readFileSync(inD(rest[0] ?? ''), 'utf8'), rest[0]);
  assert.equal((await server.send('MOVE', '/home/d/', { headers: { destination: '/home/e/' } })).status, 201);
  assert.deepEqual(readdirSync(join(home, 'e')).sort(), rest.toSorted());
  mkdirSync(join(home, 'old\nfolder'));
  assert.equal((await server.put(urlOf('/old\nfolder/good'), 'new')).status, 201);
});

test('no line break evades a rule for paths: a regular expression matches the whole name', async (t) => {
  const permissions = [['allow-full-control'], ['e/^\\/secret\\/.*$/', 'deny-full-control'], ['e/^\\/d\\/a.b$/i', 'deny-full-control']];
  const { server, home, sftp } = await bothProtocols(t, { group: { permissions } });
  mkdirSync(join(home, 'secret'));
  for (const control of ['\n', '\r', '\u0085', '\u2028', '\n\n']) {
    const name = `a${control}b`;
    writeFileSync(join(home, 'secret', name), 'secret');
    for (const method of ['GET', 'HEAD', 'PROPFIND', 'DELETE'])
      assert.equal((await server.send(method, urlOf(`/secret/${name}`))).status, 403, `${method} ${JSON.stringify(name)}`);
    await assert.rejects(sftp.open(`secret/${name}`, 1), { status: statusCodes.permissionDenied });
  }
  writeFileSync(join(home, 'd', 'A\nB'), 'secret');
  assert.equal((await server.send('GET', urlOf('/d/A\nB'))).status, 403);
  const zip = await server.send('GET', '/home/secret/', { headers: { accept: 'application/zip' } });
  assert.equal(zip.body.length, 22, 'an archive without members');
});
