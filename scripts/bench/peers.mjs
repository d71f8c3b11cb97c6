// Measures svc beside nginx (nginx-extras), Apache mod_dav, Caddy and `rclone serve webdav`, those that are installed, and beside the limit
// of Node.js, in the same run, interleaved; prints a table of each group. `wrk` makes the load where it is installed.
//   node scripts/bench/peers.mjs [GROUP…] [--rounds N] [--only TEXT] [--smoke] [--write] [--against COMMIT]
//   groups: downloads, uploads, listings, archives, connections, start; --only measures the workloads whose name has TEXT;
//   --write puts the tables of the groups that were measured whole into docs/operate/performance.md;
//   --against measures the build of a commit in the same rounds, and what this one does for each that the other did
import { against, commitHash, makeFolders, medians, only, publish, readOptions } from './support/benchmark.mjs';
import { Fleet, names } from './support/fleet.mjs';
import { loader } from './support/load.mjs';
import { machineLine, memoryMiB } from './support/machine.mjs';
import { groupNames, peerGroups } from './support/peer-groups.mjs';
import { Rounds } from './support/rounds.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { Servers } from './support/servers.mjs';
import { failures, leftOut, table, verdict } from './support/table.mjs';

const { rounds, positionals, ...options } = readOptions(5, { only, against }, true);
const { folder, home } = makeFolders();
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
  const svc = running.find(({ name }) => name === names.svc);
  const text = [
    `${machineLine()};`,
    `load by ${[loader, ...versions].join(', ')}; svc at ${commitHash()}.`,
    `${medians(turns)}, CPU of the server for each request or GiB.`,
    ...leftOut([...new Set(servers.missing)]),
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    ...aimTable(measured, aims),
    ...(options.against ? [...measured.comparison(names.svc, names.former, options.against), ''] : []),
    `Memory of svc at its peak so far: ${memoryMiB(svc.pid, 'VmHWM').toFixed(0)} MiB.`,
  ].join('\n');
  console.log(`\n## ${group}\n`);
  publish(group, text, options.write && asked.length === workloads.length);
}

/** What svc aims at, and whether it gets there; nothing for a peer that is not installed or cannot do this. */
function aimTable(measured, aims) {
  const rows = aims.flatMap(([workload, mine, peer, sense, aim, member = 'value']) => {
    const figure = (name) =>
      peer === null ? measured.median(workload, { name }, member) : measured.ratio(workload, { name }, { name: peer }, member);
    const found = figure(mine);
    if (found === undefined) return [];
    const text = (value) => (value === undefined ? '–' : peer === null ? Math.round(value).toLocaleString('en') : value.toFixed(2));
    const ofLimit = foreign.includes(peer) ? text(figure(names.limit)) : '–';
    const what = `${workload}${member === 'cpuUs' ? ', CPU (µs)' : ''}`;
    return [[what, mine, peer ?? '–', `${sense} ${aim.toLocaleString('en')}`, text(found), verdict(found, sense, aim), ofLimit]];
  });
  return rows.length > 0 ? [table(['workload', 'of', 'to', 'aim', 'measured', 'met', 'limit of Node.js'], rows), ''] : [];
}
