import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { type TestConfig, testConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { makeKey, publicKey, type SshTestServer, startSsh } from '../support/ssh.ts';

const { read, write, create } = openFlags;
const web = { type: 'http', port: 0 };

test('a service that a reload removes serves nobody new, ends idle connections, and ends a busy one when its upload is finished', async (t) => {
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

function servicesOf(server: SshTestServer, options: Record<string, unknown> = {}) {
  return { web, sftp: { type: 'ssh', port: 0, host_key_paths: [join(server.clientFolder, 'host_key')], ...options } };
}

async function reload(server: SshTestServer, { services = servicesOf(server), ...config }: TestConfig) {
  return (await server.service.reload(await testConfig(server.folder, { services, ...config }))).ended;
}

const nothing = { sessions: 0, connections: 0, transfers: 0 };

test('new permissions and limits apply to the next request; open handles stay; a password change ends all other connections', async (t) => {
  const server = await startSsh(t);
  const account = { ssh_keys: [publicKey(server.key)] };
  const before = await loginSftp(t, server.sshPort);
  const open = await before.sftp.open('open', write | create);
  const group = { allow_own_password_change: true };
  const services = servicesOf(server, { max_auth_tries: 1 });
  const permissions = [['allow-list', 'allow-read']];
  assert.deepEqual(await reload(server, { group, account: { ...account, permissions }, services }), nothing);
  assert.equal(await before.sftp.write(open, 0, 'x'), 0);
  assert.equal(await before.sftp.close(open), 0);
  const after = await loginSftp(t, server.sshPort);
  for (const { sftp } of [before, after]) {
    await assert.rejects(sftp.put('f', 'without the right'), /Permission denied/);
    assert.deepEqual(await sftp.list('/'), ['open']);
  }
  await reload(server, { group, account: { ...account, home_folder_path: join(server.folder, 'moved') }, services });
  assert.deepEqual(await before.sftp.list('/'), [], 'the session shows the new home folder');
  await before.sftp.put('f', 'with the right');
  const { status } = await server.send('POST', '/home/__svc__/password-update', {
    user: null,
    headers: { authorization: `session ${await server.login()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ current_password: testPassword, new_password: 'another that is long enough' }),
  });
  assert.equal(status, 204);
  await Promise.all([before.ended, after.ended]);
  await assert.rejects(loginSftp(t, server.sshPort), 'the old password is refused');
  await until(
    'the ends of the connections are reported',
    async () => (await server.events()).filter(({ id }) => id === '30015').length >= 3,
  );
});

const outs: [why: string, config: (server: SshTestServer) => Promise<TestConfig>][] = [
  ['its account is disabled', async () => ({ account: { enabled: false } })],
  ['its group is disabled', async () => ({ group: { enabled: false } })],
  ['the password was changed', async () => ({ account: { password: await cheapHash('another that is long enough') } })],
  ['its group now requires a key', async () => ({ group: { required_credentials: 'ssh-key' } })],
  [
    'the service asks no method that knows the account',
    async () => ({ authentications: { local: { type: 'application', enabled: false } } }),
  ],
];

for (const [why, config] of outs) {
  test(`a connection with open files is cut by a reload when ${why}`, async (t) => {
    const authentications = { local: { type: 'application' } };
    const server = await startSsh(t, {}, { authentications });
    writeFileSync(join(server.home, 'old'), 'old content');
    const { sftp, ended } = await loginSftp(t, server.sshPort);
    const [reading, writing] = [await sftp.open('old', read), await sftp.open('new', write | create)];
    assert.equal(await sftp.write(writing, 0, 'x'), 0);
    assert.equal(String(await sftp.read(reading, 0, 3)), 'old');
    const counts = await reload(server, { authentications, ...(await config(server)) });
    assert.deepEqual(counts, { sessions: 0, connections: 1, transfers: 2 });
    await ended;
    await assert.rejects(loginSftp(t, server.sshPort));
    await until('the end of the connection is reported', async () => (await server.events()).some(({ id }) => id === '30015'));
    const [closed] = (await server.events()).filter(({ id }) => id === '30015');
    assert.equal(closed?.data.details, 'The account or its credential was removed, disabled or changed.');
    assert.equal(closed?.account.name, 'alice');
  });
}

test('a removed key ends the connections that it opened; connections with other credentials continue', async (t) => {
  const server = await startSsh(t);
  const [first, second] = [publicKey(server.key), publicKey(makeKey(server.clientFolder, 'second'))];
  await reload(server, { account: { ssh_keys: [first, second] } });
  const byKey = (path: string) => loginSftp(t, server.sshPort, { type: 'publickey', key: readFileSync(path) } as never);
  const [byFirst, bySecond] = [await byKey(server.key), await byKey(join(server.clientFolder, 'second'))];
  const byPassword = await loginSftp(t, server.sshPort);
  assert.deepEqual(await reload(server, { account: { ssh_keys: [`${second} with a comment`] } }), { ...nothing, connections: 1 });
  await byFirst.ended;
  await Promise.all([bySecond, byPassword].map(({ sftp }) => sftp.list('/')));
  const password = await cheapHash('another that is long enough');
  assert.deepEqual(await reload(server, { account: { ssh_keys: [second], password } }), { ...nothing, connections: 1 });
  await byPassword.ended;
  assert.deepEqual(await bySecond.sftp.list('/'), []);
});

test('a change of the accounts file ends connections without a reload, and without a request', async (t) => {
  const server = await startSsh(t);
  const password = await cheapHash(testPassword);
  const path = join(server.folder, 'data', 'accounts.yaml');
  writeFileSync(path, `bob: {password: "${password}"}\n`);
  await until('the accounts file is read', async () => (await server.get('/home/', { user: `bob:${testPassword}` })).status === 200);
  const [bob, alice] = [await loginSftp(t, server.sshPort, { username: 'bob' }), await loginSftp(t, server.sshPort)];
  writeFileSync(`${path}.new`, `bob: {password: "${password}", enabled: false}\n`);
  renameSync(`${path}.new`, path);
  await bob.ended;
  assert.deepEqual(await alice.sftp.list('/'), []);
});
