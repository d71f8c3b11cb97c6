import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { selfSigned } from '../support/certificates.ts';
import { asOperator, asViewer, ConsoleClient, consoleService, startConsole } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testConfig } from '../support/server.ts';

test('a reload: who is no administrator as before any more is logged out, the others stay', async (t) => {
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
    await server.service.reload(await testConfig(server.folder, { services }));
    assert.equal(
      server.service.listening().find(({ uuid }) => uuid === 'console')?.url,
      `http://127.0.0.1:${port}`,
      'it listens as before',
    );
  };
  const statusOf = async (headers: Record<string, string>) => (await console.get('/api/me', { headers })).status;

  await reload({ ...administrators, vera: { ...administrators.vera, role: 'operator' } });
  assert.deepEqual([await statusOf(olga), await statusOf(vera)], [200, 401], 'another role');
  await until('her stream has ended', async () => streams[1]?.isEnded === true);
  assert.equal(streams[0]?.isEnded, false);
  assert.equal((await console.get('/api/me', asViewer)).json<{ role: string }>().role, 'operator');

  const again = await console.session('vera', asViewer.user.slice(5));
  await reload({
    olga: { password: await cheapHash('another-Pa55word'), role: 'operator' },
    vera: { ...administrators.vera, role: 'operator' },
  });
  assert.deepEqual([await statusOf(olga), await statusOf(again)], [401, 200], 'another password');
  assert.equal((await console.get('/api/me', asOperator)).status, 401);
  await until('her stream has ended', async () => streams[0]?.isEnded === true);

  await reload({});
  assert.equal(await statusOf(again), 401, 'removed');
});

test('over TLS the cookie is Secure; with a client CA nobody without a certificate connects; a reload that cannot be is none', async (t) => {
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
  assert.equal((await client.get('/api/me', { ca: cert, ...asOperator })).status, 200, 'the old one goes on');
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
