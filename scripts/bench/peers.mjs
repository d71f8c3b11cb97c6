// Measures svc beside nginx (nginx-extras), Apache mod_dav, Caddy and `rclone serve webdav`, those that are installed, and beside the limit
// of Node.js, in the same run, interleaved; prints a table of each group. `wrk` makes the load where it is installed.
//   node scripts/bench/peers.mjs [GROUP…] [--rounds N] [--only TEXT] [--smoke] [--write] [--against COMMIT]
//   groups: downloads, uploads, listings, archives, connections, start; --only measures the workloads whose name has TEXT;
//   --write puts the tables of the groups that were measured whole into docs/operate/performance.md;
//   --against measures the build of a commit in the same rounds, and what this one does for each that the other did
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Fleet, names } from './support/fleet.mjs';
import { loader } from './support/load.mjs';
import { machineLine, memoryMiB } from './support/machine.mjs';
import { groupNames, peerGroups } from './support/peer-groups.mjs';
import { Rounds } from './support/rounds.mjs';
import { Servers, stopAndRemove } from './support/servers.mjs';
import { failures, leftOut, table, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    smoke: { type: 'boolean' },
    write: { type: 'boolean' },
    against: { type: 'string' },
  },
});
const rounds = options.smoke ? 1 : Number(options.rounds);
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const home = join(folder, 'home');
mkdirSync(home);
writeFileSync(join(home, 'small'), Buffer.alloc(1024, 'x'));
const servers = new Servers(folder, home);
const fleet = new Fleet(servers, folder, options);
const groups = peerGroups({ isSmoke: options.smoke, folder, home, withAnother: (name, look) => fleet.withAnother(name, look) });
/** With whom the limit of Node.js is compared, too. */
const foreign = [null, names.nginx, names.apache, names.caddy, names.rclone];
const isAsked = ({ name }) => name.toLowerCase().includes(options.only.toLowerCase());
const chosen = (positionals.length > 0 ? positionals : groupNames).filter((name) => groups[name].workloads.some(isAsked));
let hasFaults = false;
try {
  // Before any server starts: some remember which folders there are.
  for (const name of chosen) groups[name].fill();
  for (const name of chosen) await run(name, groups[name]);
} finally {
  await stopAndRemove(servers, folder);
}
process.exit(hasFaults ? 1 : 0);

async function run(group, { workloads, aims, mostRounds = rounds }) {
  const asked = workloads.filter(isAsked);
  const turns = Math.min(rounds, mostRounds);
  const measured = new Rounds({ rounds: turns, isWarm: options.smoke || mostRounds < rounds });
  for (const { name, unit, on, action } of asked) await measured.measure(name, unit, await fleet.all(on), action);
  hasFaults ||= measured.faults.length > 0;
  const running = await fleet.started();
  const versions = running.flatMap(({ name, version }) => (version ? [`${name} ${version}`] : []));
  const commit = execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
  const svc = running.find(({ name }) => name === names.svc);
  const text = [
    `${machineLine()};`,
    `load by ${[loader, ...versions].join(', ')}; svc at ${commit}.`,
    `Medians of ${turns} ${turns === 1 ? 'round' : 'rounds'} [least–most], CPU of the server for each request or GiB.`,
    ...leftOut([...new Set(servers.missing)]),
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    ...aimTable(measured, aims),
    ...comparison(measured, asked),
    `Memory of svc at its peak so far: ${memoryMiB(svc.pid, 'VmHWM').toFixed(0)} MiB.`,
  ].join('\n');
  console.log(`\n## ${group}\n\n${text}`);
  if (options.write && asked.length === workloads.length) writeBetween('docs/operate/performance.md', `bench-${group}`, text);
}

/** What svc aims at, and whether it gets there; nothing for a peer that is not installed or cannot do this. */
function aimTable(measured, aims) {
  const rows = aims.flatMap(([workload, mine, peer, sense, aim, member = 'value']) => {
    const figure = (name) =>
      peer === null ? measured.median(workload, { name }, member) : measured.ratio(workload, { name }, { name: peer }, member);
    const found = figure(mine);
    if (found === undefined) return [];
    const isMet = sense === '≥' ? found >= aim : found <= aim;
    const text = (value) => (value === undefined ? '–' : peer === null ? Math.round(value).toLocaleString('en') : value.toFixed(2));
    const ofLimit = foreign.includes(peer) ? text(figure(names.limit)) : '–';
    const what = `${workload}${member === 'cpuUs' ? ', CPU (µs)' : ''}`;
    return [[what, mine, peer ?? '–', `${sense} ${aim.toLocaleString('en')}`, text(found), isMet ? 'yes' : '**no**', ofLimit]];
  });
  return rows.length > 0 ? [table(['workload', 'of', 'to', 'aim', 'measured', 'met', 'limit of Node.js'], rows), ''] : [];
}

/** What this build does for each that the one of `--against` did: figures, and CPU where it was measured. */
function comparison(measured, workloads) {
  if (options.against === undefined) return [];
  const ratio = (name, member) => measured.ratio(name, { name: names.svc }, { name: names.former }, member)?.toFixed(2) ?? '–';
  const rows = workloads.map(({ name }) => [name, ...['value', 'cpuUs', 'cpuS'].map((member) => ratio(name, member))]);
  return [`This build for each of ${options.against}:`, '', table(['workload', 'figure', 'CPU a request', 'CPU a GiB'], rows), ''];
}
