// What a console costs the file service: GETs without one, with one that nobody looks at, and with ten live tails. It is one process that is
// measured, in turns, as two processes of the same build differ by more than the aims: a reload turns the console on and off.
//   node scripts/bench/console.mjs [--rounds N] [--node OPTION…] [--smoke] [--write]   --node=--cpu-prof profiles the server
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endAll, send, started } from './support/exchange.mjs';
import { loader, throughput } from './support/load.mjs';
import { freePort, machineLine, median } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { table, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    node: { type: 'string', multiple: true, default: [] },
    smoke: { type: 'boolean' },
    write: { type: 'boolean' },
  },
});
const seconds = options.smoke ? 1 : 2;
const connections = 32;
const tails = 10;
const credentials = 'bench:bench-password';
const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
const script = join(process.cwd(), 'dist/svc.mjs');
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
mkdirSync(join(folder, 'home'));
writeFileSync(join(folder, 'home/small'), Buffer.alloc(1024));
const password = spawnSync(process.execPath, [script, 'hash-password'], { input: 'bench-password', encoding: 'utf8' }).stdout.trim();
const [port, consolePort] = [await freePort(), await freePort()];
const consoleUrl = `http://127.0.0.1:${consolePort}`;

function configure(hasConsole) {
  const config = {
    groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home') } },
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
  const { status, stderr } = spawnSync(process.execPath, [script, 'reload'], { cwd: folder, encoding: 'utf8' });
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
const svc = started([...options.node, script, 'serve', '--log-level', 'error'], folder);
await svc.line(/(http:\/\/[^\s/]+)\//);
const login = await send(`http://127.0.0.1:${port}/__svc__/login`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: JSON.stringify({ username: 'bench', password: 'bench-password' }),
});
const headers = { authorization: `session ${JSON.parse(login.text).results[0].session}` };
const server = { name: 'svc', pid: svc.child.pid, port };
const measure = () => throughput(server, { path: '/home/small', connections, seconds, headers, folder });

const told = [];
const none = { name: 'no console', enter: () => turn(false) };
const idle = { name: 'a console, nobody looks', enter: () => turn(true) };
const watched = { name: `a console, ${tails} live tails`, enter: follow };
const turns = new Rounds({ rounds: options.smoke ? 1 : Number(options.rounds), isWarm: options.smoke });
const workload = `GET 1 KiB, ${connections} connections`;
try {
  await turns.measure(workload, '/s', [none, idle, watched], async (state) => {
    const leave = await state.enter();
    const run = await measure();
    if (leave) told.push(leave() / seconds);
    return run;
  });
} finally {
  endAll();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
if (turns.faults.length > 0) throw new Error(turns.faults.join('\n'));

const rows = [
  [idle, 1.01],
  [watched, 1.03],
].map(([state, aim]) => {
  const cost = turns.ratio(workload, state, none, 'cpuUs');
  return [`CPU of a request, ${state.name}`, none.name, `≤ ${aim}`, cost.toFixed(3), cost <= aim ? 'yes' : '**no**'];
});
const text = `${machineLine()};
load by ${loader}. Medians of ${options.smoke ? 1 : options.rounds} rounds [least–most], CPU of svc for each request;
a tail was told ${Math.round(median(told)).toLocaleString('en')} events a second.

${turns.table()}

${table(['of', 'to', 'aim', 'measured', 'met'], rows)}`;
console.log(text);
if (options.write && !options.smoke) writeBetween('docs/operate/performance.md', 'bench-console', text);
