import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeEvent, processAccount } from '../../src/events/event-factory.ts';
import { eventIds } from '../../src/events/event-ids.ts';
import { clientGoneDetails } from '../../src/files/operations/file-download.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { ErrorKinds, newestErrors } from '../../src/server/monitoring.ts';
import { Server } from '../../src/server/server.ts';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { asViewer, ConsoleClient, consoleService, startConsole } from '../support/console.ts';
import { until } from '../support/receiver.ts';
import { watchOutput } from '../support/secret-watch.ts';
import { testConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Shown {
  methods: { uuid: string; state: string; reason: string; fault: { code: string; value: string } | null }[];
  inspections: Shown['methods'];
  errors: { id: string; uuid: string; time: string; count: number; first: string }[];
}

const overviewOf = async (console: ConsoleClient) => (await console.get('/api/overview', asViewer)).json<Shown>();

test('the overview shows why an authentication method does not run, and its last failure until it works again', async (t) => {
  let status = 401;
  const endpoint = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  t.after(() => endpoint.close());
  await new Promise((resolve) => endpoint.once('listening', resolve));
  const url = `http://127.0.0.1:${(endpoint.address() as { port: number }).port}/`;
  const nobody = 'http://127.0.0.1:9/';
  const { server, console } = await startConsole(t, {
    service: { authentications: ['good', 'spare'] },
    authentications: {
      local: { type: 'application', enabled: false },
      good: { type: 'http', url },
      spare: { type: 'http', url: [nobody, url] },
      dead: { type: 'http', url: nobody },
    },
  });
  const reasons = async () =>
    Object.fromEntries((await overviewOf(console)).methods.map(({ uuid, state, reason }) => [uuid, [state, reason]]));
  const faults = async () => Object.fromEntries((await overviewOf(console)).methods.map(({ uuid, fault }) => [uuid, fault]));
  const suspended = '1 of 2 URLs gave no reply and are not asked for a while.';
  const atFirst = await reasons();
  assert.deepEqual(
    [atFirst.local, atFirst.good],
    [
      ['disabled', 'It is disabled in the configuration.'],
      ['running', ''],
    ],
  );
  assert.deepEqual(atFirst.spare, ['running', suspended]);
  assert.equal(atFirst.dead?.[0], 'failed');
  assert.match(atFirst.dead?.[1] ?? '', /^The test at the start failed: the connection was refused/);
  assert.deepEqual(await faults(), {
    local: { code: 'disabled', value: '' },
    good: null,
    spare: { code: 'some-suspended', value: '1/2' },
    dead: { code: 'refused', value: '' },
  });
  const login = () => server.get('/home/', { user: 'bob:wrong-Word-1', mayFail: true });
  status = 500;
  await login();
  const broken = (await reasons()).good;
  assert.equal(broken?.[0], 'running');
  assert.match(broken?.[1] ?? '', /500/);
  assert.deepEqual((await faults()).good, { code: 'status', value: '500' });
  status = 401;
  await login();
  assert.deepEqual((await reasons()).good, ['running', ''], 'it works again');
});

test('the overview shows inspections that cannot be reached, or could not inspect the last file', async (t) => {
  let status = 200;
  const endpoint = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  t.after(() => endpoint.close());
  await new Promise((resolve) => endpoint.once('listening', resolve));
  const url = `http://127.0.0.1:${(endpoint.address() as { port: number }).port}/`;
  const { server, console } = await startConsole(t, {
    inspections: {
      good: { type: 'http', url },
      dead: { type: 'http', url: 'http://127.0.0.1:9/' },
      off: { type: 'http', url, enabled: false },
    },
    group: { inspections: [['good']] },
  });
  const contract = await console.contract();
  const states = async () => {
    const reply = await console.get('/api/overview', asViewer);
    contract.check('GET', '/api/overview', reply);
    return Object.fromEntries(reply.json<Shown>().inspections.map(({ uuid, state, reason }) => [uuid, [state, reason]]));
  };
  await until('the test at the start failed', async () => (await states()).dead?.[0] === 'failed');
  assert.deepEqual(await states(), {
    good: ['running', ''],
    dead: ['failed', 'the connection was refused'],
    off: ['disabled', 'It is disabled in the configuration.'],
  });
  status = 500;
  await server.put('/home/a.txt', 'a', { mayFail: true });
  assert.match((await states()).good?.join() ?? '', /^failed,the status 500/);
  status = 200;
  await server.put('/home/b.txt', 'b');
  assert.deepEqual((await states()).good, ['running', '']);
});

test('while the data folder is absent, the overview shows everything except the figures of its disk', async (t) => {
  const { server, console } = await startConsole(t);
  const contract = await console.contract();
  const [folder, away] = [join(server.folder, 'data'), join(server.folder, 'away')];
  renameSync(folder, away);
  const reply = await console.get('/api/overview', asViewer);
  renameSync(away, folder);
  contract.check('GET', '/api/overview', reply);
  assert.equal(reply.status, 200);
  const { journal, services } = reply.json<{ journal: object; services: unknown[] }>();
  assert.deepEqual(journal, { bytes: null, free_bytes: null });
  assert.equal(services.length, 2);
});

test('errors of one moment keep their order, and those of one kind are counted together', () => {
  const errorAt = (time: string, uuid: string, kind = uuid) => ({
    ...{ time, uuid, kind, id: '40000', message: '', node: 'n', count: 1, first: time, due: '', component: 'web' },
  });
  const [a, b, c] = [
    errorAt('2026-01-01T00:00:00.000Z', 'a'),
    errorAt('2026-01-01T00:00:00.000Z', 'b'),
    errorAt('2026-01-01T00:00:00.001Z', 'c'),
  ];
  assert.deepEqual(newestErrors([[c], [a, b]]), [a, b, c]);
  const later = { ...errorAt('2026-01-01T00:00:00.002Z', 'd', 'a'), count: 3 };
  assert.deepEqual(newestErrors([[a, b, c], [later]]), [b, c, { ...later, count: 4, first: a.first }]);
});

test('after a restart the overview has the earlier errors, the newest first, and each once', async (t) => {
  const { server, console } = await startConsole(t);
  for (let count = 0; count < 3; count++) await server.get('/home/', { user: 'alice:wrong-Word-1' });
  // Events of the same millisecond can have any order.
  const errorsOf = async (from: ConsoleClient) => {
    const { errors } = await overviewOf(from);
    const times = errors.map(({ time }) => time);
    assert.deepEqual(times, times.toSorted().reverse());
    return errors.toSorted((a, b) => b.time.localeCompare(a.time) || a.uuid.localeCompare(b.uuid));
  };
  const before = await errorsOf(console);
  assert.deepEqual(new Set(before.map(({ count }) => count)), new Set([3]), 'errors of one kind are counted together');
  await server.stop();
  const config = await testConfig(server.folder, { services: { web: { type: 'http', port: 0 }, console: await consoleService() } });
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: (line) => process.stderr.write(line) });
  const again = new Server(config, { clock: systemClock, log });
  await again.start();
  watchOutput(t, () => again.stop(), []);
  const listening = again.listening();
  const next = new ConsoleClient(listening.find(({ uuid }) => uuid === 'console')?.url ?? '');
  await until('the earlier errors are found', async () => (await overviewOf(next)).errors.length > 0);
  assert.deepEqual(await errorsOf(next), before);
  await new ConsoleClient(listening[0]?.url ?? '').get('/home/', { user: 'alice:wrong-Word-1' });
  const after = await errorsOf(next);
  assert.deepEqual(new Set(after.map(({ count }) => count)), new Set([4]));
  assert.deepEqual(new Set(after.map(({ first }) => first)), new Set(before.map(({ first }) => first)));
});

