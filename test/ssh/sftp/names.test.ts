import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import type { FieldWriter } from '../../../src/ssh/sftp/packets/replies.ts';
import { testSession } from '../../support/sftp-session.ts';
import { tree } from '../../support/tree.ts';

const { create, truncate, write } = openFlags;
const good = Buffer.from('good');

/** Every request with a name. The name is the first or second field. */
const requests: Record<string, (name: Buffer) => [number, (fields: FieldWriter) => unknown]> = {
  open: (name) => [
    packetTypes.open,
    (fields) =>
      fields
        .bytes(name)
        .uint32(write | create | truncate)
        .attributes({}),
  ],
  lstat: (name) => [packetTypes.lstat, (fields) => fields.bytes(name)],
  stat: (name) => [packetTypes.stat, (fields) => fields.bytes(name)],
  setstat: (name) => [packetTypes.setstat, (fields) => fields.bytes(name).attributes({ mode: 0o700 })],
  opendir: (name) => [packetTypes.opendir, (fields) => fields.bytes(name)],
  remove: (name) => [packetTypes.remove, (fields) => fields.bytes(name)],
  mkdir: (name) => [packetTypes.mkdir, (fields) => fields.bytes(name).attributes({})],
  rmdir: (name) => [packetTypes.rmdir, (fields) => fields.bytes(name)],
  realpath: (name) => [packetTypes.realpath, (fields) => fields.bytes(name)],
  readlink: (name) => [packetTypes.readlink, (fields) => fields.bytes(name)],
  'rename from': (name) => [packetTypes.rename, (fields) => fields.bytes(name).bytes(good)],
  'rename to': (name) => [packetTypes.rename, (fields) => fields.bytes(good).bytes(name)],
  'symlink from': (name) => [packetTypes.symlink, (fields) => fields.bytes(name).bytes(good)],
  'symlink to': (name) => [packetTypes.symlink, (fields) => fields.bytes(good).bytes(name)],
  'posix-rename to': (name) => [packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').bytes(good).bytes(name)],
};

test('every request refuses names that are not UTF-8 or contain NUL, and nothing is changed', async (t) => {
  const { client, home } = testSession(t);
  writeFileSync(join(home, 'good'), 'content');
  const odd = [[0x66, 0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe4, 0xb8], [0], [0x67, 0, 0x68]];
  for (const [what, make] of Object.entries(requests))
    for (const bytes of odd) assert.equal(await client.status(...make(Buffer.from(bytes))), statusCodes.badMessage, `${what} ${bytes}`);
  assert.deepEqual(tree(home), { good: 'content' });
});

test('slashes and `..` in names do not lead out of the root: the parent of the root is the root', async (t) => {
  const { client, home } = testSession(t);
  mkdirSync(join(home, 'd'));
  writeFileSync(join(home, '..', 'beside'), 'outside');
  await client.put('/../../d//./one', '1');
  await client.put('..//..', '').catch(() => {});
  await client.put('d/../../two', '2');
  await client.put('d/x/../three', '3');
  assert.equal(await client.rename('../d/one', '/d/../../../four'), 0);
  assert.equal(await client.status(packetTypes.mkdir, (fields) => fields.text('../made/').attributes({})), 0);
  assert.equal(await client.onPath(packetTypes.remove, '../beside'), statusCodes.noSuchFile);
  assert.equal(await client.onPath(packetTypes.rmdir, '..'), statusCodes.permissionDenied, 'the root cannot be removed');
  for (const name of ['\\', '%2e%2e', '..\\two', ' ', '~', '-rf', '\u202egnp.exe', '...', 'CON', '*?"<>|:']) {
    await client.put(name, name);
    assert.deepEqual(await client.onPath(packetTypes.remove, `//${name}`), 0, JSON.stringify(name));
  }
  assert.deepEqual(tree(home), { 'd/': '', 'd/three': '3', four: '1', 'made/': '', two: '2' });
  assert.deepEqual(readdirSync(join(home, '..')).sort(), ['beside', 'data', 'home']);
});
