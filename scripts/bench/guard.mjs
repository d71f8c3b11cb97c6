// Whether a request costs more CPU than it did: for continuous integration, so that no change makes svc slower unseen. Short rounds of a few
// workloads, in turns with the build of the commit that baseline.json names; where that is not in the clone (a shallow one has no history)
// with the limit of Node.js, whose CPU for the same requests baseline.json knows in relation to that commit's. So the machine and what else
// runs on it count little. What costs too much is measured once more before it fails.
//   node scripts/bench/guard.mjs [--against COMMIT] [--smoke] [--write]
//   --against takes another commit than the baseline's, to find which one it was; --write makes HEAD, which must be what was built, the baseline
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { against, makeFolders } from './support/benchmark.mjs';
import { Fleet, names } from './support/fleet.mjs';
import { throughput } from './support/load.mjs';
import { machineLine } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { Servers } from './support/servers.mjs';
import { table } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { against, smoke: { type: 'boolean' }, write: { type: 'boolean' } } });
const baselinePath = 'scripts/bench/baseline.json';
/** The most CPU of a request, to that of the baseline: changes that small cannot be told from a busy machine. */
const most = 1.35;
const rounds = options.smoke ? 1 : options.write ? 7 : 3;
const entries = options.smoke ? 20 : 1000;

const baseline = JSON.parse(readFileSync(baselinePath, 'utf8'));
const commit = options.against ?? baseline.commit;
const git = (...args) => spawnSync('git', args, { encoding: 'utf8' });
// A short try builds nothing.
const isInHistory = !options.write && !options.smoke && git('cat-file', '-e', `${commit}^{commit}`).status === 0;
const { folder, home } = makeFolders(['list', 'put']);
for (let index = 0; index < entries; index++) writeFileSync(join(home, 'list', `file number ${index}.png`), '');

const load = { seconds: 1, folder };
const workloads = {
  'GET of 1 KiB': (server) => throughput(server, { ...load, path: server.at('small'), connections: 32 }),
  'PUT of 1 KiB': (server) => throughput(server, { ...load, path: server.at('put/file'), method: 'PUT', connections: 32 }),
  'PROPFIND of 1,000 entries': (server) => {
    const headers = { ...server.headers, depth: '1' };
    return throughput(server, { ...load, path: server.at('list/'), method: 'PROPFIND', headers, connections: 4 });
  },
  'HTML listing of 1,000 entries': (server) => {
    const headers = { ...server.headers, accept: 'text/html' };
    return throughput(server, { ...load, path: server.at('list/'), headers, connections: 4 });
  },
};

/** Measures some workloads. @returns for each the CPU of a request, to that of the other server */
async function measured(some, svc, other) {
  const turns = new Rounds({ rounds, isWarm: options.smoke });
  for (const name of some) await turns.measure(name, '/s', [svc, other], workloads[name]);
  if (turns.faults.length > 0) throw new Error(turns.faults.join('\n'));
  return new Map(some.map((name) => [name, turns.ratio(name, svc, other, 'cpuUs')]));
}

const servers = new Servers(folder, home);
try {
  const fleet = new Fleet(servers, folder, isInHistory ? { against: commit } : {});
  const svc = await fleet.get(names.svc);
  const other = await fleet.get(isInHistory ? names.former : names.limit);
  const ratios = await measured(Object.keys(workloads), svc, other);
  if (options.write) renew(ratios);
  else await judge(ratios, svc, other);
} finally {
  await stopAndRemove(servers, folder);
}

function renew(ratios) {
  const toLimit = Object.fromEntries([...ratios].map(([name, ratio]) => [name, Number(ratio.toFixed(2))]));
  const head = git('rev-parse', 'HEAD').stdout.trim();
  writeFileSync(baselinePath, `${JSON.stringify({ commit: head, measuredOn: machineLine(), cpuToLimitOfNode: toLimit }, null, 2)}\n`);
}

/** CPU of each workload to the baseline's, printed; those that cost too much are measured again, and the smaller figure counts. */
async function judge(ratios, svc, other) {
  const toBaseline = (found) =>
    new Map([...found].map(([name, ratio]) => [name, isInHistory ? ratio : ratio / baseline.cpuToLimitOfNode[name]]));
  const costs = toBaseline(ratios);
  const tooMuch = () => [...costs].flatMap(([name, cost]) => (cost > most ? [name] : []));
  if (tooMuch().length > 0 && !options.smoke)
    for (const [name, cost] of toBaseline(await measured(tooMuch(), svc, other))) costs.set(name, Math.min(cost, costs.get(name)));
  console.log(
    isInHistory
      ? `In turns with the build of ${commit}.`
      : `Without a build of ${commit}, which is not in this clone or not wanted: compared by the limit of Node.js, with the figures of baseline.json.`,
  );
  console.log(
    table(
      ['CPU of a request', 'to the baseline', 'at most'],
      [...costs].map(([name, cost]) => [name, cost.toFixed(2), most]),
    ),
  );
  if (options.smoke || tooMuch().length === 0) return;
  console.error(`guard: costs more than it did: ${tooMuch().join(', ')}`);
  process.exitCode = 1;
}
