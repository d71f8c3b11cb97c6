// What a console costs the file service: GETs without one, with one that nobody looks at, and with ten live tails. It is one process that is
// measured, in turns, as two processes of the same build differ by more than the aims: a reload turns the console on and off.
//   node scripts/bench/console.mjs [--rounds N] [--node OPTION…] [--smoke] [--write]   --node=--cpu-prof profiles the server
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { executable, makeFolders, medians, node, publish, readOptions, remove } from './support/benchmark.mjs';
import { endAll, sessionOf, started } from './support/exchange.mjs';
import { loader, throughput } from './support/load.mjs';
import { freePort, machineLine, median } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { hashOf } from './support/servers.mjs';
import { table, verdict } from './support/table.mjs';

const { rounds, ...options } = readOptions(9, { node });
const seconds = options.smoke ? 1 : 2;
const connections = 32;
const tails = 10;
const credentials = 'bench:bench-password';
const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
const { folder, home } = makeFolders();
const password = hashOf('bench-password');
const [port, consolePort] = [await freePort(), await freePort()];
const consoleUrl = `http://127.0.0.1:${consolePort}`;

function configure(hasConsole) {
  const config = {
    groups: { DEFAULT_GROUP: { home_folder_path: home } },
    accounts: { bench: { password } },
    services: {
      files: { type: 'http', port },
      console: { type: 'console', enabled: hasConsole, port: consolePort, administrators: { bench: { password, role: 'viewer' } } },
    },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config), { mode: 0o600 });
}

async function turn(hasConsole) {
  configure(hasConsole);
  const { status, stderr } = spawnSync(process.execPath, [executable, 'reload'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the reload failed: ${stderr}`);
}

/** Opens live tails of all events. @returns ends them, and says how many events each was told */
async function follow() {
  const readers = await Promise.all(
    Array.from(
      { length: tails },
      () =>
        new Promise((resolve, reject) => {
          const request = get(`${consoleUrl}/api/events/live`, { headers: { authorization }, agent: false }, (incoming) => {
            if (incoming.statusCode !== 200) reject(new Error(`a tail got ${incoming.statusCode}`));
            const reader = { request, told: 0 };
            incoming.on('data', (chunk) => {
              for (let at = chunk.indexOf('\ndata: '); at >= 0; at = chunk.indexOf('\ndata: ', at + 1)) reader.told++;
            });
            incoming.on('error', () => {});
            resolve(reader);
          });
          request.on('error', reject);
        }),
    ),
  );
  return () => {
    for (const { request } of readers) request.destroy();
    return median(readers.map(({ told }) => told));
  };
}

configure(false);
const svc = started([...options.node, executable, 'serve', '--log-level', 'error'], folder);
await svc.line(/(http:\/\/[^\s/]+)\//);
const headers = await sessionOf(`http://127.0.0.1:${port}`, 'bench', 'bench-password');
const server = { name: 'svc', pid: svc.child.pid, port };
const measure = () => throughput(server, { path: '/home/small', connections, seconds, headers, folder });

const told = [];
const none = { name: 'no console', enter: () => turn(false) };
const idle = { name: 'a console, nobody looks', enter: () => turn(true) };
const watched = { name: `a console, ${tails} live tails`, enter: follow };
const turns = new Rounds({ rounds, isWarm: options.smoke });
const workload = `GET 1 KiB, ${connections} connections`;
try {
  await turns.measure(workload, '/s', [none, idle, watched], async (state) => {
    const leave = await state.enter();
    const run = await measure();
    if (leave) told.push(leave() / seconds);
    return run;
  });
} finally {
  await endAll();
  remove(folder);
}
if (turns.faults.length > 0) throw new Error(turns.faults.join('\n'));

const rows = [
  [idle, 1.01],
  [watched, 1.03],
].map(([state, aim]) => {
  const cost = turns.ratio(workload, state, none, 'cpuUs');
  return [`CPU of a request, ${state.name}`, none.name, `≤ ${aim}`, cost.toFixed(3), verdict(cost, '≤', aim)];
});
const text = `${machineLine()};
load by ${loader}. ${medians(rounds)}, CPU of svc for each request;
a tail was told ${Math.round(median(told)).toLocaleString('en')} events a second.

${turns.table()}

${table(['of', 'to', 'aim', 'measured', 'met'], rows)}`;
publish('console', text, options.write && !options.smoke);
