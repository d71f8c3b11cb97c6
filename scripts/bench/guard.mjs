// Checks whether requests cost more CPU than before. Continuous integration runs this check, so that a change that makes svc slower is
// noticed. It compares this build with the build of the commit in baseline.json. If the clone lacks that commit, git fetches it. Short
// rounds of a few workloads alternate between the two builds, so that the machine and other programs have little influence. If a workload
// costs too much, it is measured once more before the check fails.
//   node scripts/bench/guard.mjs [--against COMMIT] [--smoke] [--write]
//   --against uses another commit as the baseline, to find the change that costs more; --smoke compares this build with itself;
//   --write makes HEAD the baseline
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { against, executable, fillFolder, makeFolders } from './support/benchmark.mjs';
import { buildOfCommit } from './support/build-variant.mjs';
import { Group } from './support/group.mjs';
import { throughput } from './support/load.mjs';
import { svc } from './support/peers.mjs';
import { Rounds } from './support/rounds.mjs';
import { table } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { against, smoke: { type: 'boolean' }, write: { type: 'boolean' } } });
const baselinePath = 'scripts/bench/baseline.json';
/** Maximum CPU time of a request relative to the baseline. On a busy machine, smaller differences cannot be detected. */
const highestRatio = 1.35;

const git = (...args) => spawnSync('git', args, { encoding: 'utf8' });
if (options.write) {
  writeFileSync(baselinePath, `${JSON.stringify({ commit: git('rev-parse', 'HEAD').stdout.trim() }, null, 2)}\n`);
  process.exit();
}

function formerBuild(commit) {
  if (options.smoke) return executable;
  const isHere = () => git('cat-file', '-e', `${commit}^{commit}`).status === 0;
  if (!isHere()) git('fetch', '--quiet', '--depth=1', 'origin', commit);
  if (isHere()) return buildOfCommit(commit);
  console.error(
    `guard: this clone has no commit ${commit}, and git could not fetch it from origin: fetch the history (git fetch --unshallow).`,
  );
  return process.exit(1);
}

const commit = options.against ?? JSON.parse(readFileSync(baselinePath, 'utf8')).commit;
const former = formerBuild(commit);
const { folder, home, disk, clear } = makeFolders(['put']);
fillFolder(join(home, 'list'), options.smoke ? 20 : 1000);

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

const group = new Group(folder, home);
try {
  await judge(await group.all([svc(), svc({ name: 'svc before', executable: former })]));
} finally {
  await group.stop();
  clear();
}

/** Measures some workloads. @returns for each workload, the CPU time of a request relative to the baseline */
async function measured(some, [mine, before]) {
  const turns = new Rounds({ rounds: options.smoke ? 1 : 3, isWarm: options.smoke });
  for (const name of some) await turns.measure({ [name]: '/s' }, [mine, before], workloads[name]);
  if (turns.faults.length > 0) throw new Error(turns.faults.join('\n'));
  return new Map(some.map((name) => [name, turns.ratio(name, mine, before, 'cpuUs')]));
}

/**
 * Prints the CPU time of each workload relative to the baseline. Workloads that cost too much are measured again, and the smaller figure
 * counts.
 */
async function judge(servers) {
  const costs = await measured(Object.keys(workloads), servers);
  const tooMuch = () => [...costs].flatMap(([name, cost]) => (cost > highestRatio ? [name] : []));
  if (tooMuch().length > 0 && !options.smoke)
    for (const [name, cost] of await measured(tooMuch(), servers)) costs.set(name, Math.min(cost, costs.get(name)));
  console.log(`In turns with the build of ${options.smoke ? 'these sources' : commit}, on ${disk}.`);
  console.log(
    table(
      ['workload', 'CPU relative to the baseline', 'at most'],
      [...costs].map(([name, cost]) => [name, cost.toFixed(2), highestRatio]),
    ),
  );
  if (options.smoke || tooMuch().length === 0) return;
  console.error(`guard: requests cost more CPU than in the baseline: ${tooMuch().join(', ')}`);
  process.exitCode = 1;
}
