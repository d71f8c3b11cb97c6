import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { CertificateKeeper, certificatePath } from '../../src/certificates/certificate-keeper.ts';
import { tlsOptions } from '../../src/certificates/options.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { RedisCertificates } from '../../src/state/redis/certificates.ts';
import { Client } from '../support/client.ts';
import { startPebble } from '../support/pebble.ts';
import { until } from '../support/receiver.ts';
import { freePort, linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const secret = 'the-same-text-on-all-nodes';

test('a node answers the challenge of an order that another node made, and uses the certificate of this order', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const pebble = await startPebble(t);
  if (!pebble) return;
  const redis = await startRedis(t);
  const other = new RedisCertificates(await linkTo(t, redis.url), secret);
  assert.equal(await other.isLeader(), true);
  const acme = { directory: pebble.directory, domains: 'files.example.com', challenge: 'tls-alpn-01', ca_certificates_path: pebble.caPath };
  const server = await startServer(t, {
    server: { shutdown_delay: 0, state: { type: 'redis', url: redis.url, secret } },
    services: { web: { type: 'https', port: pebble.tlsPort, tls: { acme } } },
  });
  const folder = temporaryFolder(t);
  const keeper = new CertificateKeeper({ folder, store: other, events: { emit: () => ({}) as never }, clock: systemClock, log: silentLog });
  t.after(() => keeper.stop());
  const options = tlsOptions.parse({ acme }).acme;
  const services = options ? [{ component: { uuid: 'web', type: 'https', name: 'web' }, options }] : [];
  keeper.prepare(services);
  await keeper.apply(services);
  const paths = [certificatePath(folder, 'web'), join(server.folder, 'data/certificates/web.pem')] as const;
  const [placeholder] = paths.map((path) => readFileSync(path, 'utf8'));
  await until('the first node has obtained the certificate', () => readFileSync(paths[0], 'utf8') !== placeholder);
  await until('the server has the same certificate', () => readFileSync(paths[1], 'utf8') === readFileSync(paths[0], 'utf8'));
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id === 20193 || id === 20194),
    [],
    'the server ordered nothing itself',
  );
});

test('a reload changes the port for challenges, unless the new port is in use; metrics contain the days until a certificate expires', async (t) => {
  const [http, next, taken] = [await freePort(), await freePort(), await freePort()];
  const blocker = createServer().listen(taken, '127.0.0.1');
  t.after(() => blocker.close());
  const acme = (port: number) => ({ acme: { directory: 'https://127.0.0.1:1/dir', domains: 'files.example.com', http_port: port } });
  const port = await freePort();
  const consolePort = await freePort();
  const services = (challengePort: number | undefined) => ({
    web: challengePort === undefined ? { type: 'http', port: 0 } : { type: 'https', port, tls: acme(challengePort) },
    desk: challengePort === undefined ? { type: 'console', port: 0 } : { type: 'console', port: consolePort, tls: acme(challengePort) },
    eyes: { type: 'monitor', port: 0 },
  });
  const server = await startServer(t, { services: services(http) });
  const listening = () => server.service.listening();
  assert.deepEqual(
    listening().map(({ uuid }) => uuid),
    ['web', 'eyes', 'desk', 'acme'],
    'services with the same address share the port for challenges',
  );
  const redirect = async (of: number) => {
    const { headers } = await new Client(`http://127.0.0.1:${of}`).get('/x', { user: null, headers: { host: 'files.example.com' } });
    return headers.location;
  };
  assert.equal(await redirect(http), `https://files.example.com:${port}/x`, 'the redirect leads to the first service that has the name');
  const monitor = new Client(listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
  const { text } = await monitor.get('/metrics', { user: null });
  for (const service of ['web', 'desk']) {
    const [, days] = new RegExp(`svc_certificate_days_left\\{service="${service}"\\} ([\\d.]+)`).exec(text) ?? [];
    assert.ok(Number(days) > 29 && Number(days) <= 30, `${service}: ${days}`);
  }
  const reload = async (challengePort: number | undefined) =>
    server.service.reload(await testConfig(server.folder, { services: services(challengePort) }));
  await assert.rejects(reload(taken), /acme service cannot listen on 127\.0\.0\.1:\d+: the port is in use/);
  assert.ok(await redirect(http), 'the former port still answers');
  await reload(next);
  assert.ok(await redirect(next));
  await assert.rejects(redirect(http), /ECONNREFUSED/);
  await reload(undefined);
  await assert.rejects(redirect(next), /ECONNREFUSED/);
  assert.deepEqual(
    listening().map(({ uuid }) => uuid),
    ['web', 'eyes', 'desk'],
  );
});
