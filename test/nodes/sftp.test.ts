import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { control } from '../support/control.ts';
import { startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { makeKey, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const alice = { type: 'password', username: 'alice', password: testPassword };

function portOf({ service }: TestNode): number {
  return Number(new URL(service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port);
}

test('sessions, locks and limits of accounts apply to SFTP at all nodes; without Redis there are no new logins', {
  timeout: 90_000,
}, async (t) => {
  const hostKey = makeKey(temporaryFolder(t), 'host_key');
  const services = {
    web: { type: 'http', port: 0, webdav_compatibility: true },
    sftp: { type: 'ssh', port: 0, host_key_paths: [hostKey], maximum_sessions_per_account: 2 },
  };
  const started = await startNodesOnRedis(t, 2, { services });
  if (!started) return;
  const { redis, folder, nodes } = started;
  const [here, there] = nodes as [TestNode, TestNode];
  const logins = [await loginSftp(t, portOf(here)), await loginSftp(t, portOf(there))] as const;
  assert.equal((await tryLogins(t, portOf(here), [alice])).client, undefined, 'a third session of the account is refused');

  await logins[1].sftp.put('locked', 'old');
  const lock = await here.send('LOCK', '/home/locked', {
    body: '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>',
    headers: { 'content-type': 'application/xml', 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)', depth: '0' },
  });
  assert.equal(lock.status, 200, lock.text);
  const refused = await logins[1].sftp.open('locked', openFlags.write).catch(({ status }) => status);
  assert.equal(refused, statusCodes.permissionDenied, 'the file is locked through the other node');

  const removed = await control(t, join(folder, 'n1'), 'sessions', 'remove', '--all');
  assert.equal(removed.stdout, 'removed 2 sessions\n');
  await Promise.all(logins.map(({ ended }) => ended));

  const { sftp } = await loginSftp(t, portOf(there));
  const authHandler = (_: unknown, __: unknown, tryNext: (attempt: object) => void) => void redis.kill().then(() => tryNext(alice));
  assert.equal((await tryLogins(t, portOf(here), [alice], { authHandler })).client, undefined);
  assert.equal(typeof (await sftp.stat('locked')), 'object', 'existing sessions can still read');
  await assert.rejects(sftp.put('locked', 'x'), /cannot be reached/, 'nobody knows whether the file is still locked');
  assert.equal(here.log.filter((line) => line.includes('internal error')).length, 0);
});
