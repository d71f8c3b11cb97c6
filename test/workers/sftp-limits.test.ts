import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Client } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { tryLogins } from '../support/ssh.ts';
import { startFleet } from '../support/workers.ts';

/** Connects, and says nothing. @returns the connection once the server has said what it is; undefined when it ended it */
async function stranger(t: TestContext, port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  const [said] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown];
  return Buffer.isBuffer(said) && /^SSH-2\.0-svc/.test(said.toString('latin1')) ? socket : undefined;
}

test('two workers share the limits of SSH connections, list and end their sessions, and add up their figures', async (t) => {
  const limits = {
    maximum_concurrent_connections: 9,
    maximum_unauthenticated_connections: 5,
    maximum_unauthenticated_connections_per_address: 3,
    maximum_sessions_per_account: 3,
  };
  const watch = { type: 'monitor', port: 0 };
  const fleet = await startFleet(t, 2, { services: { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0, ...limits }, watch } });
  const [, text] = await fleet.running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  const port = Number(text);
  const letIn: Socket[] = [];
  for (let count = 0; count < 8; count++) {
    const socket = await stranger(t, port);
    if (socket) letIn.push(socket);
  }
  assert.equal(letIn.length, 3, 'of one address before the login');
  for (const socket of letIn) socket.destroy();
  await until('their places are free', async () => (await stranger(t, port))?.destroy() !== undefined);

  const logins = [await loginSftp(t, port), await loginSftp(t, port), await loginSftp(t, port)];
  const isRefused = async () => {
    const { client } = await tryLogins(t, port, [{ type: 'password', username: 'alice', password: testPassword }]);
    client?.end();
    return client === undefined;
  };
  assert.ok(await isRefused(), 'a fourth of one account');
  const sessions = await listed(t, fleet.dataFolder, 'sessions');
  assert.deepEqual(
    sessions.map(({ service, account, address }) => [service, account, address]),
    Array.from({ length: 3 }, () => ['sftp', 'alice', '127.0.0.1']),
  );
  for (const [index, { sftp }] of logins.entries()) await sftp.put(`file${index}`, 'x'.repeat(1000));

  const [, monitorUrl = ''] = await fleet.running.line(/watch listening on (\S+)\/\n/);
  const monitor = new Client(monitorUrl);
  const metric = async (name: string, labels = '') => {
    const samples = (await monitor.get('/metrics', { user: null })).text.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\d+)$`, 'gm'));
    return [...samples].filter(([, found = '']) => found.includes(labels)).reduce((sum, [, , value]) => sum + Number(value), 0);
  };
  assert.equal(await metric('svc_ssh_logins_total'), 3);
  assert.equal(await metric('svc_ssh_handshakes_total', 'outcome="done"'), 4);
  assert.equal(await metric('svc_sftp_transfers_total', 'direction="upload",outcome="done"'), 3);
  assert.equal(await metric('svc_sftp_transferred_bytes_total', 'direction="upload"'), 3000);
  assert.equal(await metric('svc_sftp_requests_total', 'request="open"'), 3);
  assert.equal(await metric('svc_sessions', 'service="sftp"'), 3, 'counted once');

  const removed = await control(t, fleet.dataFolder, 'sessions', 'remove', sessions[0]?.id ?? '');
  assert.equal(removed.stdout, 'removed 1 session\n');
  await Promise.race(logins.map(({ ended }) => ended));
  const again = await loginSftp(t, port);
  assert.ok(await isRefused());
  assert.equal(await metric('svc_ssh_logins_total'), 4);

  // A worker that dies takes its connections with it, and they count no more.
  await fleet.kill(fleet.workers());
  await again.ended;
  await fleet.ready(2);
  assert.deepEqual(await listed(t, fleet.dataFolder, 'sessions'), []);
  for (let count = 0; count < 3; count++) await loginSftp(t, port);
  assert.ok(await isRefused());
  assert.equal(await metric('svc_ssh_logins_total'), 7, 'figures of workers that ended stay');
  const reasons = new Set((await fleet.events()).filter(({ id }) => id === '30051').map(({ data }) => data.details));
  assert.deepEqual(
    reasons,
    new Set(['Too many connections of this address that have not logged in.', 'Too many connections of this account.']),
  );
});
