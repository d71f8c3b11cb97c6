import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { asOperator, asViewer, ConsoleClient, consoleService, cookieOf } from '../support/console.ts';
import { testSections } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('svc serve --console: the printed link logs in, the overview covers all services, and there is no file to reload', async (t) => {
  const server = start(t, ['serve', '--port', '0', '--console', '0', '--user', 'bob:pass-Word-77'], {
    cwd: temporaryFolder(t),
  });
  const consoleUrl = (await server.line(/Console listening on (http:\S+)\/\n/))[1] ?? '';
  const files = new Client(/Files listening on (http:\S+)\/\n/.exec(server.stdout())?.[1] ?? '');
  const token = /Console: http:\S+\/#token=(\S+)/.exec(server.stderr())?.[1] ?? '';
  assert.equal(server.stdout().includes(token), false);
  const client = new ConsoleClient(consoleUrl);
  const login = await client.post('/api/login/link', { token }, { headers: { origin: consoleUrl } });
  assert.deepEqual([login.status, login.json()], [200, { name: 'operator', role: 'operator' }]);
  const headers = { cookie: cookieOf(login) };
  const ofFile = async (name: string) => (await client.get(`/api/configuration${name}`, { headers })).json();
  assert.equal((await ofFile('')).file, null);
  assert.deepEqual(await ofFile('/findings'), { valid: true, file: null, findings: [] });
  const refused = { would_reload: false, reason: 'There is no configuration file to reload.', changes: [], findings: [] };
  assert.deepEqual(await ofFile('/changes'), refused);
  const reload = await client.post('/api/configuration/reload', {}, { headers: { ...headers, origin: consoleUrl } });
  const { reloaded, reason } = reload.json();
  assert.deepEqual([reload.status, reloaded, reason], [200, false, 'there is no configuration file to reload']);
  for (let count = 0; count < 4; count++) await files.login('bob', 'pass-Word-77');
  await files.get('/home/', { user: 'bob:wrong-Word-1' });
  const overview = (await client.get('/api/overview', { headers })).json<{
    services: { type: string; sessions: number }[];
    errors: { id: string }[];
  }>();
  assert.deepEqual(
    overview.services.map(({ type, sessions }) => [type, sessions]),
    [
      ['http', 4],
      ['console', 0],
    ],
  );
  assert.ok(overview.errors.some(({ id }) => id === '20021'));
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
});

test('a configuration from stdin is shown without a file, and cannot be reloaded', async (t) => {
  const folder = temporaryFolder(t);
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  mkdirSync(join(folder, 'home'));
  const input = JSON.stringify(await testSections(folder, { services }));
  const server = start(t, ['serve', '--config', '-'], { cwd: folder, input });
  const client = new ConsoleClient((await server.line(/console listening on (http:\S+)\/\n/))[1] ?? '');
  const ofFile = async (name: string) => (await client.get(`/api/configuration${name}`, asViewer)).json();
  const { file, configuration } = await ofFile('');
  assert.equal(file, null);
  assert.deepEqual(Object.keys((configuration as { services: object }).services), ['web', 'console']);
  assert.deepEqual(await ofFile('/findings'), { valid: true, file: null, findings: [] });
  assert.equal((await ofFile('/changes')).reason, 'There is no configuration file to reload.');
  const { reloaded, reason } = (await client.post('/api/configuration/reload', {}, asOperator)).json();
  assert.deepEqual([reloaded, reason], [false, 'there is no configuration file to reload']);
});
