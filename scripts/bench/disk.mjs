// What the disk takes for a durable small upload, step by step, without any server: the floor under `PUT 1 KiB`.
//   node scripts/bench/disk.mjs [FOLDER]   FOLDER lies on the disk to be measured; a temporary one is made in it
import { closeSync, fdatasyncSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineLine, median } from './support/machine.mjs';

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'svc-bench-'));
const parent = openSync(folder, 'r');
const journal = openSync(join(folder, 'journal'), 'a');
const content = Buffer.alloc(1024, 'x');

/** Writes a file, and gives it the name of another. */
function replace(index, isSynced) {
  const [temporary, target] = ['temporary', `file-${index % 100}`].map((name) => join(folder, name));
  const fd = openSync(temporary, 'w');
  writeSync(fd, content);
  if (isSynced) fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, target);
}

const steps = {
  'create, write, rename over another': (index) => replace(index, false),
  '… with the file synced before': (index) => replace(index, true),
  '… and the folder synced after': (index) => {
    replace(index, true);
    fsyncSync(parent);
  },
  'append to a journal': () => writeSync(journal, content),
  '… synced': () => {
    writeSync(journal, content);
    fdatasyncSync(journal);
  },
};

// What a file of 1 GiB takes when its name is taken away: the kernel frees it in the call that does it, unless it is still open.
function largeFile(name) {
  const fd = openSync(join(folder, name), 'w');
  const megabyte = Buffer.alloc(2 ** 20, 'x');
  for (let index = 0; index < 1024; index++) writeSync(fd, megabyte);
  fsyncSync(fd);
  closeSync(fd);
}

function timedMs(action) {
  const startedMs = performance.now();
  action();
  return (performance.now() - startedMs).toFixed(1);
}

function replaceLarge() {
  const paths = ['old', 'new'].map((name) => join(folder, name));
  for (const name of ['old', 'new']) largeFile(name);
  const atOnceMs = timedMs(() => renameSync(paths[1], paths[0]));
  largeFile('new');
  const held = openSync(paths[0], 'r');
  const heldMs = timedMs(() => renameSync(paths[1], paths[0]));
  const closeMs = timedMs(() => closeSync(held));
  return `\nA rename over a file of 1 GiB takes ${atOnceMs} ms; while that is open ${heldMs} ms, and its close ${closeMs} ms, in any thread.`;
}

console.log(`${machineLine()}\n\n| step | time, µs | CPU, µs |\n|---|---|---|`);
for (const [name, action] of Object.entries(steps)) {
  const times = [];
  for (let index = 0; index < 50; index++) action(index);
  const before = process.cpuUsage();
  for (let index = 0; index < 500; index++) {
    const startedMs = performance.now();
    action(index);
    times.push((performance.now() - startedMs) * 1000);
  }
  const { user, system } = process.cpuUsage(before);
  console.log(`| ${name} | ${median(times).toFixed(0)} | ${((user + system) / 500).toFixed(0)} |`);
}
console.log(replaceLarge());
closeSync(parent);
closeSync(journal);
rmSync(folder, { recursive: true });
