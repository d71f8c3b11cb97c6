import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ProgramEnd, runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const testsFolder = process.env.SVC_TESTS ?? '';

/** Runs a test file as scripts/test.mjs does. @param graceMs maximum time that the process may continue after its last test */
function runFile(t: TestContext, bundle: string, graceMs: number): Promise<ProgramEnd> {
  const folder = temporaryFolder(t);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const queue = join(process.env.SVC_ROOT ?? '', 'scripts/test-queue.mjs');
  const source = `import { runAlone } from '${queue}'; await runAlone({ path: 'a file', bundle: '${bundle}' });`;
  return runProgram(process.execPath, ['--input-type=module', '--eval', source, folder], {
    cwd: folder,
    env: { ...(env as Record<string, string>), SVC_TESTS: folder, SVC_TEST_GRACE_MS: String(graceMs) },
  });
}

test('a test that fails in its middle, in its clean-up or in its page leaves nothing open', async (t) => {
  if (!hasProgram(t, 'chromium')) return;
  const { code, output } = await runFile(t, join(testsFolder, 'support/failing-file.mjs'), 20_000);
  assert.equal(code, 1, output);
  assert.match(output, /planted in the middle/);
  assert.match(output, /the last hook/);
  assert.doesNotMatch(output, /still open/);
});

test('resources that a test leaves open are named and make its process fail', async (t) => {
  const bundle = join(temporaryFolder(t), 'open.mjs');
  writeFileSync(
    bundle,
    "import { createServer } from 'node:net'; import { test } from 'node:test'; test('x', () => void createServer().listen(0, '127.0.0.1'));",
  );
  const { code, output } = await runFile(t, bundle, 50);
  assert.equal(code, 1, output);
  assert.match(output, /still open after the last test: .*TCPServerWrap|TCPSERVERWRAP/i);
});
