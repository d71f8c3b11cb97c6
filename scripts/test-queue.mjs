// Runs test files in the processes that scripts/test.mjs starts. SVC_TESTS is the folder of the run, which contains queue.json.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const ownFigures = '/proc/self/stat';

const folder = process.env.SVC_TESTS;
const own = basename(process.argv[1]);

/**
 * Takes files from the queue that no other process has taken, and runs them one after the other. One process runs several files, because
 * loading their shared code takes half a second of CPU time.
 */
export async function runQueue() {
  /** @type {{ files: { path: string, bundle: string }[], maxTogether: number }} */
  const { files, maxTogether } = JSON.parse(readFileSync(join(folder, 'queue.json'), 'utf8'));
  let taken = 0;
  for (const [index, file] of files.entries()) {
    if (taken === maxTogether) break;
    if (!take(index)) continue;
    taken++;
    await run(file);
  }
  endInTime();
}

/**
 * Runs one file. If it is a long test, its temporary folders are on the disk.
 *
 * @param {{ path: string, bundle: string, isLong: boolean }} file
 */
export async function runAlone(file) {
  if (file.isLong) process.env.TMPDIR = process.env.SVC_TEST_DISK;
  await run(file);
  endInTime();
}

async function run({ path, bundle }) {
  const before = used();
  await import(pathToFileURL(bundle).href);
  // Tests run in the order in which they are declared. So when this test runs, all tests of the file have ended.
  await test(path, () => {});
  const after = used();
  const took = { path, wallMs: after.wallMs - before.wallMs, cpuMs: after.cpuMs - before.cpuMs };
  appendFileSync(join(folder, 'times.ndjson'), `${JSON.stringify(took)}\n`);
}

/**
 * Ends the process with a failure if a test left a resource open, and prints the kind of resource. Otherwise the process would run until
 * the time limit.
 */
function endInTime() {
  const graceMs = Number(process.env.SVC_TEST_GRACE_MS ?? 20_000);
  const giveUp = () => {
    console.error(`still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  };
  setTimeout(giveUp, graceMs).unref();
}

/** Takes a file of the queue. @returns false if another process has taken it */
function take(index) {
  try {
    writeFileSync(join(folder, `taken-${index}`), own, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Returns the current time, and the CPU time that this process and its ended children have used. If work of a file continues after the
 * file's end, it counts for the next file.
 */
function used() {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 + childrenMs() };
}

/** Returns the CPU time of ended children, where Linux reports it (proc(5): cutime and cstime, in hundredths of a second). */
function childrenMs() {
  if (!existsSync(ownFigures)) return 0;
  const fields = readFileSync(ownFigures, 'latin1').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
