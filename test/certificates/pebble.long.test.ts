import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { Client } from '../support/client.ts';
import { externalAccount, type Pebble, startPebble } from '../support/pebble.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestConfig, type TestServer } from '../support/server.ts';

const domains = ['files.example.com', 'www.example.com'];

function servicesOf({ directory, caPath, httpPort, tlsPort }: Pebble, acme: object = {}): NonNullable<TestConfig['services']> {
  const options = { directory, email: 'ops@example.com', domains, http_port: httpPort, ca_certificates_path: caPath, ...acme };
  return { web: { type: 'https', port: tlsPort, tls: { acme: options } } };
}

/** Returns the certificate that a client gets if it trusts only the given root; undefined if it does not trust the service. */
function trusted(
  url: string,
  ca: string,
  servername = 'files.example.com',
  ALPNProtocols = ['http/1.1'],
): Promise<X509Certificate | undefined> {
  return new Promise((resolve) => {
    const { hostname: host, port } = new URL(url);
    const socket = connect({ host, port: Number(port), servername, ca, ALPNProtocols }, () => {
      resolve(socket.getPeerX509Certificate());
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined));
  });
}

async function obtained(
  t: TestContext,
  pebble: Pebble,
  acme: object,
): Promise<{ server: TestServer; served: X509Certificate; root: string }> {
  const server = await startServer(t, { services: servicesOf(pebble, acme) });
  const root = await pebble.root();
  assert.equal(await trusted(server.url, root), undefined, 'the first certificate, a placeholder, is not trusted');
  await until('the order has succeeded or failed', async () => (await server.eventIds()).some((id) => id === 20193 || id === 20194));
  await until('the certificate is served', async () => (await trusted(server.url, root)) !== undefined);
  const served = (await trusted(server.url, root)) as X509Certificate;
  return { server, served, root };
}

for (const challenge of ['http-01', 'tls-alpn-01']) {
  test(`a certificate is obtained by ${challenge}, served, and kept in the data folder`, async (t) => {
    const pebble = await startPebble(t, { needsExternalAccount: challenge === 'http-01' });
    if (!pebble) return;
    const { server, served, root } = await obtained(t, pebble, { challenge, external_account: externalAccount });
    assert.equal(served.subjectAltName, 'DNS:files.example.com, DNS:www.example.com');
    assert.ok(await trusted(server.url, root, 'www.example.com'));
    const [event] = (await server.events()).filter(({ id }) => id === '20193');
    assert.equal(event?.component.uuid, 'web');
    assert.deepEqual(event?.data.domains, domains);
    assert.equal(event?.data.directory, pebble.directory);
    assert.equal(event?.data.expires, new Date(served.validTo).toISOString());
    const folder = join(server.folder, 'data/certificates');
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const names = readdirSync(folder).sort();
    assert.deepEqual([names.length, names[1]], [2, 'web.pem']);
    for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    assert.deepEqual(new X509Certificate(readFileSync(join(folder, 'web.pem'))).raw, served.raw);
    assert.equal(await trusted(server.url, root, 'files.example.com', ['acme-tls/1']), undefined, 'no challenge is running');
  });
}

test('the port for challenges redirects to https, and answers only current challenges', async (t) => {
  const pebble = await startPebble(t);
  if (!pebble) return;
  const { server } = await obtained(t, pebble, {});
  const plain = new Client(`http://127.0.0.1:${pebble.httpPort}`);
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') => plain.send(method, path, { headers });
  const moved = await ask('/a%20b?x=1', { host: 'FILES.example.com:80' });
  assert.deepEqual([moved.status, moved.headers.location], [308, `https://files.example.com:${pebble.tlsPort}/a%20b?x=1`]);
  assert.equal(
    (await ask('//evil.example/', { host: 'www.example.com' })).headers.location,
    `https://www.example.com:${pebble.tlsPort}//evil.example/`,
  );
  for (const host of ['evil.example', 'files.example.com.evil.example', 'files.example.com@evil.example', ''])
    assert.equal((await ask('/', { host })).status, 404, host);
  assert.equal((await ask('/a.txt', { host: 'files.example.com' }, 'PUT')).status, 405);
  const web = readFileSync(join(server.folder, 'data/certificates/web.pem'), 'utf8');
  for (const token of [
    '',
    'x',
    'AAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '../../web.pem',
    '..%2f..%2fcertificates%2fweb.pem',
    `${'A'.repeat(30)}/x`,
    '%00',
    'A'.repeat(5000),
  ]) {
    const reply = await ask(`/.well-known/acme-challenge/${token}`, { host: 'files.example.com' });
    assert.equal(reply.status, 404, token);
    assert.ok(!web.includes(reply.text));
  }
});
