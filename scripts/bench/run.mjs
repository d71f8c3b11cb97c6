// `npm run bench`: measures svc and the other servers that are installed (support/peers.mjs), alternating in one run, and prints a table
// for each part. A part (parts/) defines its files, its workloads, the servers that run them, and how it gets its figures.
//   node scripts/bench/run.mjs [PART…] [--only TEXT] [--rounds N] [--against COMMIT] [--node NODE]… [--binary] [--smoke] [--write]
//   without a part, all parts run; --only selects the parts whose name contains TEXT or, if there are none, the workloads with such a name;
//   --against measures the build of a commit in the same rounds; --binary measures the binary with Node.js inside;
//   --node adds another Node.js to the part `memory`;
//   --smoke only checks that everything works; --write puts the table of each part that was measured completely into
//   docs/operate/performance.md, and the table of `pages` into docs/design/costs.md
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { against, executable, makeFolders } from './support/benchmark.mjs';
import { buildOfCommit } from './support/build-variant.mjs';
import { endAll } from './support/exchange.mjs';
import { Group } from './support/group.mjs';
import { loader } from './support/load.mjs';
import { machineLine } from './support/machine.mjs';
import { svc } from './support/peers.mjs';
import { Rounds } from './support/rounds.mjs';
import { failures, leftOut, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const text = { type: 'string' };
const flag = { type: 'boolean' };
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: text,
    rounds: text,
    against,
    node: { type: 'string', multiple: true, default: [] },
    binary: flag,
    smoke: flag,
    write: flag,
  },
});

const files = {
  ...Object.fromEntries(['downloads', 'uploads', 'listings', 'archive', 'connections', 'start'].map((name) => [name, 'http'])),
  ...Object.fromEntries(
    ['tls', 'sftp', 'callout', 'tokens', 'webhooks', 'resumable', 'nodes', 'memory', 'journal', 'console', 'pages', 'inspections'].map(
      (name) => [name, name],
    ),
  ),
};
const unknown = positionals.find((name) => !(name in files));
if (unknown !== undefined) {
  console.error(`bench: no part ${unknown}; there are ${Object.keys(files).join(', ')}`);
  process.exit(2);
}
const only = options.only?.toLowerCase() ?? '';
const asked = positionals.length > 0 ? positionals : Object.keys(files);
const named = asked.filter((name) => name.includes(only));
const isOfWorkloads = named.length === 0;
const builds = [{ name: 'svc', executable }];
if (options.against) builds.push({ name: `svc at ${options.against}`, executable: buildOfCommit(options.against) });

if (options.binary) {
  const { makeBinary } = await import('../packages/make-binary.mjs');
  const { thisPlatform } = await import('../packages/node-binaries.mjs');
  const path = join(process.cwd(), '.cache/bench-binary');
  await makeBinary(thisPlatform, { path, isCompiled: true });
  builds.push({ name: 'svc, binary', executable, binary: path });
}

let hasFaults = false;
for (const name of isOfWorkloads ? asked : named) await run(name);
process.exit(hasFaults ? 1 : 0);

async function run(name) {
  const { default: make } = await import(`./parts/${files[name]}.mjs`);
  const { folder, home, disk, clear } = makeFolders(['put']);
  const group = new Group(folder, home);
  const isSmoke = options.smoke ?? false;
  const gibibyte = 2 ** 30 / (isSmoke ? 64 : 1);
  const bench = { part: name, isSmoke, seconds: isSmoke ? 1 : 3, gibibyte, folder, home, group, builds, nodes: options.node, fillBig };
  /** Creates a large file. Most of it is sparse, so that no server needs disk access to read it. */
  function fillBig(path = join(home, 'big')) {
    writeFileSync(path, Buffer.alloc(Math.min(2 ** 27, gibibyte), 'svc bench '));
    truncateSync(path, gibibyte);
  }
  let part;
  try {
    part = await make(bench);
    const isAsked = ({ figures }) => !isOfWorkloads || Object.keys(figures).some((one) => one.toLowerCase().includes(only));
    const all = part.workloads.map(({ name: one, unit, figures = { [one]: unit }, ...more }) => ({ figures, ...more }));
    const workloads = all.filter(isAsked);
    if (workloads.length === 0) return;
    const rounds = isSmoke ? 1 : Math.min(Number(options.rounds ?? part.rounds ?? 3), part.maxRounds ?? Number.POSITIVE_INFINITY);
    const measured = new Rounds({ rounds, isWarm: isSmoke || part.isWarm });
    // This must happen before any server starts, because some servers remember which folders exist.
    await part.fill?.();
    const own = new Map(['http', 'https', 'ssh'].map((scheme) => [scheme, builds.map((build) => svc({ ...build, scheme }))]));
    for (const { figures, scheme = 'http', can, on, action } of workloads) {
      const servers = on ? await on() : await group.all(own.get(scheme), scheme, can);
      if (servers.length > 0) await measured.measure(figures, servers, action);
    }
    hasFaults ||= measured.faults.length > 0;
    const hash = execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
    const lines = [
      `${machineLine(disk)};`,
      `${[part.load ?? loader, ...(await group.versions())].join(', ')}; svc at ${hash}.`,
      `${rounds === 1 ? '1 round' : `Medians of ${rounds} rounds`}${part.each ? `, ${part.each}` : ''}.`,
      ...leftOut([...group.missing, ...(part.missing ?? [])]),
      ...failures(measured.faults),
      '',
      measured.table(),
      ...(options.against ? ['', ...measured.comparison(builds[0].name, builds[1].name, options.against)] : []),
    ];
    console.log(`\n## ${name}\n\n${lines.join('\n')}`);
    if (options.write && !isSmoke && workloads.length === all.length)
      writeBetween(name === 'pages' ? 'docs/design/costs.md' : 'docs/operate/performance.md', `bench-${name}`, lines.join('\n'));
  } finally {
    await part?.stop?.();
    await group.stop();
    await endAll();
    clear();
  }
}
