import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { control, listed } from '../support/control.ts';
import { runProgram } from '../support/program.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { makeOpensshKey, startSsh, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const alice = { type: 'password', username: 'alice', password: testPassword };

/** Connects, and returns the received bytes when the other end has closed. */
async function rawConnection(t: TestContext, port: number, send?: string | Buffer): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  await new Promise((resolve) => socket.once('connect', resolve));
  if (send !== undefined) socket.write(send);
  return { socket, closed };
}

test('every offered algorithm works with OpenSSH; unsafe ones are refused', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  const folder = temporaryFolder(t);
  const hostKeys = await Promise.all([
    makeOpensshKey(folder, 'ed25519', '-t', 'ed25519'),
    makeOpensshKey(folder, 'rsa', '-t', 'rsa', '-b', '2048', '-m', 'PEM'),
    makeOpensshKey(folder, 'ecdsa', '-t', 'ecdsa', '-b', '521'),
  ]);
  const server = await startSsh(t, { host_key_paths: hostKeys, ssh_cipher_list: 'all' });
  const works = async (...options: string[]) => {
    const all = [...options, 'UserKnownHostsFile=/dev/null'];
    return (await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: all })).output;
  };
  const algorithms = [
    ['curve25519-sha256', 'ssh-ed25519', 'aes128-gcm@openssh.com'],
    ['curve25519-sha256@libssh.org', 'rsa-sha2-512', 'aes256-gcm@openssh.com'],
    ['diffie-hellman-group16-sha512', 'rsa-sha2-256', 'chacha20-poly1305@openssh.com'],
    ['diffie-hellman-group18-sha512', 'ecdsa-sha2-nistp521', 'aes256-ctr', 'hmac-sha2-256-etm@openssh.com'],
    ['ecdh-sha2-nistp256', 'ssh-ed25519', 'aes192-ctr', 'hmac-sha2-512-etm@openssh.com'],
    ['ecdh-sha2-nistp384', 'ssh-ed25519', 'aes128-ctr', 'hmac-sha2-256'],
    ['ecdh-sha2-nistp521', 'ssh-ed25519', 'aes128-ctr', 'hmac-sha2-512'],
    ['diffie-hellman-group14-sha256', 'ssh-ed25519', 'aes128-ctr'],
  ];
  const kinds = ['KexAlgorithms', 'HostKeyAlgorithms', 'Ciphers', 'MACs'];
  for (const names of algorithms)
    assert.match(await works(...names.map((name, index) => `${kinds[index]}=${name}`)), /offers no commands/, names.join(', '));
  for (const refused of ['KexAlgorithms=diffie-hellman-group14-sha1', 'HostKeyAlgorithms=ssh-rsa', 'Ciphers=aes128-cbc'])
    assert.match(await works(refused), /no matching/i, refused);
  assert.match(await works('Ciphers=aes128-ctr', 'MACs=hmac-sha1'), /no matching/i);
  const failed = (await server.events()).filter(({ id }) => id === '30013');
  assert.ok(failed.length >= 4);
});

test('ssh-audit has no finding, and ssh-keyscan gets the host keys', async (t) => {
  if (!hasProgram(t, 'ssh-audit') || !hasProgram(t, 'ssh-keyscan')) return;
  const server = await startSsh(t);
  // Older versions of ssh-audit warn of the newest algorithms, because they do not know them. The test ignores these warnings.
  const { output } = await runProgram('ssh-audit', ['-n', '-p', String(server.sshPort), '127.0.0.1'], { cwd: server.clientFolder });
  const said = output.split('\n').filter((line) => /\[(warn|fail)\]|^\(rec\)|\(CVE|\(nfo\)/.test(line));
  assert.deepEqual(
    said.filter((line) => !/^\(kex\) (mlkem768x25519-sha256|kex-strict-s-v00@openssh\.com) +-- \[warn\] unknown algorithm/.test(line)),
    [],
  );
  const scanned = await runProgram('ssh-keyscan', ['-p', String(server.sshPort), '127.0.0.1'], { cwd: server.clientFolder });
  assert.match(scanned.output, /ssh-ed25519 AAAA/);
  assert.doesNotMatch(scanned.output, / ssh-rsa /);
});

test('a client that does not log in is disconnected after the grace time, at any stage of its connection', async (t) => {
  const server = await startSsh(t, { login_grace_time: 1 });
  const connections = await Promise.all([
    rawConnection(t, server.sshPort),
    rawConnection(t, server.sshPort, 'SSH-2.0-slow'),
    rawConnection(t, server.sshPort, 'SSH-2.0-half\r\n'),
  ]);
  for (const { closed } of connections) assert.match(await closed, /^SSH-2\.0-svc\r\n/);
});

test('another protocol, an endless identification, garbage and an old version of SSH end the connection', async (t) => {
  const server = await startSsh(t);
  const garbage = [
    'GET / HTTP/1.1\r\n\r\n',
    'S'.repeat(100_000),
    `SSH-2.0-a\r\n${'\0'.repeat(10)}${'\xff'.repeat(100)}`,
    'SSH-1.5-old\r\n',
  ];
  for (const text of garbage) await (await rawConnection(t, server.sshPort, Buffer.from(text, 'latin1'))).closed;
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client, 'others are served');
  assert.equal((await server.eventIds()).includes(40003), false);
});

