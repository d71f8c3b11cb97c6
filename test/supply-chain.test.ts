import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

interface Component {
  name: string;
  version: string;
  licenses: [{ license?: { id: string }; expression?: string }];
  hashes: { content: string }[];
}
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { integrity?: string; hasInstallScript?: boolean; resolved?: string }>;
};

test('two builds give the same bytes, with an SBOM and the licences of all that is inside', (t) => {
  const folder = temporaryFolder(t);
  const env = { ...process.env, TZ: 'Asia/Tokyo', SOURCE_DATE_EPOCH: '' };
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), '--quiet', '--out', folder], { cwd: folder, env });
  const [first, second] = [join(root, 'dist'), folder].map((where) =>
    ['svc.mjs', 'sbom.json'].map((name) => readFileSync(join(where, name))),
  );
  assert.ok(first?.[0]?.equals(second?.[0] as Buffer), 'svc.mjs');
  assert.ok(first?.[1]?.equals(second?.[1] as Buffer), 'sbom.json');
  const bundle = first?.[0]?.toString('utf8') ?? '';
  const { components } = JSON.parse(first?.[1]?.toString('utf8') ?? '') as { components: Component[] };
  const names = components.map(({ name }) => name);
  for (const expected of [
    'hono',
    'zod',
    'yaml',
    'swagger-ui-dist',
    're2js',
    '@fastify/busboy',
    'fflate',
    'marked',
    '@codemirror/legacy-modes',
  ])
    assert.ok(names.includes(expected), expected);
  for (const unexpected of ['esbuild', 'fast-check', '@biomejs/biome', 'typescript']) assert.equal(names.includes(unexpected), false);
  for (const { name, version, licenses, hashes } of components) {
    assert.ok(bundle.includes(`\n${name} ${version}: `), `the licence of ${name}`);
    const [{ license, expression }] = licenses;
    assert.match(license?.id ?? expression ?? '', /MIT|ISC|BSD|Apache-2\.0|Python-2\.0|BlueOak|Unlicense/, name);
    assert.equal(hashes.length, 1, `${name} has the hash of the lock file`);
  }
  // The script of ssh2 compiles an optional native part, which the bundle leaves out; .npmrc has no script run.
  const withScripts = names.filter((name) => lock.packages[`node_modules/${name}`]?.hasInstallScript);
  assert.deepEqual(withScripts, ['ssh2']);
});

test('every package of the lock file is fixed by its hash, and none names the registry that it came from', () => {
  for (const [path, { integrity, resolved }] of Object.entries(lock.packages)) {
    if (path === '') continue;
    assert.match(integrity ?? '', /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
  assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
});
