import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { run } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { control, listed } from '../support/control.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp, type SftpLogin } from '../support/sftp-client.ts';
import { tryLogins } from '../support/ssh.ts';
import { startSupervised, type TestSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';

const { write, create, truncate } = openFlags;
const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } };

async function sftpPort(svc: TestSupervised): Promise<number> {
  const [, port] = await svc.running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  return Number(port);
}

/** Starts a session at each of two nodes, and opens a file in each session. @returns the sessions by the process ID of the node */
async function sessionsOfTwo(t: Parameters<typeof loginSftp>[0], svc: TestSupervised, port: number) {
  const found = new Map<number, Awaited<ReturnType<typeof loginSftp>> & { handle: Buffer; name: string }>();
  for (let number = 0; found.size < 2; number++) {
    assert.ok(number < 50, 'one node has all connections');
    const login = await loginSftp(t, port);
    const name = `file${number}`;
    const handle = await login.sftp.open(name, write | create | truncate);
    const pid = svc.nodes().find((node) => openFiles(node).some((path) => path.startsWith(svc.home)) && !found.has(node));
    if (pid !== undefined) found.set(pid, { ...login, handle, name });
    else login.client.end();
  }
  return [...found];
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(join(folder, fd))];
    } catch {
      return [];
    }
  });
}

test('SFTP with two nodes: an upload survives the death of the other node, whose unfinished upload leaves no file', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, { services });
  const port = await sftpPort(svc);
  const [victim, other] = await sessionsOfTwo(t, svc, port);
  assert.ok(victim && other);
  writeFileSync(join(svc.home, 'shared'), 'old');
  for (const [, { sftp, handle }] of [victim, other]) assert.equal(await sftp.write(handle, 0, 'half of it'), 0);
  await svc.kill([victim[0]]);
  await victim[1].ended;
  await svc.ready(2);
  assert.equal(await other[1].sftp.write(other[1].handle, 10, ', and the rest'), 0);
  assert.equal(await other[1].sftp.close(other[1].handle), 0);
  assert.equal(readFileSync(join(svc.home, other[1].name), 'utf8'), 'half of it, and the rest');
  const again = await loginSftp(t, port);
  await again.sftp.put(victim[1].name, 'whole');
  assert.equal(readFileSync(join(svc.home, victim[1].name), 'utf8'), 'whole');
  assert.deepEqual(
    readdirSync(svc.home).filter((name) => name.startsWith('.')),
    [],
  );
  const uploads = (await svc.events()).filter(({ id }) => id === '30068').map(({ data }) => data.path);
  assert.deepEqual(uploads.sort(), [`/${other[1].name}`, `/${victim[1].name}`].sort());
  assert.equal(await svc.stop(), 0);
});

test('nodes without root can use host keys that only root may read, even if they start later, and after a reload', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  if (process.getuid?.() !== 0) {
    if (process.env.CI === 'true') assert.fail('This test needs root, and under CI nothing may be skipped.');
    return t.skip('only root can become another account');
  }
  const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1]);
  const hostKey = join(temporaryFolder(t), 'host_key');
  writeFileSync(hostKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const sftp = { ...services.sftp, host_key_paths: [hostKey] };
  const config = { server: { user: 'nobody' }, services: { ...services, sftp } };
  const svc = await startSupervised(t, 2, config);
  chmodSync(svc.folder, 0o755);
  chownSync(svc.home, nobody, nobody);
  const port = await sftpPort(svc);
  const check = async (name: string) => {
    const { sftp: client } = await loginSftp(t, port);
    await client.put(name, 'x');
  };
  await check('a');
  await svc.kill(svc.nodes());
  await svc.ready(2);
  await check('b');
  await svc.configure({ ...config, services: { ...services, sftp: { ...sftp, before_login_message: 'Hello' } } });
  const reloaded = await run(t, ['reload'], { cwd: svc.folder });
  assert.equal(reloaded.code, 0, `${reloaded.stdout}${reloaded.stderr}`);
  await check('c');
});

/** Connects and sends nothing. @returns the connection after the identification of the server; undefined if the server ended it */
async function stranger(t: TestContext, port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  const [said] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown];
  return Buffer.isBuffer(said) && /^SSH-2\.0-svc/.test(said.toString('latin1')) ? socket : undefined;
}

test('two nodes share the limits of SSH connections, list and end their sessions, and add up their figures', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const limits = {
    maximum_concurrent_connections: 10,
    maximum_unauthenticated_connections: 8,
    maximum_unauthenticated_connections_per_address: 4,
    maximum_sessions_per_account: 3,
  };
  const watch = { type: 'monitor', port: 0 };
  const svc = await startSupervised(t, 2, {
    services: { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0, ...limits }, watch },
  });
  const [, text] = await svc.running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  const port = Number(text);
  const letIn: Socket[] = [];
  for (let count = 0; count < 8; count++) {
    const socket = await stranger(t, port);
    if (socket) letIn.push(socket);
  }
  assert.equal(letIn.length, 4, 'each node accepts its share (two) of the four connections of an address before the login');
  for (const socket of letIn) socket.destroy();

  const logins: SftpLogin[] = [];
  // A node frees the slots of ended connections when it notices their end.
  const logIn = () =>
    loginSftp(t, port).then(
      (login) => logins.push(login),
      () => 0,
    );
  for (const name of ['first', 'second', 'third']) await until(`the ${name} login has a place`, async () => (await logIn()) > 0);
  const isRefused = async () => {
    const { client } = await tryLogins(t, port, [{ type: 'password', username: 'alice', password: testPassword }]);
    client?.end();
    return client === undefined;
  };
  assert.ok(await isRefused(), 'a fourth session of the account is refused');
  const sessions = await listed(t, svc.dataFolder, 'sessions');
  assert.deepEqual(
    sessions.map(({ service, account, address }) => [service, account, address]),
    Array.from({ length: 3 }, () => ['sftp', 'alice', '127.0.0.1']),
  );
  for (const [index, { sftp }] of logins.entries()) await sftp.put(`file${index}`, 'x'.repeat(1000));

  const [, monitorUrl = ''] = await svc.running.line(/watch listening on (\S+)\/\n/);
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
  assert.equal(await metric('svc_sessions', 'service="sftp"'), 3, 'each session is counted once');

  const removed = await control(t, svc.dataFolder, 'sessions', 'remove', sessions[0]?.id ?? '');
  assert.equal(removed.stdout, 'removed 1 session\n');
  await Promise.race(logins.map(({ ended }) => ended));
  const again = await loginSftp(t, port);
  assert.ok(await isRefused());
  assert.equal(await metric('svc_ssh_logins_total'), 4);

  await svc.kill(svc.nodes());
  await again.ended;
  await svc.ready(2);
  await until('figures of nodes that ended stay', async () => (await metric('svc_ssh_logins_total')) === 4);
  const reasons = new Set((await svc.events()).filter(({ id }) => id === '30051').map(({ data }) => data.details));
  assert.deepEqual(
    reasons,
    new Set(['Too many connections of this address that have not logged in.', 'Too many connections of this account.']),
  );
});
