// Runs the tests: bundles test/**/*.test.ts with one call of esbuild, with shared code in chunks, then runs `node --test`. First it builds
// dist/svc.mjs, if a source is newer.
//   node scripts/test.mjs [FILTER…] [--all | --long] [--name PATTERN] [--times] [--binary] [--update-golden]
// FILTER is a part of a test file's path. Files named *.long.test.ts (kills, faults of nodes, large files, load) run in three cases: with
// --all; with --long, which runs only them; and if no other file matches the filter (`crash/power-cut`). --binary first builds the binary
// of this machine, and uses it for processes of svc. --times prints the time of each file. --update-golden writes the expected parts of
// test/golden.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { bundleOptions, requireBanner } from './bundle-options.mjs';
import { countFlaky, tooManyRuns } from './flaky-files.mjs';
import { isInstalled } from './installed.mjs';

process.chdir(new URL('..', import.meta.url).pathname);
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    long: { type: 'boolean' },
    name: { type: 'string' },
    binary: { type: 'boolean' },
    times: { type: 'boolean' },
    'update-golden': { type: 'boolean' },
  },
});

/** Maximum number of failed files that are run again. If more files fail, the cause is not a busy machine. */
const maxRetried = 3;

/** Number of concurrent test processes. It may exceed the number of cores, because tests wait most of the time. */
const concurrency = Number(process.env.SVC_TEST_CONCURRENCY ?? 6);

/** Maximum number of test files that run in one process, one after the other. */
const maxTogether = 10;

/** Free memory in bytes that is necessary to keep the folders of tests in memory. */
const memoryBytes = 4 * 1024 ** 3;

/**
 * Features of Chromium that are turned off. Two features took almost half of the CPU time of browser tests: pages for the address bar,
 * which each window loads, and a spare process for the next page. Chromium obeys only one such list, so the list also contains the features
 * that Playwright turns off.
 */
const disabledFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'SpareRendererForSitePerProcess',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

/** Other programs that tests use, with their Debian packages. */
const programs = {
  htpasswd: 'apache2-utils',
  sshd: 'openssh-server',
  curl: 'curl',
  unzip: 'unzip',
  openssl: 'openssl',
  python3: 'python3',
  xmllint: 'libxml2-utils',
  litmus: 'litmus',
  rclone: 'rclone',
  cadaver: 'cadaver',
  nginx: 'nginx',
  'c-icap': 'c-icap',
  clamd: 'clamav-daemon',
  clamdscan: 'clamdscan',
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
  execFileSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
}
if (options.binary) execFileSync(process.execPath, ['scripts/packages/binary.mjs', '--quiet'], { stdio: 'inherit' });

for (const [program, debianPackage] of Object.entries(programs)) {
  if (!isInstalled(program)) console.log(`missing: ${program} (apt-get install ${debianPackage}); tests that need it are skipped`);
}

const isLong = (path) => path.endsWith('.long.test.ts');
const everyTest = filesBelow('test', '.test.ts');

/** Returns the tests that match a filter. Long tests are included only if they are requested, or if no other file matches. */
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
// A long run has its own folder (SVC_TEST_OUTDIR), so that another run does not remove its bundles.
const outdir = process.env.SVC_TEST_OUTDIR ?? '.cache/test';
rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });
await build({
  ...bundleOptions,
  entryPoints: [...tests, 'test/support/command-host.ts', 'test/support/failing-file.ts'],
  outdir,
  outbase: 'test',
  outExtension: { '.js': '.mjs' },
  // Without chunks, each file would contain all sources. Then loading takes twice as long, and writing takes half a minute.
  splitting: true,
  chunkNames: 'chunks/[hash]',
  sourcemap: 'linked',
  sourcesContent: false,
  external: [...bundleOptions.external, 'esbuild', 'playwright-core', '@seriousme/openapi-schema-validator'],
  banner: { js: requireBanner },
});

const temporaryFolders = tests.every(isLong) ? tmpdir() : foldersInMemory();
const failures = join(outdir, 'failed-files.txt');
const timesFile = join(outdir, 'times.ndjson');
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
let queue = [];
/** Scripts that run a single test file in a separate process, by the path of the test file. */
const ownProcess = new Map();
const testQueue = new URL('./test-queue.mjs', import.meta.url).href;
const bundled = (path) => join(outdir, relative('test', path).replace(/\.ts$/, '.mjs'));
// All files share one browser, because each start of a browser takes two seconds of CPU time.
const browser = tests.some((path) => path.includes('/browser/')) && isInstalled('chromium') ? await startBrowser() : undefined;
const started = performance.now();
const processes = processesOf(tests);
let status = await run(processes, concurrency);
const failedPaths = new Set(readFileSync(failures, 'utf8').split('\n'));
const failed = tests.filter((path) => failedPaths.has(resolve(path)) || endedWith(path));
if (options.times && existsSync(timesFile)) printTimes(performance.now() - started);
const flaky = [];
// A busy machine can make a file fail when it runs together with others. So it is run again, alone, and reported as flaky if it passes.
if (status !== 0 && failed.length > 0 && failed.length <= maxRetried && failed.length < tests.length) {
  console.log(`\nfailed together with other files, now run again alone: ${failed.join(', ')}`);
  status = await run(failed.map(ownProcessOf), 1);
  if (status === 0) flaky.push(...failed);
}
for (const { path, runs } of countFlaky('.cache/flaky.json', tests, flaky)) {
  console.log(`flaky: ${path} passed only alone, in ${runs} ${runs === 1 ? 'run' : 'runs in a row'}; fix it`);
  if (runs >= tooManyRuns && process.env.CI === 'true') status = 1;
}
await browser?.close();
process.exit(status);

