import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { leftForAPerson, provenanceOf, readAssessments, sign, vexOf } from '../scripts/packages/release-documents.mjs';
import { runProgram } from './support/program.ts';
import { hasProgram } from './support/requires.ts';
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

test('two builds give the same bytes, with an SBOM and the licences of everything in them', (t) => {
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
  // The install script of ssh2 compiles an optional native part, which the bundle omits; .npmrc forbids such scripts.
  const withScripts = names.filter((name) => lock.packages[`node_modules/${name}`]?.hasInstallScript);
  assert.deepEqual(withScripts, ['ssh2']);
});

test('the lock file has a hash for every package and names no registry', () => {
  for (const [path, { integrity, resolved }] of Object.entries(lock.packages)) {
    if (path === '') continue;
    assert.match(integrity ?? '', /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
  assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
});

test('a release is verified as described on the installation page; changed files and other signatures are refused', async (t) => {
  if (!hasProgram(t, 'ssh-keygen')) return;
  const cwd = temporaryFolder(t);
  const page = readFileSync(join(root, 'docs/operate/install.md'), 'utf8');
  const script = /```sh\n(echo "svc-release [\s\S]*?)```/.exec(page)?.[1] ?? '';
  assert.equal(script.trim().split('\n').length, 3);
  const keygen = (...args: string[]) => execFileSync('ssh-keygen', ['-q', ...args], { cwd, stdio: 'pipe' });
  for (const name of ['release-key', 'other-key']) keygen('-t', 'ed25519', '-N', '', '-f', name);
  writeFileSync(join(cwd, 'svc.mjs'), 'program');
  const sums = `${createHash('sha256').update('program').digest('hex')}  svc.mjs\n${'0'.repeat(64)}  not-downloaded\n`;
  const verify = () => runProgram('sh', ['-ec', script], { cwd });
  const signedBy = (key: string) => {
    writeFileSync(join(cwd, 'SHA256SUMS'), sums);
    rmSync(join(cwd, 'SHA256SUMS.sig'), { force: true });
    sign(join(cwd, 'SHA256SUMS'), join(cwd, key));
  };
  signedBy('release-key');
  const good = await verify();
  assert.equal(good.code, 0, good.output);
  assert.match(good.output, /Good "svc-release" signature[\s\S]*svc\.mjs: OK/);
  writeFileSync(join(cwd, 'svc.mjs'), 'changed');
  assert.notEqual((await verify()).code, 0, 'a changed program is refused');
  writeFileSync(join(cwd, 'SHA256SUMS'), `${createHash('sha256').update('changed').digest('hex')}  svc.mjs\n`);
  assert.notEqual((await verify()).code, 0, 'changed sums are refused');
  writeFileSync(join(cwd, 'svc.mjs'), 'program');
  signedBy('other-key');
  assert.notEqual((await verify()).code, 0, 'a signature by another key is refused');
  signedBy('release-key');
  rmSync(join(cwd, 'SHA256SUMS.sig'));
  keygen('-Y', 'sign', '-f', 'release-key', '-n', 'file', 'SHA256SUMS');
  assert.notEqual((await verify()).code, 0, 'a signature for another purpose is refused');
});

test('provenance says what was built from which sources; VEX says which vulnerabilities concern the release', () => {
  const materials = [{ name: 'package-lock.json', digest: { sha256: 'b'.repeat(64) } }];
  const build = {
    commit: 'c'.repeat(40),
    command: 'x',
    subjects: { 'svc.mjs': 'a'.repeat(64) },
    materials,
    node: 'v24.0.0',
    platform: 'linux-x64',
  };
  const statement = JSON.parse(provenanceOf(build));
  assert.equal(provenanceOf(build), provenanceOf(build), 'the statement has no time, so its bytes are the same');
  assert.deepEqual([statement._type, statement.predicateType], ['https://in-toto.io/Statement/v1', 'https://slsa.dev/provenance/v1']);
  assert.deepEqual(statement.subject, [{ name: 'svc.mjs', digest: { sha256: 'a'.repeat(64) } }]);
  const { externalParameters, resolvedDependencies } = statement.predicate.buildDefinition;
  assert.deepEqual(externalParameters, { command: 'x', commit: 'c'.repeat(40) });
  assert.deepEqual(resolvedDependencies, [{ name: 'source', digest: { gitCommit: 'c'.repeat(40) } }, ...materials]);
  const sbom = JSON.parse(readFileSync(join(root, 'dist/sbom.json'), 'utf8'));
  const ours = JSON.parse(vexOf(readAssessments(root), '1.0.0', sbom));
  assert.equal(ours.vulnerabilities.length, readAssessments(root).length);
  const one = { id: 'GHSA-x', package: 'hono', state: 'not_affected', justification: 'code_not_reachable', detail: 'Why.' };
  const [told] = JSON.parse(vexOf([one], '1.0.0', sbom)).vulnerabilities;
  assert.deepEqual(told.analysis, { state: 'not_affected', justification: 'code_not_reachable', detail: 'Why.' });
  assert.match(told.affects[0].ref, /^pkg:npm\/hono@\d/);
  assert.throws(() => vexOf([{ ...one, package: 'left-pad' }], '1.0.0', sbom), /is not in the release: remove it/);
  assert.throws(() => vexOf([{ ...one, detail: '' }], '1.0.0', sbom), /does not say why/);
});

test('a release lists the remaining manual steps', () => {
  const done = { version: '1.0.0', changelog: '# Changelog\n\n## 1.0.0 (2026-12-01)\n', isSigned: true, isTagged: true, wasAudited: true };
  assert.equal(leftForAPerson(done).length, 3);
  const left = (more: object) => leftForAPerson({ ...done, ...more })[0] ?? '';
  assert.match(left({ changelog: '## 1.0.0 (unreleased)\n' }), /calls 1\.0\.0 "unreleased"/);
  assert.match(left({ changelog: '## 1x0.0 (2026-12-01)\n' }), /no entry "## 1\.0\.0/);
  assert.match(left({ isSigned: false }), /not signed/);
  assert.match(left({ isTagged: false }), /git tag -s v1\.0\.0/);
  assert.match(left({ wasAudited: false }), /npm audit/);
});

test('the version is the same everywhere', () => {
  const text = (path: string) => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(text('package.json')) as { version: string };
  const { version: locked, packages } = JSON.parse(text('package-lock.json')) as { version: string; packages: { '': { version: string } } };
  assert.deepEqual([locked, packages[''].version], [version, version]);
  const [, first] = /^## (\S+) /m.exec(text('CHANGELOG.md')) ?? [];
  assert.equal(first, version, 'the first entry of the changelog has the version');
  const named: Record<string, RegExp> = {
    'docs/operate/install.md': /svc[-_](\d+\.\d+\.\d+)(?:\.tgz|-1_)/g,
    'examples/operations/github-actions.yml': /svc-(\d+\.\d+\.\d+)\.tgz/g,
    'examples/operations/gitlab-ci.yml': /svc-(\d+\.\d+\.\d+)\.tgz/g,
    'examples/operations/kubernetes/statefulset.yaml': /\/svc:(\d+\.\d+\.\d+)/g,
  };
  for (const [path, pattern] of Object.entries(named)) {
    const versions = [...text(path).matchAll(pattern)].map(([, found]) => found);
    assert.ok(versions.length > 0 && versions.every((found) => found === version), `${path}: ${versions}`);
  }
});
