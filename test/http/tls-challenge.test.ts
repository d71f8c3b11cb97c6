import assert from 'node:assert/strict';
import { hash, type X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect as connectPlain, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { TlsChallenges } from '../../src/lib/acme/challenges.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';

const protocol = 'acme-tls/1';

/** Opens a listener that answers challenges. Of other connections, it records the first bytes, and replies `other`. */
async function listen(t: TestContext): Promise<{ port: number; given: string[]; sockets: Set<Socket>; clock: ManualClock }> {
  const clock = new ManualClock();
  clock.advance(Date.now() - clock.nowMs());
  const challenges = new TlsChallenges(async (domain) => (domain === 'files.example.com' ? 'token.thumbprint' : undefined), clock);
  const given: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    challenges.sort(socket, () => {
      socket.on('error', () => {});
      socket.once('data', (bytes: Buffer) => {
        given.push(bytes.toString('latin1'));
        socket.end('other');
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, given, sockets, clock };
}

/** Offers protocols. Resolves with the received certificate or the error. */
function offer(
  port: number,
  ALPNProtocols: string[],
  servername: string,
): Promise<{ socket?: TLSSocket; certificate?: X509Certificate | undefined; fault?: string }> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername, ALPNProtocols, rejectUnauthorized: false }, () => {
      resolve({ socket, certificate: socket.getPeerX509Certificate() });
      socket.destroy();
    });
    socket.on('error', (error) => resolve({ fault: error.message }));
  });
}

test('a challenge gets a certificate only for its name and its protocol', async (t) => {
  const { port, given } = await listen(t);
  const { certificate, socket } = await offer(port, [protocol], 'FILES.example.com');
  assert.equal(certificate?.subjectAltName, 'DNS:files.example.com');
  assert.equal(socket?.alpnProtocol, protocol);
  // The SHA-256 of the key authorization, in a critical extension (RFC 8737 §3).
  const digest = hash('sha256', 'token.thumbprint', 'hex');
  const der = certificate?.raw.toString('hex') ?? '';
  assert.ok(der.includes(`06082b060105050701${'1f0101ff04220420'}${digest}`), der);
  assert.match((await offer(port, [protocol], 'other.example.com')).fault ?? '', /.+/);
  assert.deepEqual(given, []);
  for (const protocols of [
    ['h2', 'http/1.1'],
    [protocol, 'h2'],
    ['h2', protocol],
  ]) {
    const before: number = given.length;
    await offer(port, protocols, 'files.example.com');
    assert.equal(given.length, before + 1, `${protocols}: passed on`);
  }
});

test('bytes in any pieces are passed on unchanged, and garbage immediately; a client that becomes silent is disconnected', async (t) => {
  const { port, given, sockets, clock } = await listen(t);
  const record = Buffer.concat([Buffer.from([22, 3, 1, 0, 40]), Buffer.alloc(40, 'x')]);
  const send = async (...pieces: (Buffer | string)[]) => {
    const socket = connectPlain(port, '127.0.0.1');
    socket
      .setNoDelay(true)
      .on('error', () => {})
      .resume();
    for (const piece of pieces) await new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve)));
    return socket;
  };
  const slow = await send(...Array.from(record, (byte) => Buffer.from([byte])));
  await until('the record is passed on', () => given.length === 1);
  assert.equal(given[0], record.toString('latin1'));
  slow.destroy();
  await send('GET / HTTP/1.1\r\n\r\n');
  await until('garbage is passed on immediately', () => given.length === 2);
  await send(Buffer.concat([Buffer.from([22, 3, 1, 255, 255]), Buffer.alloc(20_000, 'y')]));
  await until('a record without an end is passed on', () => given.length === 3);
  await until('these connections are closed', () => sockets.size === 0);
  const half = await send(record.subarray(0, 20));
  await until('the connection is open', () => sockets.size === 1);
  half.destroy();
  await until('a client that leaves is removed', () => sockets.size === 0);
  await send(record.subarray(0, 20));
  await send();
  await until('both connections are open', () => sockets.size === 2);
  clock.advance(9000);
  assert.equal(sockets.size, 2);
  clock.advance(1000);
  await until('a silent client is disconnected', () => sockets.size === 0);
  assert.equal(clock.timers, 0);
  assert.equal(given.length, 3);
});
