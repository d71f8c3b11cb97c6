import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { systemClock } from '../../src/lib/clock.ts';
import { TicketKeys, ticketSecretLastsMs } from '../../src/lib/ticket-keys.ts';
import { selfSign, signByAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, testConfig } from '../support/server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';
import { temporaryFolder } from '../support/temp.ts';
import { visit } from '../support/tls-visit.ts';

const versions: SecureVersion[] = ['TLSv1.2', 'TLSv1.3'];

function makeCertificates(folder: string) {
  selfSign(folder, { key: 'ca.key', cert: 'ca.crt' }, '/CN=test ca');
  const renew = () => signByAuthority(folder, 'server', '/CN=localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  renew();
  signByAuthority(folder, 'alice', '/CN=alice', 'extendedKeyUsage=clientAuth');
  selfSign(folder, { key: 'other.key', cert: 'other.crt' }, '/CN=other ca');
  const path = (name: string) => join(folder, name);
  const https = { type: 'https', port: 0, tls_certificate_path: path('server.crt'), tls_key_path: path('server.key') };
  const read = (name: string) => readFileSync(path(name));
  const alice = { cert: read('alice.crt'), key: read('alice.key') };
  return { path, renew, https, alice, account: { certificates: [alice.cert.toString()] } };
}

test('a ticket resumes only sessions of its service, and carries no client certificate to another service', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { path, renew, https, alice, account } = makeCertificates(temporaryFolder(t));
  const services = {
    web: { ...https, tls_client_ca_path: path('ca.crt') },
    same: { ...https, tls_client_ca_path: path('ca.crt') },
    other: { ...https, tls_client_ca_path: path('other.crt') },
    open: https,
  };
  const server = await startServer(t, { services, account });
  const urls = new Map(server.service.listening().map(({ uuid, url }) => [uuid, url]));
  const at = (uuid: string) => urls.get(uuid) ?? '';
  for (const maxVersion of versions) {
    const first = await visit(at('web'), { ...alice, maxVersion });
    assert.deepEqual([first.status, first.isReused], [200, false], maxVersion);
    const again = await visit(at('web'), { session: first.session, maxVersion });
    assert.deepEqual([again.status, again.isReused], [200, true], `${maxVersion}: the ticket stands for the certificate`);
    for (const uuid of ['same', 'other', 'open']) {
      const elsewhere = await visit(at(uuid), { session: first.session, maxVersion });
      assert.deepEqual([elsewhere.status, elsewhere.isReused], [401, false], `${maxVersion}, ${uuid}`);
    }
    const stranger = await visit(at('other'), { ...alice, maxVersion });
    assert.equal(stranger.status, 401, 'a certificate that does not verify logs nobody in');
    const resumed = await visit(at('other'), { session: stranger.session, maxVersion });
    assert.equal(resumed.status, 401, 'a resumed session does not make the certificate valid');
  }

  const { session } = await visit(at('web'), alice);
  renew();
  await server.service.reload(await testConfig(server.folder, { services, account }));
  const renewed = await visit(at('web'), { session });
  assert.deepEqual([renewed.status, renewed.isReused], [200, true], 'a renewed certificate of the server drops no ticket');
  const changed = { ...services, web: { ...services.web, tls_client_ca_path: path('other.crt') } };
  await server.service.reload(await testConfig(server.folder, { services: changed, account }));
  const distrusted = await visit(at('web'), { session });
  assert.deepEqual([distrusted.status, distrusted.isReused], [401, false], 'the authority is no longer trusted');
});

async function askOn(socket: TLSSocket, request: string): Promise<number> {
  socket.write(request);
  const [reply] = (await once(socket, 'data')) as [Buffer];
  return Number(reply.toString('latin1', 9, 12));
}

test('existing connections end or lose the login when the authority of their client certificate is replaced', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { path, https, alice, account } = makeCertificates(temporaryFolder(t));
  const options = { web: { ...https, tls_client_ca_path: path('ca.crt') } };
  const server = await startServer(t, { services: options, account });
  const open = async (ALPNProtocols: string[]) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ALPNProtocols, ...alice });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const get = 'GET /home/ HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n';
  const [idle, busy] = [await open([]), await open([])];
  assert.deepEqual([await askOn(idle, get), await askOn(busy, get)], [200, 200]);
  busy.write('PUT /home/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1');
  const second = await open(['h2']);
  const http2 = connectHttp2(server.url, { createConnection: () => second });
  const statusOf = async (path: string) => {
    const stream = http2.request({ ':path': path, accept: 'application/json' });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return headers[':status'];
  };
  assert.equal(await statusOf('/home/'), 200);

  const [idleEnds, http2Ends] = [once(idle, 'close'), once(http2, 'close')];
  const changed = { web: { ...options.web, tls_client_ca_path: path('other.crt') } };
  await server.service.reload(await testConfig(server.folder, { services: changed, account }));
  await Promise.all([idleEnds, http2Ends]);
  assert.equal(await askOn(busy, '2'), 201, 'the request that had begun is accepted');
  assert.equal(await askOn(busy, get), 401);
});

/** A clock that lets a test trigger the renewal of the ticket keys. */
class TicketClock extends ShiftedClock {
  renewTickets = () => {};
  override readonly every = (periodMs: number, action: () => void) => {
    if (periodMs === ticketSecretLastsMs) this.renewTickets = action;
    return systemClock.every(periodMs, action);
  };
}

test('a ticket expires with the client certificate in it, and not later than its keys', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { path, https, alice, account } = makeCertificates(temporaryFolder(t));
  const clock = new TicketClock();
  const server = await startServer(t, { services: { web: { ...https, tls_client_ca_path: path('ca.crt') } }, account }, clock);
  const { session } = await visit(server.url, alice);
  assert.equal((await visit(server.url, { session })).isReused, true);
  clock.renewTickets();
  const late = await visit(server.url, { session });
  assert.deepEqual([late.status, late.isReused], [401, false], 'the keys were renewed');
  const { session: next } = await visit(server.url, alice);
  clock.shift(3 * 24 * 3_600_000);
  const expired = await visit(server.url, { session: next });
  assert.equal(expired.status, 401, 'the certificate has expired meanwhile');
});

test('ticket keys are the same in all processes with the same secret, and different for each service and authority', () => {
  const secret = Buffer.alloc(32, 7);
  const [one, two] = [new TicketKeys(secret), new TicketKeys(secret)];
  const ca = Buffer.from('ca');
  assert.deepEqual(one.of('web', ca), two.of('web', ca));
  const all = [one.of('web', ca), one.of('web', undefined), one.of('web', Buffer.from('other')), one.of('other', ca)];
  for (const member of ['ticketKeys', 'sessionIdContext'] as const)
    assert.equal(new Set(all.map((options) => options[member].toString('hex'))).size, all.length, member);
  for (const { ticketKeys, sessionIdContext } of all) assert.deepEqual([ticketKeys.length, sessionIdContext.length], [48, 32]);
  one.renew();
  assert.notDeepEqual(one.of('web', ca).ticketKeys, two.of('web', ca).ticketKeys);
});
