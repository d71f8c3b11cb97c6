import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, start } from './support/child.ts';
import { Client } from './support/client.ts';
import { temporaryFolder } from './support/temp.ts';

const examples = join(process.env.SVC_ROOT ?? '.', 'examples');

test('every example configuration is valid', async (t) => {
  const configs = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('svc.config.yaml'));
  assert.ok(configs.length >= 2);
  for (const name of configs) {
    const end = await run(t, ['validate', join(examples, name)], { cwd: temporaryFolder(t) });
    assert.equal(end.code, 0, `${name}: ${end.stderr}`);
  }
});

test('the callout example: accepted, next, rejected with its public part', async (t) => {
  const folder = temporaryFolder(t);
  cpSync(join(examples, 'callout'), folder, { recursive: true });
  const endpoint = spawn(process.execPath, ['endpoint.mjs', '0'], { cwd: folder });
  t.after(() => endpoint.kill());
  const line = await new Promise<string>((resolve) => endpoint.stdout.once('data', (chunk) => resolve(String(chunk))));
  const url = /http:\S+/.exec(line)?.[0] ?? '';
  const { readFileSync, writeFileSync } = await import('node:fs');
  writeFileSync(join(folder, 'svc.config.yaml'), readFileSync(join(folder, 'svc.config.yaml'), 'utf8').replace('port: 8080', 'port: 0'));
  const env = { CALLOUT_URL: url };
  assert.equal((await run(t, ['validate', '--online'], { cwd: folder, env })).code, 0);
  const server = start(t, ['serve'], { cwd: folder, env });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  assert.deepEqual(await client.names('/home/', { user: 'alice:correct horse' }), ['inbox', 'outbox']);
  assert.equal((await client.put('/home/x', 'x', { user: 'bob:battery staple' })).status, 403);
  assert.equal((await client.get('/home/', { user: 'alice:wrong' })).status, 401);
  const locked = await client.get('/home/', { user: 'mallory:x' });
  assert.deepEqual(locked.json(), { errors: [{ message: 'This account is locked.', title: 'Unauthorized', response: { locked: true } }] });
});
