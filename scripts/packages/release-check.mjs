// `npm run release:check`: creates a release in dist/release/: script, npm tarball, binaries, Debian packages, SBOMs, VEX, provenance,
// SHA256SUMS and its signature. It builds the files twice, from two fresh clones of the commit. It fails if the bytes of the two builds
// differ, if a file is missing, or if a high or critical vulnerability was not assessed. At the end it prints the steps that only a person
// can do. The compared binaries have no code cache, because the bytes of V8's code cache differ in each build. The released binary of this
// platform has one.
//   SVC_RELEASE_KEY=FILE node scripts/packages/release-check.mjs [--without-binaries]
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { platforms as allPlatforms, nodeOf, nodeVersion, thisPlatform } from './node-binaries.mjs';
import { leftForAPerson, provenanceOf, readAssessments, sign, vexOf } from './release-documents.mjs';

const { values: options } = parseArgs({ options: { 'without-binaries': { type: 'boolean', default: false } } });
const root = new URL('../..', import.meta.url).pathname;
const keyPath = process.env.SVC_RELEASE_KEY ? resolve(process.env.SVC_RELEASE_KEY) : undefined;
process.chdir(root);
const release = resolve('dist/release');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const platforms = options['without-binaries'] ? {} : allPlatforms;
/** The platforms with a Debian package, and Debian's names for them. */
const debian = options['without-binaries'] ? {} : { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
const expected = [
  ...['sbom.json', `svc-${version}.tgz`, 'svc.mjs', 'svc.mjs.map'],
  ...Object.keys(platforms).flatMap((name) => [name.startsWith('win') ? `svc-${name}.exe` : `svc-${name}`, `svc-${name}.sbom.json`]),
  ...Object.values(debian).map((architecture) => `svc_${version}-1_${architecture}.deb`),
].sort();

const uncommitted = git('status', '--porcelain');
if (uncommitted !== '') fail(`a release is made of a commit, and these files differ from it:\n${uncommitted}`);
const commit = git('rev-parse', 'HEAD');
const audit = spawnSync(process.execPath, ['scripts/audit.mjs'], { encoding: 'utf8' });
process.stdout.write(audit.stdout);
if (audit.status !== 0) fail('a package has a high or critical vulnerability that assessments.json does not list as not_affected.');
const nodes = Object.keys(platforms).map((name) => nodeOf(name).folder);
const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
try {
  const [first, second] = ['first', 'the-second-clone'].map(buildOnce);
  const differing = expected.filter((name) => first[name] !== second[name]);
  if (differing.length > 0) fail(`two builds of ${commit} differ in ${differing.join(', ')}.`);
  console.log(`two builds of ${commit} are the same bytes:`);
  for (const name of expected) console.log(`  ${first[name]}  ${second[name]}  ${name}`);
  makeRelease();
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Clones the commit and builds everything. Returns the SHA-256 of each file. */
function buildOnce(name) {
  const folder = join(work, name);
  execFileSync('git', ['clone', '--quiet', root, folder]);
  execFileSync('git', ['checkout', '--quiet', commit], { cwd: folder });
  execFileSync('npm', ['ci', '--silent', '--prefer-offline'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  mkdirSync(join(folder, '.cache'));
  for (const node of nodes) symlinkSync(node, join(folder, '.cache', basename(node)));
  const out = build(folder, ['--without-code-cache']);
  const missing = expected.filter((file) => !filesOf(out).includes(file));
  if (missing.length > 0) fail(`the build made no ${missing.join(', ')}.`);
  return Object.fromEntries(expected.map((file) => [file, digest(join(out, file))]));
}

/** @returns the folder with the built files */
function build(folder, more) {
  const out = join(folder, 'dist');
  const run = (script, ...args) =>
    execFileSync(process.execPath, [script, '--quiet', '--out', out, ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  run('scripts/build.mjs');
  const names = Object.keys(platforms).flatMap((name) => ['--platform', name]);
  if (names.length > 0) run('scripts/packages/binary.mjs', ...names, ...more);
  for (const platform of Object.keys(debian)) run('scripts/packages/debian.mjs', '--platform', platform, ...more);
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], { cwd: folder, stdio: 'ignore' });
  return out;
}

function makeRelease() {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  const out = build(join(work, 'first'), []);
  for (const file of expected) cpSync(join(out, file), join(release, file));
  const sbom = JSON.parse(readFileSync(join(release, 'sbom.json'), 'utf8'));
  writeFileSync(join(release, 'vex.json'), vexOf(readAssessments(root), version, sbom));
  const subjects = Object.fromEntries([...expected, 'vex.json'].sort().map((file) => [file, digest(join(release, file))]));
  writeFileSync(join(release, 'provenance.intoto.json'), provenanceOf({ ...buildFacts(), subjects }));
  const sums = [...Object.keys(subjects), 'provenance.intoto.json'].map((file) => `${digest(join(release, file))}  ${file}\n`).join('');
  writeFileSync(join(release, 'SHA256SUMS'), sums);
  if (keyPath) sign(join(release, 'SHA256SUMS'), keyPath);
  if (thisPlatform in platforms) {
    const printed = execFileSync(join(release, `svc-${thisPlatform}`), ['--version'], { encoding: 'utf8' });
    if (!printed.startsWith(`${version} (Node.js `)) fail(`the binary says that it is ${printed}`);
  }
  console.log(`${release}:\n${sums}`);
  const left = leftForAPerson({
    version,
    changelog: readFileSync('CHANGELOG.md', 'utf8'),
    isSigned: keyPath !== undefined,
    isTagged: git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`),
    wasAudited: audit.stdout.startsWith('npm audit: '),
  });
  console.log(`left for a person:\n${left.map((one) => `- ${one}\n`).join('')}`);
}

/** Returns everything that was used for the build, for the provenance statement. */
function buildFacts() {
  const ofNode = Object.entries(platforms).map(([name, { integrity }]) => ({
    name: `pkg:npm/node-${name}@${nodeVersion}`,
    digest: { sha512: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') },
  }));
  const materials = [{ name: 'package-lock.json', digest: { sha256: digest('package-lock.json') } }, ...ofNode];
  const command = ['node', 'scripts/packages/release-check.mjs', ...(options['without-binaries'] ? ['--without-binaries'] : [])].join(' ');
  return { commit, command, materials, node: process.version, platform: thisPlatform };
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function filesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}

function digest(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function fail(message) {
  throw new Error(`release:check: ${message}`);
}
