// Resumable uploads of svc, by the draft and by tus, beside its plain PUT, @tus/server with its file store, and what node:http alone can do for
// the same promises, interleaved in one run: 1 GiB in one piece and in pieces of 8 MiB, and the memory that a server takes while one, or many,
// are under way, and when these bring four times as much.
//   node scripts/bench/resumable.mjs [--rounds N] [--only TEXT] [--smoke] [--write]
//   --only measures the workloads whose name has TEXT; --write puts the tables into docs/operate/performance.md
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commitHash, makeFolders, medians, only, publish, readOptions, remove } from './support/benchmark.mjs';
import { bulk } from './support/load.mjs';
import { cpuSeconds, machineLine, memoryMiB } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { Servers } from './support/servers.mjs';
import { failures, table } from './support/table.mjs';

const { rounds, ...options } = readOptions(3, { only });
const totalBytes = 2 ** 30 / (options.smoke ? 64 : 1);
const pieceBytes = 2 ** 23 / (options.smoke ? 64 : 1);
const manyUploads = options.smoke ? 20 : 200;
const sampleMs = 50;

const { folder, home } = makeFolders();
const servers = new Servers(folder, home);
const measured = new Rounds({ rounds, only: options.only, isWarm: true });
const run = promisify(execFile);

/** Removes what the round before wrote, and lets the disk finish with it, so that nobody pays for another. */
function clean() {
  remove(join(home, 'put'));
  mkdirSync(join(home, 'put'));
  execFileSync('sync');
}

/** One upload, or several at once that bring as much together. */
async function transfer(server, { protocol, collection = server.uploads }, { bytes = totalBytes, piece = bytes, streams = 1 }) {
  clean();
  if (protocol === 'put') return bulk(server, { method: 'PUT', path: server.at('put/plain'), bodyBytes: bytes });
  const target = protocol === 'draft' ? server.at('put/draft') : collection;
  const bodyBytes = Math.ceil(bytes / streams);
  const order = { port: server.port, headers: server.headers, protocol, target, bodyBytes, pieceBytes: piece, streams };
  const before = cpuSeconds(server.pid);
  const script = new URL('./support/processes/resumable-transfer.mjs', import.meta.url).pathname;
  const { ms } = JSON.parse((await run(process.execPath, [script, JSON.stringify(order)])).stdout);
  return { value: bytes / 1e6 / (ms / 1000), cpuS: (cpuSeconds(server.pid) - before) / (bytes / 2 ** 30) };
}

const start = {
  svc: async (of) => ({ ...(await of.svc()), uploads: '/home/__svc__/uploads/' }),
  peer: async (of) => ({ ...(await of.tus()), uploads: '/files' }),
  limit: async (of) => ({ ...(await of.limit()), uploads: '/uploads/' }),
};

/** The ways to upload that are compared, and what starts the server of each. */
const ways = [
  { name: 'svc, PUT', of: 'svc', protocol: 'put' },
  { name: 'svc, draft', of: 'svc', protocol: 'draft' },
  { name: 'svc, tus', of: 'svc', protocol: 'tus' },
  { name: '@tus/server', of: 'peer', protocol: 'tus' },
  { name: 'limit of Node.js', of: 'limit', protocol: 'tus' },
];
const [put, draft, tus, peer, limit] = ways;
const unsynced = { name: 'limit, pieces not synced', of: 'limit', protocol: 'tus', collection: '/unsynced/' };
const inOne = '1 GiB in one piece';
const inPieces = '1 GiB in pieces of 8 MiB';
/** What is under way while memory is measured: so many GiB, by so many uploads. */
const memoryOf = ({ gib, count }) => `peak memory, ${gib} GiB by ${count} at once`;
const byOne = { gib: 1, count: 1 };
const byMany = { gib: 1, count: manyUploads };
const moreByMany = { gib: 4, count: manyUploads };

/** The highest memory (RSS) of a server that was just started, while so many uploads are under way. */
async function memory(way, { gib, count }) {
  const alone = new Servers(folder, home);
  let peakMiB = 0;
  let timer;
  try {
    const server = await start[way.of](alone);
    timer = setInterval(() => {
      peakMiB = Math.max(peakMiB, memoryMiB(server.pid));
    }, sampleMs);
    await transfer(server, way, { bytes: gib * totalBytes, streams: count });
    return { value: peakMiB };
  } finally {
    clearInterval(timer);
    await alone.stop();
  }
}

let version;
try {
  const running = { svc: await start.svc(servers), peer: await start.peer(servers), limit: await start.limit(servers) };
  version = running.peer.version;
  await measured.measure(inOne, 'MB/s', ways, (way) => transfer(running[way.of], way, {}));
  await measured.measure(inPieces, 'MB/s', [...ways, unsynced], (way) => transfer(running[way.of], way, { piece: pieceBytes }));
  for (const load of [byOne, byMany, moreByMany])
    await measured.measure(memoryOf(load), 'MiB', [draft, tus, peer, limit], (way) => memory(way, load));
} finally {
  await stopAndRemove(servers, folder);
}
report();
process.exit(measured.faults.length > 0 ? 1 : 0);

/** What svc aims at, and whether it gets there. */
function aims() {
  const ofSpeed = [
    ...[draft, tus].flatMap((way) => [
      [inOne, way, put, 0.95],
      [inPieces, way, put, 0.85],
    ]),
    ...[inOne, inPieces].map((workload) => [workload, tus, peer, 1.5]),
  ].map(([workload, mine, theirs, aim]) => [
    workload,
    mine,
    theirs.name,
    `≥ ${aim}`,
    measured.ratio(workload, mine, theirs),
    (found) => found >= aim,
    measured.ratio(workload, limit, theirs),
    measured.ratio(workload, unsynced, theirs),
  ]);
  const ofMemory = [
    { load: byMany, base: byOne, to: 'with 1', aim: 1.25 },
    { load: moreByMany, base: byMany, to: 'with 1 GiB', aim: 1.05 },
  ].flatMap(({ load, base, to, aim }) =>
    [draft, tus].map((way) => {
      const growth = (of) => measured.median(memoryOf(load), of) / measured.median(memoryOf(base), of);
      return [memoryOf(load), way, to, `≤ ${aim}`, growth(way), (found) => found <= aim, growth(limit)];
    }),
  );
  return [...ofSpeed, ...ofMemory].flatMap(([workload, mine, theirs, aim, found, isMet, ...limits]) => {
    const ofLimits = [0, 1].map((index) => limits[index]?.toFixed(2) ?? '–');
    return found > 0 ? [[workload, mine.name, theirs, aim, found.toFixed(2), isMet(found) ? 'yes' : '**no**', ...ofLimits]] : [];
  });
}

function report() {
  const text = [
    `${machineLine()};`,
    `@tus/server ${version}; svc at ${commitHash()}.`,
    `${medians(rounds)}, CPU of the server for each GiB.`,
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    table(['workload', 'of', 'to', 'aim', 'measured', 'met', limit.name, unsynced.name], aims()),
  ].join('\n');
  publish('resumable', text, options.write);
}
