// `npm run bench`: measures svc and, where they are installed, nginx (nginx-extras), Apache mod_dav, Caddy and `rclone serve webdav`
// in the same run, interleaved; prints Markdown tables. Needs a quiet machine; `wrk` makes the load where it is installed.
//   node scripts/bench/run.mjs [--rounds N] [--only TEXT] [--smoke] [--write] [--against COMMIT]; then callout.mjs and webhooks.mjs, which have no peers
//   --only measures the workloads whose name has TEXT; --write puts the tables into docs/operate/performance.md;
//   --against measures the build of a commit in the same rounds, and what this one does for each that the other did
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildOfCommit, buildWithoutReadEvents } from './support/build-variant.mjs';
import { bulk, loader, throughput, timed } from './support/load.mjs';
import { machineLine, median, memoryMiB } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { Servers } from './support/servers.mjs';
import { failures, leftOut, table, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    smoke: { type: 'boolean' },
    write: { type: 'boolean' },
    against: { type: 'string' },
  },
});
const rounds = options.smoke ? 1 : Number(options.rounds);
const seconds = options.smoke ? 1 : 3;
const scale = options.smoke ? 64 : 1;
const entries = options.smoke ? [50, 100] : [1000, 10_000];
const gibibyte = 2 ** 30 / scale;

const zip = 'ZIP of 256 MiB, stored';

// What rclone asks for, the commonest client of servers without a desktop.
const propfindBody =
  '<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop><d:displayname/><d:getlastmodified/><d:getcontentlength/><d:resourcetype/><d:getcontenttype/></d:prop></d:propfind>';

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const home = join(folder, 'home');
fillHome();
const servers = new Servers(folder, home);
const measured = new Rounds({ rounds, only: options.only, isWarm: options.smoke });

function fillHome() {
  mkdirSync(join(home, 'zip'), { recursive: true });
  // Before they start: rclone remembers which folders there are.
  mkdirSync(join(home, 'put'));
  writeFileSync(join(home, 'small'), Buffer.alloc(1024, 'x'));
  writeFileSync(join(home, 'big'), Buffer.alloc(Math.min(2 ** 27, gibibyte), 'svc bench '));
  // What is a hole in the file comes from no disk, for every server alike.
  truncateSync(join(home, 'big'), gibibyte);
  for (const count of entries) {
    mkdirSync(join(home, `list-${count}`));
    // A kind of file that every server knows by its name: rclone opens files whose extension it does not know.
    for (let index = 0; index < count; index++) writeFileSync(join(home, `list-${count}`, `file number ${index}.png`), '');
  }
  // 256 MiB: large files, photos, and many small ones.
  const mixed = [...Array(2).fill(64 * 2 ** 20), ...Array(96).fill(2 ** 20), ...Array(3200).fill(10 * 2 ** 10)];
  for (const [index, bytes] of mixed.entries())
    writeFileSync(join(home, 'zip', `part-${index}.bin`), Buffer.alloc(Math.ceil(bytes / scale), String(index)));
}

async function start() {
  const svc = await servers.svc();
  const withBasic = { ...svc, name: 'svc, Basic', headers: svc.basicHeaders };
  const workers = await servers.svc({ workers: 2, name: 'svc, 2 workers' });
  const silent = await servers.svc({ name: 'svc, no events of reads', executable: await buildWithoutReadEvents(folder) });
  const against = options.against && buildOfCommit(options.against, folder);
  const before = against && (await servers.svc({ name: `svc at ${options.against}`, executable: against }));
  const starts = [];
  for (let round = 0; round < (options.smoke ? 1 : 7); round++) {
    const [one, limit] = [await servers.svc({ name: `svc ${round}` }), await servers.limit()];
    starts.push({ ms: one.startMs, pageMs: one.pageMs, miB: one.idleMiB, limitMs: limit.startMs, limitMiB: limit.idleMiB });
    for (const { child } of [one, limit]) child.kill('SIGTERM');
    if (!against) continue;
    const former = await servers.svc({ name: `former ${round}`, executable: against });
    Object.assign(starts.at(-1), { formerMs: former.startMs, formerPageMs: former.pageMs, formerMiB: former.idleMiB });
    former.child.kill('SIGTERM');
  }
  const limits = [await servers.limit(), await servers.limit({ processes: 2, name: 'limit, 2 processes' })];
  const peers = [await servers.nginx(), await servers.apache(), await servers.caddy(), await servers.rclone(), ...limits];
  return { svc, before, withBasic, workers, silent, starts, peers };
}

