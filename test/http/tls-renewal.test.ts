import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openssl, selfSign, signByAuthority } from '../support/certificates.ts';
import { startConsole } from '../support/console.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, type TestServer, testConfig } from '../support/server.ts';
import { SteppedClock } from '../support/shifted-clock.ts';
import { temporaryFolder } from '../support/temp.ts';
import { visit } from '../support/tls-visit.ts';

function makeFiles(t: TestContext) {
  const folder = temporaryFolder(t);
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name), 'utf8');
  const make = (name: string, days = 30) =>
    selfSign(folder, { key: `${name}.key`, cert: `${name}.crt` }, '/CN=localhost', 'IP:127.0.0.1', days);
  for (const name of ['first', 'next', 'last', 'stranger']) make(name);
  make('ending', 1);
  openssl(folder, ...'req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -out rsa.crt -days 30 -subj /CN=localhost'.split(' '));
  writeFileSync(path('broken.crt'), read('next.crt') + read('stranger.crt'));
  writeFileSync(path('torn.crt'), read('next.crt').slice(0, 300));
  writeFileSync(path('garbage.crt'), '-----BEGIN CERTIFICATE-----\nZ2FyYmFnZQ==\n-----END CERTIFICATE-----\n');
  const put = (from: string, to: string) => {
    copyFileSync(path(from), path(`${to}.new`));
    renameSync(path(`${to}.new`), path(to));
  };
  const use = (certificate: string, key = certificate) => {
    put(`${certificate}.crt`, 'server.crt');
    put(`${key}.key`, 'server.key');
  };
  use('first');
  const options = { tls_certificate_path: path('server.crt'), tls_key_path: path('server.key') };
  return { folder, path, put, use, options, raw: (name: string) => new X509Certificate(read(`${name}.crt`)).raw };
}

const refusals = async (server: TestServer) =>
  (await server.events()).filter(({ id }) => id === '20192').map(({ data }) => String(data.details));

/** Pairs that are refused: certificate, key, and reason. */
const bad: [string, string, RegExp][] = [
  ['next', 'first', /tls_key_path cannot be used: the key does not belong to the certificate/],
  ['rsa', 'first', /tls_key_path cannot be used: the key does not belong to the certificate/],
  ['first', 'rsa', /tls_key_path cannot be used: the key does not belong to the certificate/],
  ['next', 'stranger', /the key does not belong to the certificate/],
  ['garbage', 'next', /tls_certificate_path cannot be used: certificate 1 of the file does not parse/],
  ['torn', 'next', /the file contains no certificate in PEM/],
  ['broken', 'next', /certificate 2 of the file did not issue certificate 1/],
  ['ending', 'ending', /the certificate CN=localhost expired on .*; clients refuse it/],
];

test('invalid renewed files are not used, which is reported once for each; a valid pair is used', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { use, options, raw } = makeFiles(t);
  const clock = new SteppedClock();
  const server = await startServer(t, { service: { type: 'https', ...options } }, clock);
  const shown = async () => (await visit(server.url)).chain;
  clock.shift(2 * 86_400_000);
  for (const [index, [certificate, key, reason]] of bad.entries()) {
    use(certificate, key);
    for (let look = 0; look < 4; look++) {
      clock.runPeriodic();
      assert.deepEqual(await shown(), [raw('first')], `${certificate} with the key ${key}`);
    }
    const told = await refusals(server);
    assert.equal(told.length, index + 1, `${certificate} with the key ${key} is reported once`);
    assert.match(told.at(-1) ?? '', reason);
  }
  assert.equal(server.log.filter((line) => line.includes('the previous ones stay in use')).length, bad.length);
  use('next');
  for (let look = 0; look < 2; look++) clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('next')]);
  assert.equal((await refusals(server)).length, bad.length);
});

test('a pair whose files arrive one after the other is used as a whole, without a warning', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { put, options, raw } = makeFiles(t);
  const clock = new SteppedClock();
  const server = await startServer(t, { service: { type: 'https', ...options } }, clock);
  const shown = async () => (await visit(server.url)).chain;
  put('next.crt', 'server.crt');
  clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('first')]);
  put('next.key', 'server.key');
  clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('first')], 'somebody may still be writing');
  clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('next')]);
  assert.deepEqual(await refusals(server), []);
});

test('a fault that the pair in use also has does not prevent a renewal', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { use, options, raw } = makeFiles(t);
  const clock = new SteppedClock();
  use('ending');
  const server = await startServer(t, { service: { type: 'https', ...options } }, clock);
  clock.shift(40 * 86_400_000);
  use('first');
  for (let look = 0; look < 2; look++) clock.runPeriodic();
  assert.deepEqual((await visit(server.url)).chain, [raw('first')]);
  assert.deepEqual(await refusals(server), []);
});

test('a reload does not use invalid renewed files, and uses valid ones immediately', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { use, options, raw } = makeFiles(t);
  const clock = new SteppedClock();
  const service = { type: 'https', ...options };
  const server = await startServer(t, { service }, clock);
  const shown = async () => (await visit(server.url)).chain;
  const reload = async () => server.service.reload(await testConfig(server.folder, { service }));
  clock.shift(2 * 86_400_000);
  use('rsa', 'first');
  await assert.rejects(reload(), /the key does not belong to the certificate/);
  assert.deepEqual(await shown(), [raw('first')]);
  use('ending');
  for (let round = 0; round < 2; round++) await reload();
  assert.deepEqual(await shown(), [raw('first')]);
  assert.equal((await refusals(server)).length, 1);
  use('last');
  await reload();
  assert.deepEqual(await shown(), [raw('last')]);
});

test('a file without client authorities does not replace the authorities in use', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { folder, path, put, options } = makeFiles(t);
  for (const name of ['ca', 'other']) selfSign(folder, { key: `${name}.key`, cert: `${name}.crt` }, `/CN=${name}`);
  signByAuthority(folder, 'alice', '/CN=alice', 'extendedKeyUsage=clientAuth');
  put('ca.crt', 'clients.crt');
  const alice = { cert: readFileSync(path('alice.crt')), key: readFileSync(path('alice.key')) };
  const clock = new SteppedClock();
  const service = { type: 'https', ...options, tls_client_ca_path: path('clients.crt') };
  const server = await startServer(t, { service, account: { certificates: [alice.cert.toString()] } }, clock);
  const status = async () => (await visit(server.url, alice)).status;
  for (const [file, expected, told] of [
    ['first.key', 200, 1],
    ['garbage.crt', 200, 2],
    ['other.crt', 401, 2],
    ['ca.crt', 200, 2],
  ] as const) {
    put(file, 'clients.crt');
    for (let look = 0; look < 3; look++) clock.runPeriodic();
    assert.equal(await status(), expected, file);
    assert.equal((await refusals(server)).length, told, file);
  }
});

test('a console also keeps its pair if the renewed one is invalid, and uses a valid one', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { use, options, raw } = makeFiles(t);
  const clock = new SteppedClock();
  const { server, console } = await startConsole(t, {}, options, clock);
  const shown = async () => (await visit(console.url)).chain;
  use('rsa', 'first');
  for (let look = 0; look < 3; look++) clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('first')]);
  assert.equal((await refusals(server)).length, 1);
  use('next');
  for (let look = 0; look < 2; look++) clock.runPeriodic();
  assert.deepEqual(await shown(), [raw('next')]);
});

test('a service does not start with a key of another type than its certificate', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { use, options } = makeFiles(t);
  use('rsa', 'first');
  await assert.rejects(startServer(t, { service: { type: 'https', ...options } }), /the key does not belong to the certificate/);
});
