import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from './support/child.ts';
import { freePort } from './support/redis.ts';
import { hasProgram } from './support/requires.ts';
import { temporaryFolder } from './support/temp.ts';

const operations = join(process.env.SVC_ROOT ?? '.', 'examples/operations');
const read = (name: string) => readFileSync(join(operations, name), 'utf8');

test('the CI script passes against the stand-ins, and fails when a case does', { timeout: 90_000 }, async (t) => {
  if (!hasProgram(t, 'curl') || !hasProgram(t, 'bash')) return;
  const cwd = temporaryFolder(t);
  for (const name of readdirSync(operations)) cpSync(join(operations, name), join(cwd, name), { recursive: true });
  const names = ['AUTH_PORT', 'HOOK_PORT', 'SVC_PORT', 'SVC_MONITOR_PORT'];
  const ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])));
  const { SVC_CONFIG: _, NODE_TEST_CONTEXT: __, ...rest } = process.env;
  const env = { ...rest, ...ports, SVC: program.join(' ') };
  const passed = spawnSync('bash', ['ci.sh'], { cwd, env, encoding: 'utf8', timeout: 60_000 });
  assert.equal(passed.status, 0, passed.stdout + passed.stderr);
  assert.match(passed.stdout, /7 cases passed, 0 failed[\s\S]*the upload reached the CRM/);
  assert.equal(JSON.parse(readFileSync(join(cwd, 'svc.sarif'), 'utf8')).version, '2.1.0');
  assert.match(readFileSync(join(cwd, 'report.xml'), 'utf8'), /tests="7" failures="0"/);
  writeFileSync(join(cwd, 'svc.config.yaml'), read('svc.config.yaml').replace('"/outbox/*", allow-read', '"/outbox/*", allow-write'));
  const failed = spawnSync('bash', ['ci.sh'], { cwd, env, encoding: 'utf8', timeout: 60_000 });
  assert.deepEqual([failed.status, /FAIL alice: PUT \/home\/outbox/.test(failed.stdout)], [1, true], failed.stdout + failed.stderr);
});
