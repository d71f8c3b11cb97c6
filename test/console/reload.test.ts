import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { EventStreams } from '../../src/console/event-stream.ts';
import { selfSigned } from '../support/certificates.ts';
import { asOperator, asViewer, ConsoleClient, consoleService, startConsole } from '../support/console.ts';
import { deafReaders } from '../support/deaf-readers.ts';
import { EventReader } from '../support/event-reader.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { basicOf } from '../support/secrets.ts';
import { testConfig } from '../support/server.ts';

test('a reload logs out each administrator who was removed or whose password or role changed, and nobody else', async (t) => {
  const { server, console } = await startConsole(t);
  const port = console.port;
  const [olga, vera] = [await console.session(), await console.session('vera', asViewer.user.slice(5))];
  const streams = [await EventReader.open(`${console.url}/api/live`, olga), await EventReader.open(`${console.url}/api/live`, vera)];
  t.after(() => {
    for (const stream of streams) stream.close();
  });
  const { administrators } = await consoleService();
  const reload = async (changed: Record<string, unknown>) => {
    const services = { web: { type: 'http', port: 0 }, console: await consoleService({ port: 0, administrators: changed }) };
    const { ended } = await server.service.reload(await testConfig(server.folder, { services }));
    assert.equal(
      server.service.listening().find(({ uuid }) => uuid === 'console')?.url,
      `http://127.0.0.1:${port}`,
      'it listens as before',
    );
    return ended;
  };
  const statusOf = async (headers: Record<string, string>) => (await console.get('/api/me', { headers })).status;

  const tail = await EventReader.open(`${console.url}/api/events/live`, { authorization: basicOf(asViewer.user) });
  const role = await reload({ ...administrators, vera: { ...administrators.vera, role: 'operator' } });
  assert.deepEqual(role, { sessions: 1, connections: 0, transfers: 2 }, 'one session ended, and two streams');
  await until('the live tail of the administrator with the changed role has ended', async () => tail.isEnded);
  assert.deepEqual([await statusOf(olga), await statusOf(vera)], [200, 401], 'only the administrator with another role is logged out');
  await until('the stream of the administrator with the changed role has ended', async () => streams[1]?.isEnded === true);
  assert.equal(streams[0]?.isEnded, false);
  assert.equal((await console.get('/api/me', asViewer)).json<{ role: string }>().role, 'operator');

  const again = await console.session('vera', asViewer.user.slice(5));
  await reload({
    olga: { password: await cheapHash('another-Pa55word'), role: 'operator' },
    vera: { ...administrators.vera, role: 'operator' },
  });
  assert.deepEqual([await statusOf(olga), await statusOf(again)], [401, 200], 'only the administrator with another password is logged out');
  assert.equal((await console.get('/api/me', asOperator)).status, 401);
  await until('the stream of the administrator with the changed password has ended', async () => streams[0]?.isEnded === true);

  assert.deepEqual(await reload({}), { sessions: 1, connections: 0, transfers: 0 });
  assert.equal(await statusOf(again), 401, 'the removed administrator is logged out');
});

test('an administrator who was removed while the password was checked gets no live stream', async (t) => {
  const [outgoing] = await deafReaders(t, 1);
  const administrator = { name: 'olga', role: 'viewer', stamp: '' } as const;
  const streams = new EventStreams(new ManualClock(), { onBeat: () => true, isInForce: () => false });
  assert.equal(streams.open({ outgoing: outgoing as ServerResponse, administrator, session: undefined }, {}).signal.aborted, true);
  streams.close();
});

test('over TLS the cookie is Secure; with a client CA, clients need a certificate; a reload that fails changes nothing', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { key, cert, keyPath, certPath } = selfSigned(t);
  const tls = { tls_certificate_path: certPath, tls_key_path: keyPath };
  const { server, console } = await startConsole(t, {}, tls);
  assert.match(console.url, /^https:/);
  const client = new ConsoleClient(console.url);
  const reply = await client.post(
    '/api/login',
    { username: 'olga', password: asOperator.user.slice(5) },
    { ca: cert, headers: { origin: console.url } },
  );
  assert.match(String(reply.headers['set-cookie']), /; Secure/);
  const reload = async (options: Record<string, unknown>) => {
    const services = { web: { type: 'http', port: 0 }, console: await consoleService(options) };
    await server.service.reload(await testConfig(server.folder, { services }));
    return new ConsoleClient(server.service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '');
  };
  await assert.rejects(reload({ ...tls, tls_key_path: certPath }), /cannot be used|tls_key_path/);
  assert.equal((await client.get('/api/me', { ca: cert, ...asOperator })).status, 200, 'the former configuration stays in force');
  const guarded = await reload({ ...tls, tls_client_ca_path: certPath });
  await assert.rejects(guarded.get('/api/me', { ca: cert, ...asOperator }));
  assert.equal((await guarded.get('/api/me', { ca: cert, cert, key, ...asOperator })).status, 200);
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(guarded.url).port), ca: cert, cert, key });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  const cut = once(socket.resume(), 'close');
  await reload({ ...tls, tls_client_ca_path: selfSigned(t).certPath });
  await cut;
});
