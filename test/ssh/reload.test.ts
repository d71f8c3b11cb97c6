import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { testConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { startSsh } from '../support/ssh.ts';

const { write, create } = openFlags;
const web = { type: 'http', port: 0 };

test('a service that a reload takes away: nobody new is served, idle connections end, an upload is finished first', async (t) => {
  const server = await startSsh(t);
  const [busy, idle] = [await loginSftp(t, server.sshPort), await loginSftp(t, server.sshPort)];
  const handle = await busy.sftp.open('f', write | create);
  assert.equal(await busy.sftp.write(handle, 0, 'begun, '), 0);
  await server.service.reload(await testConfig(server.folder, { services: { web } }));
  await idle.ended;
  await assert.rejects(loginSftp(t, server.sshPort));
  assert.equal(await busy.sftp.write(handle, 7, 'finished'), 0);
  assert.equal(await busy.sftp.close(handle), 0);
  await busy.ended;
  assert.equal(readFileSync(join(server.home, 'f'), 'utf8'), 'begun, finished');
  const ids = (await server.events()).map(({ id }) => id);
  assert.deepEqual([ids.includes('30068'), ids.includes('30042')], [true, false]);
});

test('accounts and rights of a new configuration count for new connections; a password change ends all others', async (t) => {
  const server = await startSsh(t);
  const before = await loginSftp(t, server.sshPort);
  const sftp = { type: 'ssh', port: 0, host_key_paths: [join(server.clientFolder, 'host_key')], max_auth_tries: 1 };
  const config = { group: { allow_own_password_change: true }, account: { permissions: [['allow-list']] }, services: { web, sftp } };
  await server.service.reload(await testConfig(server.folder, config));
  await before.sftp.put('f', 'with the rights of the login');
  const after = await loginSftp(t, server.sshPort);
  await assert.rejects(after.sftp.put('f', 'without'), /Permission denied/);
  assert.deepEqual(await after.sftp.list('/'), ['f']);
  const { status } = await server.send('POST', '/home/__svc__/password-update', {
    user: null,
    headers: { authorization: `session ${await server.login()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ current_password: testPassword, new_password: 'another that is long enough' }),
  });
  assert.equal(status, 204);
  await Promise.all([before.ended, after.ended]);
  await assert.rejects(loginSftp(t, server.sshPort), 'the old password');
  await until('they are told of', async () => (await server.events()).filter(({ id }) => id === '30015').length >= 3);
});
