// `npm run release:check`: makes what a release consists of in dist/release/ (script, tarball of npm, binaries, Debian packages, an SBOM
// of each kind, SHA256SUMS), each twice, from two fresh clones of the commit, and fails when their bytes differ or a file is missing.
// The binaries that are compared have no code cache, which V8 makes anew each time; those that stay have one for this machine's platform.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { nodeOf, platforms, thisPlatform } from './node-binaries.mjs';

const root = new URL('../..', import.meta.url).pathname;
process.chdir(root);
const release = resolve('dist/release');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
/** Names of the platforms that have a Debian package, and what Debian calls them. */
const debian = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
const expected = [
  ...['sbom.json', `svc-${version}.tgz`, 'svc.mjs', 'svc.mjs.map'],
  ...Object.keys(platforms).flatMap((name) => [name.startsWith('win') ? `svc-${name}.exe` : `svc-${name}`, `svc-${name}.sbom.json`]),
  ...Object.values(debian).map((architecture) => `svc_${version}-1_${architecture}.deb`),
].sort();

const uncommitted = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
if (uncommitted !== '') fail(`a release is made of a commit, and these files differ from it:\n${uncommitted}`);
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
// The packages of Node.js are fixed by their hashes: fetched once is enough.
const nodes = Object.keys(platforms).map((name) => nodeOf(name).folder);
const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
try {
  const [first, second] = ['first', 'the-second-clone'].map(buildOnce);
  const differing = expected.filter((name) => first[name] !== second[name]);
  if (differing.length > 0) fail(`two builds of ${commit} differ in ${differing.join(', ')}.`);
  console.log(`two builds of ${commit} are the same bytes: ${expected.join(', ')}`);
  makeRelease();
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Clones the commit, builds everything, and gives each file's SHA-256. */
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

/** @returns the folder of what was built */
function build(folder, options) {
  const out = join(folder, 'dist');
  const run = (script, ...args) =>
    execFileSync(process.execPath, [script, '--quiet', '--out', out, ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  run('scripts/build.mjs');
  run('scripts/packages/binary.mjs', ...Object.keys(platforms).flatMap((name) => ['--platform', name]), ...options);
  for (const platform of Object.keys(debian)) run('scripts/packages/debian.mjs', '--platform', platform, ...options);
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], { cwd: folder, stdio: 'ignore' });
  return out;
}

function makeRelease() {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  const out = build(join(work, 'first'), []);
  for (const file of expected) cpSync(join(out, file), join(release, file));
  const sums = expected.map((file) => `${digest(join(release, file))}  ${file}\n`).join('');
  writeFileSync(join(release, 'SHA256SUMS'), sums);
  const printed = execFileSync(join(release, `svc-${thisPlatform}`), ['--version'], { encoding: 'utf8' });
  if (!printed.startsWith(`${version} (Node.js `)) fail(`the binary says that it is ${printed}`);
  console.log(`${release}:\n${sums}`);
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
