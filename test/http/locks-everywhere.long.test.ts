import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { Client, type TestReply } from '../support/client.ts';
import {
  beginDraft,
  command,
  completeDraft,
  createTus,
  type DoorTarget,
  fillTus,
  form,
  httpDoors,
  httpFolderDoors,
  sftpDoors,
} from '../support/doors.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { tree } from '../support/tree.ts';

const finder = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)' };
const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

/** Starts a service `dav` with locks, and services `web` and `sftp` without, and creates files to be locked. */
async function lockingServer(t: TestContext, sftpOptions: Record<string, unknown> = {}) {
  const services = {
    dav: { type: 'http', port: 0, webdav_compatibility: true },
    web: { type: 'http', port: 0 },
    sftp: { type: 'ssh', port: 0, ...sftpOptions },
  };
  const server = await startServer(t, { services });
  const url = (uuid: string) => server.service.listening().find((listener) => listener.uuid === uuid)?.url ?? '';
  const path = (name: string) => join(server.home, name);
  for (const folder of ['d/sub', 'deep']) mkdirSync(path(folder), { recursive: true });
  for (const file of ['d/f', 'd/sub/f', 'deep/f', 'spare']) writeFileSync(path(file), 'old');
  const lock = async (target: string, depth = '0') => {
    const reply = await server.send('LOCK', target, { body, headers: { ...finder, depth } });
    assert.ok([200, 201].includes(reply.status), reply.text);
    return String(reply.headers['lock-token']);
  };
  const unlock = async (target: string, token: string) => {
    const reply = await server.send('UNLOCK', target, { headers: { ...finder, 'lock-token': token } });
    assert.equal(reply.status, 204, reply.text);
  };
  const login = () => loginSftp(t, Number(new URL(url('sftp')).port));
  return { server, home: server.home, web: new Client(url('web')), path, lock, unlock, login };
}

// Forms and commands report each target. The reply to a form with one target has the status of that target.
function assertLocked(what: string, { status, text }: TestReply): void {
  if (status === 422) assert.match(text, /"message":"[^"]*locked/i, `${what}: ${text}`);
  else assert.equal(status, 423, `${what}: ${text}`);
}

test('a lock of a file or folder also applies to an HTTP service without LOCK, over every interface, except with the token', async (t) => {
  const { home, web, lock, path } = await lockingServer(t);
  const file = await lock('/home/d/f');
  const folder = await lock('/home/deep/', 'infinity');
  const before = tree(home);
  const at: DoorTarget = { folder: '/d', name: 'f' };
  const inFolder: DoorTarget = { folder: '/deep', name: 'new' };
  const replacing: typeof httpDoors = {
    ...httpDoors,
    DELETE: (client, { headers = {} }) => client.send('DELETE', '/home/d/f', { headers }),
    'MOVE away': (client, { headers = {} }) => client.send('MOVE', '/home/d/f', { headers: { destination: '/home/away', ...headers } }),
    'DELETE of the folder': (client, { headers = {} }) => client.send('DELETE', '/home/d/', { headers }),
    'MOVE of the folder': (client, { headers = {} }) =>
      client.send('MOVE', '/home/d/', { headers: { destination: '/home/away/', ...headers } }),
    'form, delete': (client, to) => form(client, to, { action: 'delete-members', 'selected-members': 'f' }),
    'form, move': (client, to) => form(client, to, { action: 'move', 'selected-members': 'f', destination: '/home/' }),
    'command delete': (client, to) => command(client, to, { command: 'delete', target: 'f' }),
    'command move': (client, to) => command(client, to, { command: 'move', target: 'f', destination: '/home/' }),
    'command copy': (client, { headers = {} }) =>
      command(client, { folder: '/d/sub', name: 'f', headers }, { command: 'copy', target: 'f', destination: '/home/d', overwrite: true }),
  };
  for (const [what, door] of Object.entries(replacing)) assertLocked(what, await door(web, at));
  for (const [what, door] of Object.entries({ ...httpDoors, ...httpFolderDoors })) assertLocked(`${what} in`, await door(web, inFolder));
  assert.deepEqual(tree(home), before, 'nothing has changed');
  // The holder of the token can also act through the service without locks.
  const restore = () => {
    for (const gone of ['d', 'deep', 'away', 'f']) rmSync(path(gone), { recursive: true, force: true });
    for (const made of ['d/sub', 'deep']) mkdirSync(path(made), { recursive: true });
    for (const written of ['d/f', 'd/sub/f', 'deep/f', 'spare']) writeFileSync(path(written), 'old');
  };
  for (const [what, door] of Object.entries({ ...httpDoors, ...httpFolderDoors })) {
    const { status, text } = await door(web, { ...inFolder, headers: { if: `</home/deep/> (${folder})` } });
    assert.ok(status < 300, `${what} with the token of the folder: ${status} ${text}`);
    restore();
  }
  for (const [what, door] of Object.entries(httpDoors)) {
    const { status, text } = await door(web, { ...at, headers: { if: `</home/d/f> (${file})` } });
    assert.ok(status < 300, `${what} with the token: ${status} ${text}`);
    restore();
  }
});

