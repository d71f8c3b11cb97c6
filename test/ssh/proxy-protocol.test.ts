import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listed } from '../support/control.ts';
import { until } from '../support/receiver.ts';
import { freePort } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { type SshTestServer, startSsh, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const alice = { type: 'password', username: 'alice', password: testPassword };

/** Starts HAProxy in front of an SSH service. @returns its port */
async function startHaproxy(t: TestContext, server: SshTestServer): Promise<number> {
  const port = await freePort();
  const file = join(temporaryFolder(t), 'haproxy.cfg');
  const times = 'timeout connect 3s\n  timeout client 60s\n  timeout server 60s';
  const back = `server svc 127.0.0.1:${server.sshPort} send-proxy-v2 check check-send-proxy inter 200ms`;
  writeFileSync(file, `defaults\n  mode tcp\n  maxconn 100\n  ${times}\nlisten sftp\n  bind 127.0.0.1:${port}\n  ${back}\n`);
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  t.after(() => void child.kill('SIGTERM'));
  await until('HAProxy answers', () => accepts(port));
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
}

/** Returns a header of version 2 for a client at 192.0.2.7:12345, or with the given fields. */
function header({ command = 0x21, family = 0x11, length = 12, addresses = [192, 0, 2, 7, 127, 0, 0, 1, 0x30, 0x39, 0, 22] } = {}): Buffer {
  const fixed = Buffer.from('\r\n\r\n\0\r\nQUIT\n\0\0\0\0', 'latin1');
  fixed.writeUInt8(command, 12);
  fixed.writeUInt8(family, 13);
  fixed.writeUInt16BE(length, 14);
  return Buffer.concat([fixed, Buffer.from(addresses)]);
}

/** Logs in on a connection that begins with the given bytes. @returns the address of the session; undefined without one */
async function addressAfter(
  t: TestContext,
  server: SshTestServer,
  bytes: Buffer | string,
  port = server.sshPort,
): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(bytes);
  const { client } = await tryLogins(t, port, [alice], { sock: socket });
  if (!client) return undefined;
  const [session, ...others] = await listed(t, `${server.folder}/data`, 'sessions');
  assert.deepEqual(others, []);
  client.end();
  await until('the session has ended', async () => (await listed(t, `${server.folder}/data`, 'sessions')).length === 0);
  return session?.address;
}

test('behind HAProxy, only the guessing client is banned, a PROXY header of a client is refused, health checks do not count', async (t) => {
  if (!hasProgram(t, 'haproxy')) return;
  const security = { security_policy: { ban_after_failures: 2, ban_seconds: 60 } };
  const server = await startSsh(t, { proxy_protocol: true, login_grace_time: 2 }, { server: security });
  const port = await startHaproxy(t, server);
  assert.equal(await addressAfter(t, server, '', port), '127.0.0.1');
  assert.equal(
    await addressAfter(t, server, header(), port),
    undefined,
    'a header that the client sends after the header of the proxy is refused',
  );
  assert.equal(await addressAfter(t, server, 'PROXY TCP4 192.0.2.7 127.0.0.1 1 22\r\n', port), undefined);
  for (const guess of ['marker-wrong-1', 'marker-wrong-2']) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.9' });
    assert.equal((await tryLogins(t, port, [{ ...alice, password: guess }], { sock: socket })).client, undefined);
  }
  const banned = await listed(t, `${server.folder}/data`, 'bans');
  assert.deepEqual(
    banned.map(({ address }) => address),
    ['127.0.0.9'],
  );
  assert.equal(await addressAfter(t, server, '', port), '127.0.0.1', 'others log in through the same proxy');
  assert.deepEqual(
    (await server.events()).filter(({ id }) => id === '40003'),
    [],
  );
});

test('a malformed, cut, endless or unsupported header ends the connection; a header from an untrusted address is refused', async (t) => {
  const server = await startSsh(t, { proxy_protocol: true, login_grace_time: 1, maximum_unauthenticated_connections: 20 });
  const refused: Record<string, Buffer | string> = {
    'version 1': 'PROXY TCP4 192.0.2.7 127.0.0.1 12345 22\r\n',
    'the signature of version 2 with version number 1': header({ command: 0x11 }),
    'an unknown command': header({ command: 0x22 }),
    'a length beyond the limit': header({ length: 65_535 }),
    'addresses that are not there': header({ length: 216 }),
    'half of a header': header().subarray(0, 9),
    'another signature': Buffer.concat([Buffer.from('\r\n\r\n\0\r\nQUIT\r'), header().subarray(12)]),
    'two headers': Buffer.concat([header(), header()]),
    none: '',
  };
  const all = Object.entries(refused).map(async ([what, bytes]) => assert.equal(await addressAfter(t, server, bytes), undefined, what));
  await Promise.all(all);
  const known: [Buffer, string][] = [
    [header(), '192.0.2.7'],
    [header({ length: 15, addresses: [192, 0, 2, 7, 127, 0, 0, 1, 0x30, 0x39, 0, 22, 4, 0, 0] }), '192.0.2.7'],
    [
      header({ family: 0x21, length: 36, addresses: [...Array(10).fill(0), 0xff, 0xff, 192, 0, 2, 8, ...Array(16).fill(1), 0, 9, 0, 22] }),
      '192.0.2.8',
    ],
    [
      header({ family: 0x21, length: 36, addresses: [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1, ...Array(16).fill(1), 0, 9, 0, 22] }),
      '2001:db8::1',
    ],
    [header({ command: 0x20, family: 0, length: 0, addresses: [] }), '127.0.0.1'],
    [header({ family: 0x31, length: 216, addresses: Array(216).fill(65) }), '127.0.0.1'],
    [header({ length: 4, addresses: [192, 0, 2, 7] }), '127.0.0.1'],
  ];
  for (const [bytes, address] of known) assert.equal(await addressAfter(t, server, bytes), address, bytes.toString('hex'));
  const foreign = await startSsh(t, { proxy_protocol: true, login_grace_time: 1, trusted_proxies: '192.0.2.1' });
  assert.equal(await addressAfter(t, foreign, header()), undefined);
  assert.equal(await addressAfter(t, foreign, ''), '127.0.0.1', 'a connection from an untrusted address needs no header');
});
