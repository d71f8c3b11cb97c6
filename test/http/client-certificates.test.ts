import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { openssl, selfSign, signByAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { visit } from '../support/tls-visit.ts';

const forClients = 'extendedKeyUsage=clientAuth';

/** Makes an authority `ca`, a certificate of the server, and one of alice. */
function certificates(t: TestContext) {
  const folder = temporaryFolder(t);
  selfSign(folder, { key: 'ca.key', cert: 'ca.crt' }, '/CN=test ca');
  signByAuthority(folder, 'server', '/CN=localhost', 'subjectAltName=IP:127.0.0.1');
  signByAuthority(folder, 'alice', '/CN=alice', forClients);
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name));
  const pair = (name: string) => ({ cert: read(`${name}.crt`), key: read(`${name}.key`) });
  const web = {
    type: 'https',
    port: 0,
    tls_certificate_path: path('server.crt'),
    tls_key_path: path('server.key'),
    tls_client_ca_path: path('ca.crt'),
  };
  return { folder, path, read, pair, web };
}

/** Makes the key `name`.key and its certificate `name`.crt. @param args who signs it, as arguments of `openssl x509` */
function sign(folder: string, name: string, subject: string, extension: string, ...args: string[]): void {
  writeFileSync(join(folder, `${name}.ext`), extension);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
  openssl(folder, 'req', ...key, '-out', `${name}.csr`, '-subj', subject, '-utf8', '-multivalue-rdn');
  openssl(folder, 'x509', '-req', '-in', `${name}.csr`, '-CAcreateserial', '-out', `${name}.crt`, '-extfile', `${name}.ext`, ...args);
}

test('only a valid client certificate that the authority itself signed, with one valid common name, logs in', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { folder, read, pair, web } = certificates(t);
  const ofCa = ['-CA', 'ca.crt', '-CAkey', 'ca.key'];
  sign(folder, 'for-servers', '/CN=alice', 'extendedKeyUsage=serverAuth', ...ofCa, '-days', '2');
  sign(folder, 'ended', '/CN=alice', forClients, ...ofCa, '-days', '-1');
  sign(folder, 'of-alice', '/CN=alice', forClients, '-CA', 'alice.crt', '-CAkey', 'alice.key', '-days', '2');
  sign(folder, 'two-names', '/CN=alice/CN=bob', forClients, ...ofCa, '-days', '2');
  sign(folder, 'no-name', '/O=alice', forClients, ...ofCa, '-days', '2');
  sign(folder, 'path', '/CN=..', forClients, ...ofCa, '-days', '2');
  sign(folder, 'lines', '/CN=alice\nbob', forClients, ...ofCa, '-days', '2');
  const bad = ['for-servers', 'ended', 'of-alice', 'two-names', 'no-name', 'path', 'lines'];
  const asked: string[] = [];
  const callout = await calloutEndpoint(t, (response, { credentials }) => {
    asked.push(String(credentials.username));
    response.writeHead(204).end();
  });
  const server = await startServer(t, {
    services: { web },
    authentications: { all: { type: 'http', url: callout.url, test_at_start: false } },
  });
  for (const name of bad) {
    const { cert, key } = pair(name);
    const chained = name === 'of-alice' ? Buffer.concat([cert, read('alice.crt')]) : cert;
    assert.equal((await visit(server.url, { cert: chained, key })).status, 401, name);
  }
  assert.equal((await visit(server.url, pair('alice'))).status, 200);
  assert.deepEqual(asked, ['alice'], 'the endpoint is not asked about the invalid certificates');
  const stolen = { cert: read('alice.crt'), key: read('path.key') };
  await assert.rejects(visit(server.url, stolen), 'a certificate without its key is refused');
});

async function askOn(socket: TLSSocket): Promise<number> {
  socket.write('GET /home/ HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n');
  const [reply] = (await once(socket, 'data')) as [Buffer];
  return Number(reply.toString('latin1', 9, 12));
}

test('after a reload, an authority whose file was replaced is not trusted, even on open connections or with old tickets', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { folder, path, pair, web, read } = certificates(t);
  const account = { certificates: [read('alice.crt').toString()] };
  const server = await startServer(t, { services: { web }, account });
  const { session } = await visit(server.url, pair('alice'));
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ...pair('alice') });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  assert.equal(await askOn(socket), 200);
  selfSign(folder, { key: 'other.key', cert: 'other.crt' }, '/CN=test ca');
  copyFileSync(path('other.crt'), path('ca.crt'));
  const closed = once(socket, 'close');
  await server.service.reload(await testConfig(server.folder, { services: { web }, account }));
  await closed;
  assert.deepEqual([(await visit(server.url, pair('alice'))).status, (await visit(server.url, { session })).status], [401, 401]);
});

test('when a certificate no longer belongs to the account, running downloads are cut, and open connections get 401', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { pair, web, read } = certificates(t);
  const account = { certificates: [read('alice.crt').toString()] };
  const server = await startServer(t, { services: { web }, account });
  const large = join(server.home, 'large');
  writeFileSync(large, '');
  truncateSync(large, 64 * 1024 * 1024);
  const open = async () => {
    const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ...pair('alice') });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const [idle, loading] = [await open(), await open()];
  assert.equal(await askOn(idle), 200);
  loading.write('GET /home/large HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(loading, 'readable');
  const { ended } = await server.service.reload(await testConfig(server.folder, { services: { web } }));
  assert.equal(ended.transfers, 1);
  loading.on('error', () => {});
  loading.resume();
  await once(loading, 'close');
  assert.ok(loading.bytesRead < 64 * 1024 * 1024);
  assert.equal(await askOn(idle), 401);
});
