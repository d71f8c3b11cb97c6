// Runs the tests: bundles test/**/*.test.ts with esbuild (one call a run; what files share is in chunks), then `node --test`.
//   node scripts/test.mjs [FILTER…] [--all | --long] [--name PATTERN] [--binary] [--update-golden]
// FILTER is a part of a test file's path. The files that are named *.long.test.ts (kills, faults of nodes, large files, load) run with --all, or
// alone with --long, or when no other file has the filter's text (`crash/power-cut`). --binary: processes of svc are the binary of
// this machine, made anew. --update-golden writes the expected parts of test/golden anew. Builds dist/svc.mjs first when a source is newer.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { bundleOptions, requireBanner } from './bundle-options.mjs';
import { isInstalled } from './installed.mjs';

process.chdir(new URL('..', import.meta.url).pathname);
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    long: { type: 'boolean' },
    name: { type: 'string' },
    binary: { type: 'boolean' },
    'update-golden': { type: 'boolean' },
  },
});

/** More failing files than this are no accident. */
const mostTriedAgain = 3;

/** Test processes at once: much of what they do is to wait. */
const concurrency = Number(process.env.SVC_TEST_CONCURRENCY ?? 5);

/** At most so many test files run in one process, one after the other: each takes half a second of CPU to load what all of them need. */
const mostTogether = 10;

/** Where tests wait longest for others: what begins first is not waited for at the end. */
const longest = ['workers/', 'browser/', 'http/uploads/', 'nodes/', 'crash/', 'ssh/', 'cli/', 'webhooks/'];

/** Foreign programs that tests use, and the Debian package of each. */
const programs = {
  curl: 'curl',
  unzip: 'unzip',
  openssl: 'openssl',
  python3: 'python3',
  xmllint: 'libxml2-utils',
  litmus: 'litmus',
  rclone: 'rclone',
  cadaver: 'cadaver',
  nginx: 'nginx',
  'mount.davfs': 'davfs2',
  chromium: 'chromium',
  'firefox-esr': 'firefox-esr',
  man: 'man-db',
  zsh: 'zsh',
  fish: 'fish',
  'systemd-analyze': 'systemd',
  promtool: 'prometheus',
  'redis-server': 'redis-server',
  haproxy: 'haproxy',
  strace: 'strace',
  prlimit: 'util-linux',
  'redis-cli': 'redis-tools',
  'linux.uml': 'user-mode-linux',
  'rpc.nfsd': 'nfs-kernel-server',
  modprobe: 'kmod',
  ssh: 'openssh-client',
  'ssh-audit': 'ssh-audit',
  git: 'git',
  lftp: 'lftp',
  psftp: 'putty-tools',
  restic: 'restic',
  sqlite3: 'sqlite3',
  sshfs: 'sshfs',
  lintian: 'lintian',
  logrotate: 'logrotate',
  dbclient: 'dropbear-bin',
  perl: 'perl',
  java: 'default-jre-headless',
};

function filesBelow(folder, suffix) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(suffix))
    .sort();
}

function newest(folders) {
  return Math.max(
    ...folders.flatMap((folder) => filesBelow(folder, '')).map((path) => statSync(path).mtimeMs),
    statSync('package.json').mtimeMs,
  );
}

const bundle = statSync('dist/svc.mjs', { throwIfNoEntry: false });
if (!bundle || bundle.mtimeMs < newest(['src', 'bin', 'scripts'])) {
  const built = spawnSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

if (options.binary) {
  const built = spawnSync(process.execPath, ['scripts/packages/binary.mjs', '--quiet'], { stdio: 'inherit' });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

for (const [program, debianPackage] of Object.entries(programs)) {
  if (!isInstalled(program)) console.log(`missing: ${program} (apt-get install ${debianPackage}); tests that need it are skipped`);
}

const isLong = (path) => path.endsWith('.long.test.ts');
const everyTest = filesBelow('test', '.test.ts');

/** Long files only where they are asked for, or where nothing else has the name. */
function testsOf(filter) {
  const found = everyTest.filter((path) => path.includes(filter));
  const wanted = found.filter((path) => options.all || isLong(path) === Boolean(options.long));
  return wanted.length > 0 ? wanted : found;
}

const tests = [...new Set((filters.length > 0 ? filters : ['']).flatMap(testsOf))];
if (tests.length === 0) {
  console.error(`no test file matches ${filters.join(' ')}`);
  process.exit(1);
}
// A long run has a folder of its own, so that other runs beside it do not take its bundles away.
const outdir = process.env.SVC_TEST_OUTDIR ?? '.cache/test';
rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });
await build({
  ...bundleOptions,
  entryPoints: [...tests, 'test/support/command-host.ts'],
  outdir,
  outbase: 'test',
  outExtension: { '.js': '.mjs' },
  // Each file with all of the sources inside took twice the time to load, and half a minute to write.
  splitting: true,
  chunkNames: 'chunks/[hash]',
  sourcemap: 'linked',
  sourcesContent: false,
  external: [...bundleOptions.external, 'esbuild', 'playwright-core', '@seriousme/openapi-schema-validator'],
  banner: { js: requireBanner },
});