test('the requests in the charts are those of HTTP and SFTP', async (t) => {
  const hostKey = join(temporaryFolder(t), 'host_key');
  writeFileSync(hostKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const web = { type: 'http', port: 0 };
  const services = { web, sftp: { type: 'ssh', port: 0, host_key_paths: [hostKey] } };
  const quick: Clock = { ...systemClock, every: (periodMs, action) => systemClock.every(periodMs / 100, action) };
  const { server, console } = await startConsole(t, { services }, {}, quick);
  const requests = async () =>
    (await console.get('/api/samples', asViewer))
      .json<{ samples: { requests: number }[] }>()
      .samples.reduce((sum, sample) => sum + sample.requests, 0);
  await server.put('/home/f', 'content');
  await until('HTTP is counted', async () => (await requests()) === 1);
  const sftpUrl = server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '';
  const { sftp, client, ended } = await loginSftp(t, Number(new URL(sftpUrl).port));
  const handle = await sftp.open('/f', openFlags.read);
  for (let count = 0; count < 10; count++) await sftp.read(handle, 0, 5);
  await sftp.close(handle);
  client.end();
  await ended;
  // INIT does not count as a request.
  await until('SFTP is counted', async () => (await requests()) === 13);
});

test('downloads that clients ended themselves are not among the last errors, but other failed downloads and uploads are', () => {
  const kinds = new ErrorKinds();
  const account = processAccount();
  const component = { uuid: 'web', type: 'http' as const, name: 'web', family: 'service' as const };
  const add = (id: number, data: Record<string, unknown>) =>
    kinds.add(makeEvent({ id, data, context: { account, component } }, { uuid: 's', name: 's' } as never, 0).event);
  add(eventIds.clientWentAway, { path: '/film.mp4', total_read: 65_536 });
  add(eventIds.downloadFailed, { path: '/film.mp4', total_read: 65_536, details: clientGoneDetails });
  assert.deepEqual(kinds.list(), []);
  add(eventIds.downloadFailed, { path: '/film.mp4', total_read: 65_536, details: 'The file could not be read.' });
  add(eventIds.clientWentAway, { path: '/film.mp4', total_write: 65_536 });
  assert.deepEqual(
    kinds.list().map(({ id }) => Number(id)),
    [eventIds.downloadFailed, eventIds.clientWentAway],
  );
});