const { svc, before, withBasic, workers, silent, starts, peers } = await start().catch((error) => {
  servers.stop();
  throw error;
});
const [nginx, apache, caddy, rclone, limit, limitOfTwo] = peers;
let peakMiB;
try {
  const small = (server) => throughput(server, { path: server.at('small'), connections: 64, seconds, folder });
  await measured.measure(
    'GET 1 KiB, 64 connections',
    '/s',
    [svc, before, withBasic, silent, workers, nginx, apache, caddy, rclone, limit, limitOfTwo],
    small,
  );
  for (const streams of [1, 8])
    await measured.measure(
      `GET 1 GiB, ${streams} ${streams === 1 ? 'stream' : 'streams'}`,
      'MB/s',
      [svc, before, nginx, apache, caddy, rclone, limit],
      (server) => bulk(server, { path: server.at('big'), streams }),
    );
  const writers = [svc, before, nginx?.hasDav ? nginx : undefined, apache, rclone];
  await measured.measure('PUT 1 KiB, 32 connections', '/s', [...writers, workers, limit], (server) =>
    throughput(server, { path: server.at('put/file'), method: 'PUT', connections: 32, seconds, folder }),
  );
  await measured.measure('PUT 1 GiB', 'MB/s', [...writers, limit], (server) =>
    bulk(server, { method: 'PUT', path: server.at('put/big'), bodyBytes: gibibyte }),
  );
  const propfind = { method: 'PROPFIND', headers: { depth: '1', 'content-type': 'application/xml' }, body: propfindBody };
  for (const count of entries) {
    await measured.measure(`PROPFIND of ${count} entries`, 'ms', writers, (server) =>
      timed(server, { ...propfind, path: server.at(`list-${count}/`) }),
    );
    await measured.measure(`JSON listing of ${count} entries`, 'ms', [svc, before, nginx, caddy], (server) =>
      timed(server, { path: server.at(`list-${count}/`), headers: { accept: 'application/json' } }),
    );
    await measured.measure(`HTML listing of ${count} entries`, 'ms', [svc, before, apache, caddy, rclone], (server) =>
      timed(server, { path: server.at(`list-${count}/`), headers: { accept: 'text/html' } }),
    );
  }
  await measured.measure(zip, 'MB/s', [svc, before, limit], (server) =>
    bulk(server, { path: server.at('zip/'), headers: { accept: 'application/zip' } }),
  );
} finally {
  peakMiB = memoryMiB(svc.pid, 'VmHWM');
  servers.stop();
}
report();
// Servers that were told to end write a last time.
await new Promise((resolve) => setTimeout(resolve, 500));
rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
for (const name of ['callout', 'webhooks']) {
  if (!name.includes(options.only.toLowerCase())) continue;
  const args = [`scripts/bench/${name}.mjs`, ...(options.smoke ? ['--smoke'] : []), ...(options.write ? ['--write'] : [])];
  console.log('');
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}
process.exit(measured.faults.length > 0 ? 1 : 0);

/** What svc aims at: for each row the workload, the peer, and the least (or, for times, the most) of svc to one of the peer. */
function targets() {
  const get = 'GET 1 KiB, 64 connections';
  const large = entries.at(-1);
  return [
    ['GET 1 KiB with a session', get, svc, rclone, '≥', 4],
    ['GET 1 KiB with a session', get, svc, caddy, '≥', 0.65],
    ['GET 1 KiB, 2 workers', get, workers, caddy, '≥', 1.2, limitOfTwo],
    ['GET 1 KiB with Basic, to the session', get, withBasic, svc, '≥', 0.8],
    ['GET 1 KiB, to the same without events of reads', get, svc, silent, '≥', 0.85],
    ['GET 1 GiB, 1 stream', 'GET 1 GiB, 1 stream', svc, nginx, '≥', 0.9],
    ['GET 1 GiB, 8 streams', 'GET 1 GiB, 8 streams', svc, nginx, '≥', 0.9],
    ['PUT 1 KiB, on disk before the reply', 'PUT 1 KiB, 32 connections', svc, rclone, '≥', 1],
    ['PUT 1 KiB, on disk before the reply', 'PUT 1 KiB, 32 connections', svc, apache, '≥', 1],
    ['PUT 1 GiB, on disk before the reply', 'PUT 1 GiB', svc, nginx, '≥', 1],
    [`PROPFIND of ${large} entries, time`, `PROPFIND of ${large} entries`, svc, apache, '≤', 0.4],
    [`JSON listing of ${large} entries, time`, `JSON listing of ${large} entries`, svc, caddy, '≤', 0.6],
  ];
}

