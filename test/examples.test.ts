import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { run, start } from './support/child.ts';
import { Client } from './support/client.ts';
import { copyOf, examples, program } from './support/examples.ts';
import { until } from './support/receiver.ts';
import { hasProgram } from './support/requires.ts';
import { allowSecrets } from './support/secret-watch.ts';
import { temporaryFolder } from './support/temp.ts';
import { makeToken } from './support/tokens.ts';

test('every example configuration is valid', async (t) => {
  const configs = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('svc.config.yaml'));
  assert.ok(configs.length >= 2);
  for (const name of configs) {
    const env = { STATE_SECRET: 'the-same-random-text-on-all-nodes' };
    const end = await run(t, ['validate', join(examples, name)], { cwd: temporaryFolder(t), env });
    assert.equal(end.code, 0, `${name}: ${end.stderr}`);
  }
});

test("every example's cases pass", async (t) => {
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('svc.test.yaml'));
  assert.ok(files.length >= 2);
  allowSecrets(t, /^ci\.sh$/, 'a test of old data folders, which can run at the same time, has the password that this script shows');
  for (const name of files) {
    const end = await run(t, ['test', 'svc.test.yaml'], { cwd: copyOf(t, dirname(name)) });
    assert.equal(end.code, 0, `${name}: ${end.stdout}${end.stderr}`);
    assert.match(end.stdout, /^[1-9]\d* cases passed, 0 failed$/m);
  }
});

test('the minimal example serves its one account', async (t) => {
  const cwd = copyOf(t, 'minimal');
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const user = 'alice:correct horse';
  assert.equal((await client.put('/home/a.txt', 'hello', { user })).status, 201);
  assert.equal(readFileSync(join(cwd, 'files/a.txt'), 'utf8'), 'hello');
  assert.equal((await client.get('/home/a.txt', { user: 'alice:wrong' })).status, 401);
});

test('the callout example accepts logins and tokens, and refuses a locked account with a public response', async (t) => {
  const folder = temporaryFolder(t);
  cpSync(join(examples, 'callout'), folder, { recursive: true });
  allowSecrets(t, /^(endpoint\.mjs|cases\.yaml)$/, "the example's own list of passwords");
  const endpoint = spawn(process.execPath, ['endpoint.mjs', '0'], { cwd: folder });
  t.after(() => endpoint.kill());
  const line = await new Promise<string>((resolve) => endpoint.stdout.once('data', (chunk) => resolve(String(chunk))));
  const url = /http:\S+/.exec(line)?.[0] ?? '';
  writeFileSync(join(folder, 'svc.config.yaml'), readFileSync(join(folder, 'svc.config.yaml'), 'utf8').replace('port: 8080', 'port: 0'));
  const env = { CALLOUT_URL: url };
  assert.equal((await run(t, ['validate', '--online'], { cwd: folder, env })).code, 0);
  const server = start(t, ['serve'], { cwd: folder, env });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  assert.deepEqual(await client.names('/home/', { user: 'alice:correct horse' }), ['inbox', 'outbox']);
  assert.equal((await client.put('/home/x', 'x', { user: 'bob:battery staple' })).status, 403);
  assert.equal((await client.get('/home/', { user: 'alice:wrong' })).status, 401);
  const { token } = await makeToken(client, { path: '/inbox' }, { user: 'alice:correct horse' });
  assert.deepEqual(await client.names('/home/', { user: `alice:${token}` }), ['inbox'], 'the endpoint answers for tokens, too');
  const locked = await client.get('/home/', { user: 'mallory:x' });
  assert.deepEqual(locked.json(), { errors: [{ message: 'This account is locked.', title: 'Unauthorized', response: { locked: true } }] });
});

test('the webhook examples send signed JSON, SOAP, a chat message and a custom body', async (t) => {
  if (!hasProgram(t, 'python3')) return;
  const cwd = copyOf(t, 'webhooks');
  const receiver = await program(t, cwd, process.execPath, 'receiver.mjs');
  const soap = await program(t, cwd, 'python3', 'soap_receiver.py');
  const server = start(t, ['serve'], { cwd, env: { RECEIVER_URL: receiver.url, SOAP_URL: `${soap.url}/soap` } });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const user = 'alice:correct-horse';
  assert.equal((await client.put('/home/orders/', '', { user })).status, 201);
  assert.equal((await client.put('/home/orders/%22%26%3Cx%3E.xml', '<order/>', { user })).status, 201);
  await until(
    'all receivers got the event',
    () =>
      /audit: 40017/.test(receiver.printed()) &&
      /crm: /.test(receiver.printed()) &&
      /chat: /.test(receiver.printed()) &&
      /soap: /.test(soap.printed()),
  );
  assert.match(receiver.printed(), /^crm: 40017 \/orders\/"&<x>\.xml by alice$/m);
  assert.match(receiver.printed(), /^chat: alice: The file "\/orders\/"&<x>\.xml" was uploaded\. \(\d{4}-\S+Z\)$/m);
  assert.match(receiver.printed(), /^audit: 40017 \/orders\/"&<x>\.xml alice$/m);
  assert.match(soap.printed(), /^soap: 40017 \/orders\/"&<x>\.xml by alice at \d+\.\d{6}$/m);
  await until(
    'all deliveries are recorded',
    async () => (await run(t, ['events', '--id', '20189', '--json'], { cwd })).stdout.split('40017').length > 4,
  );
  assert.equal((await run(t, ['events', '--id', '20174'], { cwd })).stdout, '');
  assert.equal(
    (await fetch(`${receiver.url}/crm`, { method: 'POST', body: '{"events":[]}' })).status,
    401,
    'a request without a signature is refused',
  );
});

test('the upload back-end example: a receipt for the client, or `pending` if the back-end refuses the file', async (t) => {
  const cwd = copyOf(t, 'upload-backend');
  const backend = await program(t, cwd, process.execPath, 'backend.mjs');
  const server = start(t, ['serve'], { cwd, env: { BACKEND_URL: `${backend.url}/intake` } });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const taken = await client.put('/home/a.txt', 'hello', { user: null });
  assert.match(taken.headers['x-receipt'] as string, /^[0-9a-f-]{36}$/);
  assert.equal(taken.headers['x-scan'], 'clean; sha256=2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
  const refused = await client.put('/home/b.exe', 'MZ', { user: null });
  assert.deepEqual([refused.status, refused.headers['x-receipt'], refused.headers['x-scan']], [201, 'pending', 'later']);
});
