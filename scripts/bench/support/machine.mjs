// What a measurement was made on, and what a process costs.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus } from 'node:os';
import { delimiter } from 'node:path';

// Where Debian keeps servers; `isInstalled` and all that is started here look there, too.
process.env.PATH = [process.env.PATH, '/usr/sbin'].filter(Boolean).join(delimiter);

/** The first number that looks like a version in what a program prints. */
export function versionOf(program, ...args) {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? '?';
}

/** One line about the machine, the date, Node.js and the file system. */
export function machineLine(disk) {
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, ${cpus().length} cores (${cpus()[0].model.trim()}), Node.js ${process.version}, ${disk}`;
}

/** A process and all below it. */
export function family(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1]));
    } catch {
      // Gone meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

/** The unit of `/proc/PID/stat` on Linux, in seconds. */
const tickS = 0.01;

/** CPU time of a process and all below it so far, also of those that have ended, in seconds. */
export function cpuSeconds(pid) {
  let seconds = 0;
  for (const one of family(pid)) {
    try {
      // Fields 16 and 17: what the children that were waited for have used.
      const [ofEnded, ofEndedInSystem] = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1].split(' ').slice(13);
      seconds += (Number(ofEnded) + Number(ofEndedInSystem)) * tickS;
      for (const task of readdirSync(`/proc/${one}/task`))
        seconds += Number(readFileSync(`/proc/${one}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
    } catch {
      // Gone meanwhile.
    }
  }
  return seconds;
}

/** Memory of a process and all below it, in MiB: `VmRSS` now, `VmHWM` at its peak. */
export function memoryMiB(pid, field = 'VmRSS') {
  let kib = 0;
  for (const one of family(pid)) {
    try {
      kib += Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // Gone meanwhile.
    }
  }
  return kib / 1024;
}

/** Memory that a process and all below it share with nobody, in MiB. */
export function privateMiB(pid) {
  let kib = 0;
  for (const one of family(pid)) {
    try {
      const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
      for (const [, value] of text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)) kib += Number(value);
    } catch {
      // Gone meanwhile.
    }
  }
  return kib / 1024;
}

/** A port of the loopback address that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Runs an action. @returns the highest memory (RSS) of a process meanwhile as `value`, in MiB, and the CPU that the action gives */
export async function withPeak(pid, action) {
  let value = 0;
  const look = () => {
    value = Math.max(value, memoryMiB(pid));
  };
  const timer = setInterval(look, 50);
  try {
    const { cpuUs } = (await action()) ?? {};
    look();
    return { value, cpuUs };
  } finally {
    clearInterval(timer);
  }
}