function report() {
  const aimHead = ['svc', 'to', 'aim', 'measured', 'met', 'limit of Node.js'];
  const aims = targets().flatMap(([what, workload, mine, theirs, sense, aim, atBest = limit]) => {
    const found = measured.ratio(workload, mine, theirs);
    // A peer that is not installed, or cannot do this (Debian's nginx-core has no PUT that makes folders and no PROPFIND).
    if (found === undefined) return [];
    const isMet = sense === '≥' ? found >= aim : found <= aim;
    const limitFound = peers.includes(theirs) ? measured.ratio(workload, atBest, theirs) : undefined;
    return [[what, theirs.name, `${sense} ${aim}`, found.toFixed(2), isMet ? 'yes' : '**no**', limitFound?.toFixed(2) ?? '–']];
  });
  const middle = (member) => median(starts.map((one) => one[member]));
  for (const [what, sense, aim, unit, found, limitFound] of [
    ['ZIP, stored', '≥', 2000, 'MB/s', measured.median(zip, svc), measured.median(zip, limit)],
    ['start to the first reply', '<', 150, 'ms', middle('ms'), middle('limitMs')],
    ['start to the first page', '<', 150, 'ms', middle('pageMs'), middle('limitMs')],
    ['memory at rest (RSS), a page was asked for', '<', 80, 'MiB', middle('miB'), middle('limitMiB')],
  ]) {
    if (found === undefined) continue;
    const isMet = sense === '≥' ? found >= aim : found < aim;
    const text = (value) => `${Math.round(value).toLocaleString('en')} ${unit}`;
    aims.push([what, '–', `${sense} ${text(aim)}`, text(found), isMet ? 'yes' : '**no**', text(limitFound)]);
  }
  const versions = peers.flatMap((peer) => (peer?.version ? [`${peer.name} ${peer.version}`] : []));
  const commit = execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
  const text = [
    `${machineLine()}; load by ${loader};`,
    `${versions.join(', ')}; svc at ${commit}.`,
    `Medians of ${rounds} rounds [least–most], CPU of the server for each request or GiB.`,
    ...leftOut(servers.missing),
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    table(aimHead, aims),
    '',
    ...comparison(),
    `Memory of svc at its peak over all of this: ${peakMiB.toFixed(0)} MiB.`,
  ].join('\n');
  console.log(text);
  if (!options.write) return;
  writeBetween('docs/operate/performance.md', 'bench', text);
}

/** What this build does for each that the one of `--against` did: figures, and CPU where it was measured. */
function comparison() {
  if (!before) return [];
  const rows = measured
    .workloads()
    .flatMap((workload) =>
      measured.ratio(workload, svc, before) === undefined
        ? []
        : [[workload, ...['value', 'cpuUs', 'cpuS'].map((member) => measured.ratio(workload, svc, before, member)?.toFixed(2) ?? '–')]],
    );
  const start = (mine, theirs) => (median(starts.map((one) => one[mine])) / median(starts.map((one) => one[theirs]))).toFixed(2);
  rows.push(
    ['start to the first reply, time', start('ms', 'formerMs'), '–', '–'],
    ['start to the first page, time', start('pageMs', 'formerPageMs'), '–', '–'],
  );
  rows.push(['memory at rest', start('miB', 'formerMiB'), '–', '–']);
  return [`This build for each of ${before.name}:`, '', table(['workload', 'figure', 'CPU a request', 'CPU'], rows), ''];
}
