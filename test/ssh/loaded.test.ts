import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program, start } from '../support/child.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Coverage {
  result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
}

/** Starts and ends the executable. @returns the modules that were evaluated; esbuild names the function of each module by its path */
async function modulesOf(t: TestContext, args: string[]): Promise<string[]> {
  const cwd = temporaryFolder(t);
  const coverage = join(cwd, 'coverage');
  mkdirSync(coverage);
  const server = start(t, ['serve', '--port', '0', ...args], { cwd, env: { NODE_V8_COVERAGE: coverage } });
  await server.line(args.includes('--ssh') ? /listening on sftp:/ : /listening on http:/);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
  const [report] = readdirSync(coverage).map((name): Coverage => JSON.parse(readFileSync(join(coverage, name), 'utf8')));
  const executable = report?.result.find(({ url }) => url.endsWith('/svc.mjs'));
  const evaluated = executable?.functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0) ?? [];
  return evaluated.map(({ functionName }) => functionName).filter((name) => /^(src|node_modules)\/./.test(name));
}

const isOfSsh = (name: string) => /^(src\/ssh|node_modules\/(ssh2|asn1|@noble))\//.test(name);

test('without an SSH service, the modules of SSH are not evaluated, except those that check and explain a configuration', async (t) => {
  if (program.length === 1) return t.skip('the coverage of a binary names no modules');
  const [without, beside] = await Promise.all([modulesOf(t, []), modulesOf(t, ['--ssh', '0'])]);
  assert.ok(without.includes('src/http/routes.ts'));
  const ofChecks = ['algorithms', 'host-keys', 'options', 'public-keys', 'required-credentials', 'sftp/request-operations'].map(
    (name) => `src/ssh/${name}.ts`,
  );
  assert.deepEqual(without.filter(isOfSsh).sort(), ofChecks);
  for (const name of ['src/ssh/listener.ts', 'node_modules/ssh2/lib/server.js', 'node_modules/@noble/post-quantum/ml-kem.js'])
    assert.ok(beside.includes(name), name);
});
