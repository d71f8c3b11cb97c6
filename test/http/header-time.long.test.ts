import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { selfSigned } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer } from '../support/server.ts';

test('a header section that takes longer than half a minute is refused, with and without TLS', { timeout: 120_000 }, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { certPath, keyPath } = selfSigned(t);
  const services = {
    plain: { type: 'http', port: 0 },
    tls: { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath },
  };
  const server = await startServer(t, { services });
  const ports = new Map(server.service.listening().map(({ uuid, url }) => [uuid, Number(new URL(url).port)]));
  const host = '127.0.0.1';
  const sockets = {
    plain: () => connect({ host, port: ports.get('plain') as number }),
    tls: () => connectTls({ host, port: ports.get('tls') as number, rejectUnauthorized: false }),
  };
  const slow = (connected: () => ReturnType<typeof connect>, line: string) =>
    new Promise<string>((resolve) => {
      const socket = connected();
      let text = '';
      socket.write('GET /home/ HTTP/1.1\r\nHost: x\r\n');
      const timer = setInterval(() => socket.writable && line !== '' && socket.write(line), 1000);
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(timer);
        resolve(text);
      });
    });
  const cases = Object.entries(sockets).flatMap(([name, connected]) => ['', 'X-More: x\r\n'].map((line) => ({ name, connected, line })));
  await Promise.all(
    cases.map(async ({ name, connected, line }) => assert.match(await slow(connected, line), /^HTTP\/1\.1 408 /, `${name} ${line}`)),
  );
  assert.equal((await server.eventIds()).filter((id) => id === 40019).length, cases.length);
});