test('an upload that began before the lock is refused at its end, and can be completed with the token or after the unlock', async (t) => {
  const { web, lock, unlock, path } = await lockingServer(t);
  const at: DoorTarget = { folder: '/d', name: 'f' };
  const draft = String((await beginDraft(web, at)).headers.location);
  const tus = String((await createTus(web, { path: '/d/sub/f' })).headers.location);
  const tokens = [await lock('/home/d/f'), await lock('/home/d/sub/f')] as const;
  assert.equal((await completeDraft(web, draft)).status, 423);
  assert.equal((await fillTus(web, tus)).status, 423);
  assert.deepEqual([readFileSync(path('d/f'), 'utf8'), readFileSync(path('d/sub/f'), 'utf8')], ['old', 'old']);
  assert.ok((await completeDraft(web, draft, { if: `</home/d/f> (${tokens[0]})` })).status < 300);
  await unlock('/home/d/sub/f', tokens[1]);
  assert.ok((await fillTus(web, tus)).status < 300);
  assert.deepEqual([readFileSync(path('d/f'), 'utf8'), readFileSync(path('d/sub/f'), 'utf8')], ['new', 'new']);
});

test('no SFTP request creates or replaces a locked item', async (t) => {
  const { home, lock, login } = await lockingServer(t);
  await lock('/home/d/f');
  await lock('/home/deep/', 'infinity');
  const { sftp } = await login();
  const before = tree(home);
  const others: typeof sftpDoors = {
    REMOVE: (client, path) => client.onPath(packetTypes.remove, path),
    'RENAME away': (client, path) => client.rename(path, 'away'),
    'RENAME of the folder': (client) => client.rename('d', 'away'),
    'SETSTAT, size': (client, path) => client.status(packetTypes.setstat, (fields) => fields.text(path).attributes({ sizeBytes: 1 })),
    'SETSTAT, mode': (client, path) => client.status(packetTypes.setstat, (fields) => fields.text(path).attributes({ mode: 0o600 })),
    'OPEN and FSETSTAT': async (client, path) => {
      const handle = await client.open(path, openFlags.read);
      const code = await client.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes({ mode: 0o600 }));
      await client.close(handle);
      return code;
    },
  };
  // These requests refuse a taken name before they check locks.
  const taken = ['RENAME', 'RENAME of an upload', 'MKDIR'];
  for (const [what, door] of Object.entries({ ...sftpDoors, ...others })) {
    const code = await door(sftp, 'd/f');
    assert.ok(code === statusCodes.permissionDenied || (code === statusCodes.failure && taken.includes(what)), `${what}: ${code}`);
  }
  for (const [what, door] of Object.entries(sftpDoors))
    assert.equal(await door(sftp, 'deep/new'), statusCodes.permissionDenied, `${what} in`);
  assert.deepEqual(tree(home), before, 'nothing has changed');
});

test('a lost SFTP upload replaces no locked item, neither under its temporary name nor under the name for lost uploads', async (t) => {
  const { server, path, lock, login } = await lockingServer(t, { partial_uploads: 'keep', temporary_names: ['*.part'] });
  for (const name of ['b.filepart', 'e.part']) writeFileSync(path(name), 'old');
  const { sftp, client } = await login();
  const { write, create, truncate } = openFlags;
  for (const name of ['b', 'c', 'e.part', 'g.part']) {
    const handle = await sftp.open(name, write | create | truncate);
    assert.equal(await sftp.write(handle, 0, 'new'), 0);
  }
  for (const name of ['b.filepart', 'e.part']) await lock(`/home/${name}`);
  client.end();
  await until('all are reported', async () => (await server.eventIds()).filter((id) => id === 30042).length === 4);
  const kept = Object.fromEntries((await server.events()).filter(({ id }) => id === '30042').map(({ data }) => [data.path, data.kept_as]));
  assert.deepEqual(kept, { '/b': undefined, '/c': '/c.filepart', '/e.part': undefined, '/g.part': '/g.part' });
  const text = (name: string) => readFileSync(path(name), 'utf8');
  assert.deepEqual(['b.filepart', 'e.part', 'c.filepart', 'g.part'].map(text), ['old', 'old', 'new', 'new']);
});

test('a file that is written in place does not change any more once it is locked', async (t) => {
  const { path, lock, unlock, login } = await lockingServer(t, { copy_on_resume_limit: 1 });
  const { sftp } = await login();
  const { write } = openFlags;
  const handle = await sftp.open('d/f', write);
  assert.equal(await sftp.write(handle, 0, 'O'), 0);
  const token = await lock('/home/d/f');
  assert.equal(await sftp.write(handle, 1, 'LD'), statusCodes.permissionDenied);
  const setstat = (attributes: { sizeBytes?: number; mode?: number }) =>
    sftp.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes(attributes));
  assert.notEqual(await setstat({ sizeBytes: 0 }), 0);
  assert.equal(await setstat({ mode: 0o600 }), statusCodes.permissionDenied);
  assert.equal(readFileSync(path('d/f'), 'utf8'), 'Old');
  await sftp.close(handle);
  await unlock('/home/d/f', token);
  const again = await sftp.open('d/f', write);
  assert.equal(await sftp.write(again, 1, 'LD'), 0);
  assert.equal(await sftp.close(again), 0);
  assert.equal(readFileSync(path('d/f'), 'utf8'), 'OLD');
});