test('connections without a login are limited, in total and for each address', async (t) => {
  const server = await startSsh(t, { maximum_unauthenticated_connections_per_address: 3 });
  const first = await Promise.all([1, 2, 3].map(() => rawConnection(t, server.sshPort)));
  const fourth = await rawConnection(t, server.sshPort);
  assert.equal(await fourth.closed, '');
  first[0]?.socket.destroy();
  await until('another connection is admitted', async () => (await tryLogins(t, server.sshPort, [alice])).client !== undefined);
  const refused = (await server.events()).filter(({ id }) => id === '30051');
  assert.match(String(refused[0]?.data.details), /of this address/);
  const few = await startSsh(t, { maximum_unauthenticated_connections: 1 });
  await rawConnection(t, few.sshPort);
  assert.equal(await (await rawConnection(t, few.sshPort)).closed, '');
});

test('the connections of an account are limited', async (t) => {
  const server = await startSsh(t, { maximum_sessions_per_account: 2 });
  const [one, two] = [await tryLogins(t, server.sshPort, [alice]), await tryLogins(t, server.sshPort, [alice])];
  assert.ok(one.client && two.client);
  assert.equal((await tryLogins(t, server.sshPort, [alice])).client, undefined);
  one.client.end();
  await until('a slot is free again', async () => (await tryLogins(t, server.sshPort, [alice])).client !== undefined);
});

test('sessions are listed; removing a session ends its connection; idle connections end', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const ended = new Promise((resolve) => client?.on('close', () => resolve(undefined)));
  const sessions = await listed(t, `${server.folder}/data`, 'sessions');
  assert.deepEqual(
    sessions.map(({ service, account, address }) => [service, account, address]),
    [['sftp', 'alice', '127.0.0.1']],
  );
  await control(t, `${server.folder}/data`, 'sessions', 'remove', sessions[0]?.id ?? '');
  await ended;
  const idle = await startSsh(t, { idle_connection_timeout: 1 });
  const other = await tryLogins(t, idle.sshPort, [alice]);
  await new Promise((resolve) => other.client?.on('close', () => resolve(undefined)));
  const reasons = (await idle.events()).filter(({ id }) => id === '30015').map(({ data }) => data.details);
  assert.deepEqual(reasons, ['The connection was idle.']);
  assert.deepEqual(await listed(t, `${idle.folder}/data`, 'sessions'), []);
});

test('the address of a client behind a proxy is that of the PROXY protocol', async (t) => {
  const server = await startSsh(t, { proxy_protocol: true });
  const header = Buffer.concat([
    Buffer.from('\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c', 'latin1'),
    Buffer.from([192, 0, 2, 7, 127, 0, 0, 1, 0x30, 0x39, 0, 22]),
  ]);
  const socket = connect(server.sshPort, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.write(header.subarray(0, 5));
  await sleep(20);
  socket.write(header.subarray(5));
  const { client } = await tryLogins(t, server.sshPort, [alice], { sock: socket });
  assert.ok(client);
  const [session] = await listed(t, `${server.folder}/data`, 'sessions');
  assert.equal(session?.address, '192.0.2.7');
  const without = await rawConnection(t, server.sshPort, 'SSH-2.0-direct\r\n');
  assert.equal(await without.closed, '', 'a trusted proxy must send the client address');
});

test('a service that stops ends idle connections, even if their clients never answer CHANNEL_CLOSE', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  // Once a channel has SFTP, the client of ssh2 never answers CHANNEL_CLOSE.
  await new Promise((resolve) => (client as unknown as { sftp(done: () => void): void }).sftp(() => resolve(undefined)));
  const ended = new Promise((resolve) => client?.on('close', () => resolve(undefined)));
  assert.equal(await server.stop(), true);
  await ended;
});

test('OpenSSH copies files up and down, while both sides repeat the key exchange', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  const server = await startSsh(t, { rekey_bytes: 1_048_576, ssh_cipher_list: 'secure' });
  const content = randomBytes(3_000_000);
  writeFileSync(join(server.clientFolder, 'up'), content);
  const up = await server.openssh('scp', ['up', 'alice@127.0.0.1:/file'], { options: ['RekeyLimit=1M'] });
  assert.equal(up.code, 0, up.output);
  const down = await server.openssh('scp', ['alice@127.0.0.1:/file', 'down'], { options: ['RekeyLimit=1M'] });
  assert.equal(down.code, 0, down.output);
  for (const path of [join(server.home, 'file'), join(server.clientFolder, 'down')]) {
    const copy = readFileSync(path);
    assert.equal(copy.length, content.length, path);
    assert.equal(
      content.findIndex((byte, index) => byte !== copy[index]),
      -1,
      `the first byte that differs in ${path}`,
    );
  }
  assert.ok((await server.get('/home/file', { user: `alice:${testPassword}` })).status === 200, 'the file is also there over HTTP');
});

test('a client that sends more than its window ends its connection, and nothing else', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [alice]);
  const ended = new Promise((resolve) => client?.on('close', () => resolve(undefined)));
  const { _protocol: protocol } = client as unknown as { _protocol: { channelData(id: number, data: Buffer): void } };
  const channel = await new Promise<{ outgoing: { id: number } }>((resolve, reject) =>
    (client as unknown as SubsystemClient).subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  // The first SFTP packet, the version, never ends: the channel is read, but nothing can be processed.
  for (let sent = 0; sent < 8 * 1024 * 1024; sent += 32_000) protocol.channelData(channel.outgoing.id, Buffer.alloc(32_000, 0xff));
  await ended;
  assert.ok((await tryLogins(t, server.sshPort, [alice])).client);
});

interface SubsystemClient {
  subsys(name: string, done: (error: Error | undefined, channel: { outgoing: { id: number } }) => void): void;
}
