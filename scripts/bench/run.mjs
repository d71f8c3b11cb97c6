// `npm run bench`: runs the benchmarks, one after the other; each prints Markdown tables, and says in its first lines what it measures.
//   node scripts/bench/run.mjs [PART…] [--only TEXT] [--rounds N] [--against COMMIT] [--smoke] [--write]
//   without a part all of them; --only: the parts whose name has TEXT, or else the workloads beside peers whose name has it;
//   --against measures the build of a commit in the same rounds (beside peers); --smoke only tries whether they work;
//   --write puts the tables into docs/operate/performance.md
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { groupNames } from './support/peer-groups.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    against: { type: 'string' },
    smoke: { type: 'boolean' },
    write: { type: 'boolean' },
  },
});

/** What runs each part beside those of the comparison with peers. */
const others = {
  tls: 'tls.mjs',
  callout: 'callout.mjs',
  webhooks: 'webhooks.mjs',
  sftp: 'ssh.mjs',
  growth: 'growth.mjs',
  memory: 'memory.mjs',
  hostile: 'hostile.mjs',
  resumable: 'resumable.mjs',
  pages: 'pages.mjs',
  journal: 'journal.mjs',
  console: 'console.mjs',
};
const names = [...groupNames, ...Object.keys(others)];
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`bench: no part ${unknown}; there are ${names.join(', ')}`);
  process.exit(2);
}
const text = options.only?.toLowerCase() ?? '';
const asked = positionals.length > 0 ? positionals : names;
const named = asked.filter((name) => name.includes(text));
const isOfWorkloads = named.length === 0;
const chosen = isOfWorkloads ? asked : named;

let status = 0;
function run(file, ...args) {
  if (options.rounds !== undefined) args.push('--rounds', options.rounds);
  for (const flag of ['smoke', 'write']) if (options[flag]) args.push(`--${flag}`);
  status ||= spawnSync(process.execPath, [`scripts/bench/${file}`, ...args], { stdio: 'inherit' }).status ?? 1;
}

const groups = chosen.filter((name) => groupNames.includes(name));
if (groups.length > 0) {
  const only = isOfWorkloads ? ['--only', options.only] : [];
  run('peers.mjs', ...groups, ...only, ...(options.against === undefined ? [] : ['--against', options.against]));
}
if (!isOfWorkloads)
  for (const [name, file] of Object.entries(others))
    if (chosen.includes(name)) run(file, ...(name === 'tls' && options.against ? ['--against', options.against] : []));
process.exit(status);