const failures = join(outdir, 'failed-files.txt');
const args = [
  '--enable-source-maps',
  '--test',
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  '--test-reporter=./scripts/failed-files.mjs',
  `--test-reporter-destination=${failures}`,
  `--test-timeout=${process.env.SVC_TEST_TIMEOUT_MS ?? 600_000}`,
];
if (options.name) args.push(`--test-name-pattern=${options.name}`);
const bundled = (path) => join(outdir, relative('test', path).replace(/\.ts$/, '.mjs'));
// One browser for all files: each start of it takes two seconds of CPU.
const browser = tests.some((path) => path.includes('/browser/')) && isInstalled('chromium') ? await startBrowser() : undefined;
const batches = batchesOf(tests);
let status = await run([...batches.keys()], concurrency);
const failedFiles = new Set(readFileSync(failures, 'utf8').split('\n'));
// Where a process ended, the path is that of the batch.
const failedBatches = [...batches].flatMap(([path, files]) => (failedFiles.has(resolve(path)) ? files : []));
const failed = tests.filter((path) => failedFiles.has(resolve(path)) || failedBatches.includes(path));
// What fails for want of time beside others has another try, and is named; what fails alone has failed.
if (status !== 0 && failed.length > 0 && failed.length <= mostTriedAgain && failed.length < tests.length) {
  console.log(`\nonce more, alone, as they failed beside others: ${failed.join(', ')}`);
  status = await run(failed.map(bundled), 1);
  if (status === 0) console.log(`passed alone only; to be mended: ${failed.join(', ')}`);
}
await browser?.close();
process.exit(status);

/** @returns the test files of each process by the path of what it runs, in their order; long ones have a process of their own */
function batchesOf(paths) {
  const ordered = paths.toSorted((one, other) => placeOf(one) - placeOf(other));
  const short = ordered.filter((path) => !isLong(path));
  const together = Math.min(mostTogether, Math.ceil(short.length / concurrency));
  const groups = ordered.filter(isLong).map((path) => [path]);
  for (let start = 0; start < short.length; start += together) groups.push(short.slice(start, start + together));
  return new Map(
    groups.map((files, index) => {
      // `node --test` runs them in the order of their names.
      const batch = join(outdir, `batch-${String(index).padStart(3, '0')}.mjs`);
      writeFileSync(batch, files.map((path) => `import './${relative(outdir, bundled(path))}';\n`).join(''));
      return [batch, files];
    }),
  );
}

function placeOf(path) {
  const place = longest.findIndex((folder) => path.startsWith(`test/${folder}`));
  return place < 0 ? longest.length : place;
}

async function run(files, atOnce) {
  const running = spawn(process.execPath, [...args, `--test-concurrency=${atOnce}`, ...files], {
    stdio: 'inherit',
    env: {
      SVC_ALLOW_ROOT: '1',
      ...process.env,
      SVC_ROOT: process.cwd(),
      SVC_TESTS: resolve(outdir),
      SVC_TEST_BINARY: options.binary ? resolve(`dist/svc-${process.platform}-${process.arch}`) : '',
      SVC_TEST_BROWSER: browser?.wsEndpoint() ?? '',
      SVC_UPDATE_GOLDEN: options['update-golden'] ? '1' : '',
    },
  });
  const [code] = await once(running, 'exit');
  return code ?? 1;
}

function startBrowser() {
  return chromium.launchServer({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}
