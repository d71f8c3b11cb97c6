import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allowSecrets } from './support/secret-watch.ts';
import { temporaryFolder } from './support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

/** Declares a test that fails if its mark does not exist yet: the first time, but not in a second run. */
const helper = `
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
export const dependentTest = () => test('passes when it is tried again', () => {
  const isFirst = !existsSync(process.env.MARK);
  writeFileSync(process.env.MARK, '');
  assert.ok(!isFirst);
});
`;

test('a file that fails among others but passes alone is flaky; a second such run in a row fails in CI', {
  timeout: 120_000,
}, (t) => {
  const folder = temporaryFolder(t);
  allowSecrets(t, /^(\.cache|scripts|test)\//, "the tests' own sources");
  for (const name of ['scripts', 'package.json', 'test/support', 'tsconfig.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'src', 'bin']) symlinkSync(join(root, name), join(folder, name));
  // `dist/svc.mjs` is newer than its sources, so that it is not built.
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/svc.mjs'), '');
  // Declared by a helper, like browser tests, so the failure has the path of the helper.
  writeFileSync(join(folder, 'test/support/dependent.ts'), helper);
  writeFileSync(join(folder, 'test/flaky.test.ts'), "import { dependentTest } from './support/dependent.ts';\ndependentTest();\n");
  writeFileSync(join(folder, 'test/good.test.ts'), "import { test } from 'node:test';\ntest('passes', () => {});\n");
  const mark = join(folder, 'mark');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (CI: string, isFlaky = true) => {
    if (isFlaky) rmSync(mark, { force: true });
    const { status, stdout } = spawnSync(process.execPath, ['scripts/test.mjs'], {
      cwd: folder,
      env: { ...env, CI, MARK: mark, SVC_TEST_OUTDIR: join(folder, '.cache/test') },
      encoding: 'utf8',
    });
    return { status, flaky: /^flaky: .*$/m.exec(stdout)?.[0] };
  };
  const told = (runs: string) => `flaky: test/flaky.test.ts passed only alone, in ${runs}; fix it`;
  assert.deepEqual(run('true'), { status: 0, flaky: told('1 run') });
  assert.deepEqual(run('true'), { status: 1, flaky: told('2 runs in a row') });
  assert.deepEqual(run(''), { status: 0, flaky: told('3 runs in a row') }, 'outside CI, the file is reported, but the run passes');
  assert.deepEqual(run('true', false), { status: 0, flaky: undefined });
  assert.deepEqual(run('true'), { status: 0, flaky: told('1 run') }, 'a file that passed in the first attempt is forgotten');
});
