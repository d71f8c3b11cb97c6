// `npm run release:check`: makes what a release consists of in dist/release/ (tarball of npm, binaries, Debian packages, SBOM,
// SHA256SUMS), each twice, from two fresh clones of the commit, and fails when their bytes differ. The binaries that are compared
// have no code cache, which V8 makes anew each time; those that stay have one for this machine's platform.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
process.chdir(root);
const platforms = ['linux-x64', 'linux-arm64', 'win-x64'];
const release = resolve('dist/release');

const uncommitted = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
if (uncommitted !== '') {
  console.error(`release:check: a release is made of a commit, and these files differ from it:\n${uncommitted}`);
  process.exit(1);
}
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
try {
  const [first, second] = ['first', 'the-second-clone'].map(buildOnce);
  const differing = Object.keys({ ...first, ...second }).filter((name) => first[name] !== second[name]);
  if (differing.length > 0) {
    console.error(`release:check: two builds of ${commit} differ in ${differing.join(', ')}.`);
    process.exit(1);
  }
  console.log(`two builds of ${commit} are the same bytes: ${Object.keys(first).join(', ')}`);
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
  // The packages of Node.js are fixed by their hashes: fetched once is enough.
  mkdirSync('.cache', { recursive: true });
  const nodes = readdirSync('.cache').filter((entry) => /^node-[\d.]+-\w+-\w+$/.test(entry));
  for (const entry of nodes) cpSync(join('.cache', entry), join(folder, '.cache', entry), { recursive: true });
  const out = join(folder, 'dist');
  build(folder, out, ['--without-code-cache']);
  return Object.fromEntries(filesOf(out).map((file) => [file, digest(join(out, file))]));
}

function build(folder, out, options) {
  const run = (script, ...args) =>
    execFileSync(process.execPath, [script, '--quiet', '--out', out, ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  run('scripts/build.mjs');
  run('scripts/packages/binary.mjs', ...platforms.flatMap((name) => ['--platform', name]), ...options);
  for (const platform of ['linux-x64', 'linux-arm64']) run('scripts/packages/debian.mjs', '--platform', platform, ...options);
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], { cwd: folder, stdio: 'ignore' });
}

function makeRelease() {
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  const folder = join(work, 'first');
  build(folder, join(folder, 'dist'), []);
  for (const file of filesOf(join(folder, 'dist'))) cpSync(join(folder, 'dist', file), join(release, file));
  const sums = filesOf(release).map((file) => `${digest(join(release, file))}  ${file}\n`);
  writeFileSync(join(release, 'SHA256SUMS'), sums.join(''));
  console.log(`${release}:\n${sums.join('')}`);
}

function filesOf(folder) {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return names.map(({ name }) => name).sort();
}

function digest(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