/**
 * Writes the queue of the short files, and the scripts that run files from it.
 *
 * @returns the paths of the scripts to run: one for each long file, and one for each process that takes short files from the queue
 */
function processesOf(paths) {
  queue = inTurn(paths.filter((path) => !isLong(path)));
  const files = queue.map((path) => ({ path, bundle: resolve(bundled(path)) }));
  writeFileSync(join(outdir, 'queue.json'), JSON.stringify({ files, maxTogether }));
  const needed = Math.max(Math.ceil(queue.length / maxTogether), Math.min(queue.length, concurrency));
  const takers = Array.from({ length: needed }, (_, index) => {
    const path = join(outdir, `queue-${String(index).padStart(3, '0')}.mjs`);
    writeFileSync(path, `import { runQueue } from '${testQueue}';\nawait runQueue();\n`);
    return path;
  });
  return [...paths.filter(isLong).map(ownProcessOf), ...takers];
}

/**
 * Returns the script that runs one test file in a separate process. `node --test` runs scripts in the order of their names, so these
 * scripts (`alone-…`) start before those of the queue (`queue-…`).
 */
function ownProcessOf(path) {
  const known = ownProcess.get(path);
  if (known !== undefined) return known;
  const own = join(outdir, `alone-${String(ownProcess.size).padStart(3, '0')}.mjs`);
  const file = { path, bundle: resolve(bundled(path)), isLong: isLong(path) };
  writeFileSync(own, `import { runAlone } from '${testQueue}';\nawait runAlone(${JSON.stringify(file)});\n`);
  ownProcess.set(path, own);
  return own;
}

/**
 * Returns whether a file did not run to its end. Either its process ended in the middle of the file, so that node:test reports the script
 * of this process as failed, or no process has begun the file.
 */
function endedWith(path) {
  const own = ownProcess.get(path);
  if (own !== undefined) return failedPaths.has(resolve(own));
  const taker = takerOf(queue.indexOf(path));
  const last = queue.findLast((_, index) => takerOf(index) === taker);
  return taker === undefined || (path === last && failedPaths.has(resolve(outdir, taker)));
}

function takerOf(index) {
  const file = join(outdir, `taken-${index}`);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function printTimes(wallMs) {
  const lines = readFileSync(timesFile, 'utf8').trimEnd().split('\n');
  const times = lines.map((line) => JSON.parse(line)).sort((one, other) => other.wallMs - one.wallMs);
  const seconds = (ms) => (ms / 1000).toFixed(1).padStart(8);
  const cpuMs = times.reduce((sum, time) => sum + time.cpuMs, 0);
  console.log(`\n${'s'.padStart(8)}${'s of CPU'.padStart(10)}`);
  for (const { path, wallMs: fileMs, cpuMs: fileCpuMs } of times) console.log(`${seconds(fileMs)}  ${seconds(fileCpuMs)}  ${path}`);
  console.log(`${seconds(wallMs)}  ${seconds(cpuMs)}  all, by ${concurrency} processes at once`);
}

/**
 * Orders files so that files of different folders alternate. Files of one folder often need the same resource, such as the browser or
 * Redis. In this order, few files that need the same resource run at the same time.
 */
function inTurn(paths) {
  const counts = new Map();
  const turns = new Map(
    paths.map((path) => {
      const turn = counts.get(dirname(path)) ?? 0;
      counts.set(dirname(path), turn + 1);
      return [path, turn];
    }),
  );
  return paths.toSorted((one, other) => turns.get(one) - turns.get(other));
}

async function run(files, atOnce) {
  const running = spawn(process.execPath, [...args, `--test-concurrency=${atOnce}`, ...files], {
    stdio: 'inherit',
    env: {
      SVC_ALLOW_ROOT: '1',
      ...process.env,
      SVC_ROOT: process.cwd(),
      SVC_TESTS: resolve(outdir),
      TMPDIR: temporaryFolders,
      SVC_TEST_DISK: tmpdir(),
      SVC_TEST_BINARY: options.binary ? resolve(`dist/svc-${process.platform}-${process.arch}`) : '',
      SVC_TEST_BROWSER: browser?.wsEndpoint() ?? '',
      SVC_UPDATE_GOLDEN: options['update-golden'] ? '1' : '',
    },
  });
  const [code] = await once(running, 'exit');
  return code ?? 1;
}

/**
 * Returns the folder for the temporary folders of short tests. It is in memory if there is enough space, because on disk, six processes
 * spend a third of their time waiting for syncs. Tests of disks use a folder on disk (SVC_TEST_DISK), and so do long tests (`runAlone`).
 * The folder is removed when this process ends.
 */
function foldersInMemory() {
  const memory = '/dev/shm';
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize < memoryBytes) return tmpdir();
  const folder = mkdtempSync(join(memory, 'svc-tests-'));
  // Some tests run servers under other accounts.
  chmodSync(folder, 0o1777);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  return folder;
}

function startBrowser() {
  return chromium.launchServer({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${disabledFeatures.join()}`,
    ],
  });
}
