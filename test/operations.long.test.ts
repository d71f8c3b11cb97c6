import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { processesIn, projectOf, runCiScript } from './support/ci-script.ts';
import { until } from './support/receiver.ts';
import { hasProgram } from './support/requires.ts';

test('the CI script passes in a clean shell with the mocks, and leaves no process', { timeout: 90_000 }, async (t) => {
  if (!hasProgram(t, 'curl') || !hasProgram(t, 'bash')) return;
  const cwd = projectOf(t, 'operations');
  const { code, output } = await runCiScript(t, cwd);
  assert.equal(code, 0, output);
  assert.match(output, /7 cases passed, 0 failed[\s\S]*the upload reached the CRM/);
  assert.equal(JSON.parse(readFileSync(join(cwd, 'svc.sarif'), 'utf8')).version, '2.1.0');
  assert.match(readFileSync(join(cwd, 'report.xml'), 'utf8'), /tests="7" failures="0"/);
  assert.deepEqual(processesIn(cwd), []);
});

test('the CI script fails if a case fails or the upload is refused, and leaves no process', { timeout: 90_000 }, async (t) => {
  if (!hasProgram(t, 'curl') || !hasProgram(t, 'bash')) return;
  const cwd = projectOf(t, 'operations');
  const config = readFileSync(join(cwd, 'svc.config.yaml'), 'utf8');
  writeFileSync(join(cwd, 'svc.config.yaml'), config.replace('"/outbox/*", allow-read', '"/outbox/*", allow-write'));
  const failed = await runCiScript(t, cwd);
  assert.deepEqual([failed.code, /FAIL alice: PUT \/home\/outbox/.test(failed.output)], [1, true], failed.output);
  assert.deepEqual(processesIn(cwd), []);
  // The next run fails later: at the upload, when all three servers are running.
  writeFileSync(join(cwd, 'svc.config.yaml'), config.replace('"/inbox/*", allow-full-control', '"/inbox/*", allow-read'));
  writeFileSync(join(cwd, 'svc.test.yaml'), 'cases:\n  - { account: alice, request: PUT /home/inbox/order.csv, expect: refused }\n');
  const refused = await runCiScript(t, cwd);
  assert.equal(refused.code, 22, refused.output);
  assert.match(refused.output, /as expected: authenticated[\s\S]*403/);
  assert.deepEqual(processesIn(cwd), []);
});

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`the CI script that is ended by ${signal} leaves no process and no folder`, { timeout: 90_000 }, async (t) => {
    if (!hasProgram(t, 'curl') || !hasProgram(t, 'bash')) return;
    const cwd = projectOf(t, 'operations');
    // No event of the upload is delivered, so the script waits for it.
    const config = readFileSync(join(cwd, 'svc.config.yaml'), 'utf8');
    writeFileSync(join(cwd, 'svc.config.yaml'), config.replace('target: 40017, 40022', 'target: 40022'));
    writeFileSync(join(cwd, 'svc.test.yaml'), 'cases:\n  - { account: alice, request: PUT /home/inbox/order.csv, expect: allowed }\n');
    writeFileSync(join(cwd, 'ci.sh'), readFileSync(join(cwd, 'ci.sh'), 'utf8').replace('$(mktemp -d)', '$(mkdir work; echo "$PWD/work")'));
    let pid = 0;
    const ending = runCiScript(t, cwd, (_output, script) => (pid = script.pid as number));
    await until('the file is uploaded', () => existsSync(join(cwd, 'work/files/alice/inbox/order.csv')));
    assert.ok(processesIn(cwd).length >= 4, 'the script and three servers run');
    // The signal goes to the whole process group, as from a terminal.
    process.kill(-pid, signal);
    const end = await ending;
    assert.equal(end.code, code, end.output);
    assert.deepEqual(processesIn(cwd), []);
    assert.equal(readdirSync(cwd).includes('work'), false);
  });
