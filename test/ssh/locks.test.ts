import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { startServer } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';

const { write, truncate } = openFlags;
const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

test('SFTP respects WebDAV locks: nothing is written, renamed, removed or replaced until the lock is released', async (t) => {
  const services = { web: { type: 'http', port: 0, webdav_compatibility: true }, sftp: { type: 'ssh', port: 0 } };
  const server = await startServer(t, { services });
  writeFileSync(join(server.home, 'locked'), 'old');
  writeFileSync(join(server.home, 'other'), 'other');
  const lock = await server.send('LOCK', '/home/locked', {
    body,
    headers: {
      'content-type': 'application/xml',
      'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)',
      depth: '0',
      timeout: 'Second-300',
    },
  });
  assert.equal(lock.status, 200, lock.text);
  const { sftp } = await loginSftp(t, Number(new URL(server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port));
  const put = () =>
    sftp.put('locked', 'new').then(
      () => 0,
      (error) => (error as { status?: number }).status ?? statusCodes.permissionDenied,
    );
  assert.equal(await put(), statusCodes.permissionDenied);
  assert.equal(await sftp.rename('locked', 'renamed'), statusCodes.permissionDenied);
  assert.equal(await sftp.onPath(packetTypes.remove, 'locked'), statusCodes.permissionDenied);
  const replace = () => sftp.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('other').text('locked'));
  assert.equal(await replace(), statusCodes.permissionDenied);
  assert.equal(readFileSync(join(server.home, 'locked'), 'utf8'), 'old');
  const unlocked = await server.send('UNLOCK', '/home/locked', {
    headers: { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)', 'lock-token': String(lock.headers['lock-token']) },
  });
  assert.equal(unlocked.status, 204);
  assert.equal(await sftp.close(await sftp.open('locked', write | truncate)), 0);
  assert.equal(await replace(), 0);
});
