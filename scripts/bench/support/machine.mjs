// Describes the machine of a measurement, and measures CPU time and memory of processes.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus } from 'node:os';
import { delimiter } from 'node:path';

// Debian installs servers in `/usr/sbin`, so this folder must be in PATH, for `isInstalled` and for all started programs.
process.env.PATH = [process.env.PATH, '/usr/sbin'].filter(Boolean).join(delimiter);

/** Returns the first version number in the output of a program. */
export function versionOf(program, ...args) {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? '?';
}

/** Returns a line about the machine, the date, Node.js and the file system. */
export function machineLine(disk) {
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, ${cpus().length} cores (${cpus()[0].model.trim()}), Node.js ${process.version}, ${disk}`;
}

/** Returns a process and all of its descendants. */
export function family(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1]));
    } catch {
      // The process has ended.
    }
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

/** Length of a tick in `/proc/PID/stat` on Linux, in seconds. */
const tickS = 0.01;

/** Returns the CPU time so far, in seconds, of a process and all of its descendants, including those that have ended. */
export function cpuSeconds(pid) {
  let seconds = 0;
  for (const one of family(pid)) {
    try {
      // Fields 16 and 17 contain the time of children that have ended and were waited for.
      const [ofEnded, ofEndedInSystem] = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1].split(' ').slice(13);
      seconds += (Number(ofEnded) + Number(ofEndedInSystem)) * tickS;
      for (const task of readdirSync(`/proc/${one}/task`))
        seconds += Number(readFileSync(`/proc/${one}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
    } catch {
      // The process has ended.
    }
  }
  return seconds;
}

/** Returns the memory of a process and all of its descendants in MiB: `VmRSS` is the current value, `VmHWM` the maximum. */
export function memoryMiB(pid, field = 'VmRSS') {
  let kib = 0;
  for (const one of family(pid)) {
    try {
      kib += Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // The process has ended.
    }
  }
  return kib / 1024;
}

/** Returns the memory, in MiB, that a process and its descendants do not share with other processes. */
export function privateMiB(pid) {
  let kib = 0;
  for (const one of family(pid)) {
    try {
      const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
      for (const [, value] of text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+)/gm)) kib += Number(value);
    } catch {
      // The process has ended.
    }
  }
  return kib / 1024;
}

/** Returns a free port of the loopback address. */
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

/**
 * Runs an action.
 *
 * @returns the maximum memory (RSS) of a process during the action as `value`, in MiB, and the CPU time that the action returns
 */
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
