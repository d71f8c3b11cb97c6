// https beside nginx and Caddy, those that are installed, interleaved in one run: small files by HTTP/1.1 and HTTP/2 (h2load), large
// files each way (curl), handshakes with and without resumption (openssl), memory of idle connections.
//   node scripts/bench/tls.mjs [--rounds N] [--only TEXT] [--smoke] [--write] [--against COMMIT]
//   --only measures the workloads whose name has TEXT; --against measures the build of a commit in the same rounds;
//   --write puts the tables into docs/operate/performance.md
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../installed.mjs';
import { against, commitHash, makeFolders, medians, only, publish, readOptions } from './support/benchmark.mjs';
import { buildOfCommit } from './support/build-variant.mjs';
import { memoryOfConnections } from './support/connections.mjs';
import { machineLine, versionOf } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { failures, leftOut, table, verdict } from './support/table.mjs';
import { handshakes, small, transfer } from './support/tls-load.mjs';
import { TlsServers } from './support/tls-servers.mjs';

const { rounds, ...options } = readOptions(5, { only, against });
const [requests, seconds, idle] = options.smoke ? [500, 1, 20] : [40_000, 3, 10_000];
const gibibyte = 2 ** 30 / (options.smoke ? 64 : 1);

const { folder, home } = makeFolders();
for (const path of [join(home, 'big'), join(folder, 'upload')]) {
  writeFileSync(path, Buffer.alloc(Math.min(2 ** 27, gibibyte), 'svc bench '));
  truncateSync(path, gibibyte);
}
const servers = new TlsServers(folder, home);
const measured = new Rounds({ rounds, only: options.only, isWarm: options.smoke });
const http1 = 'GET 1 KiB, HTTP/1.1, 64 connections';
const http2 = 'GET 1 KiB, HTTP/2, 8 connections of 16 streams';
const get = 'GET 1 GiB';
const put = 'PUT 1 GiB';
const full = 'handshakes, full';
const resumed = 'handshakes, resumed';
const withRsa = 'handshakes, full, with a key of RSA 2048';
const connections = `memory of a connection, ${idle} idle`;
let svc;
let before;
let peers = [];
try {
  svc = await servers.svc();
  before = options.against && (await servers.svc({ name: `svc at ${options.against}`, executable: buildOfCommit(options.against) }));
  peers = [await servers.nginx(), await servers.caddy()];
  await measure();
} finally {
  await stopAndRemove(servers, folder);
}
report();
process.exit(measured.faults.length > 0 ? 1 : 0);

async function measure() {
  const all = [svc, before, ...peers].filter(Boolean);
  const isThere = (program, name = program) => isInstalled(program) || void servers.missing.push(name);
  if (isThere('h2load')) {
    await measured.measure(http1, '/s', all, (server) => small(server, { requests, isHttp1: true }));
    await measured.measure(http2, '/s', all, (server) => small(server, { requests }));
  }
  if (isThere('curl')) {
    await measured.measure(get, 'MB/s', all, (server) => transfer(server, { path: 'big', bytes: gibibyte }));
    // Caddy takes no uploads.
    const writers = all.filter(({ takesUploads }) => takesUploads);
    await measured.measure(put, 'MB/s', writers, (server) =>
      transfer(server, { path: 'put', bytes: gibibyte, upload: join(folder, 'upload') }),
    );
  }
  if (isThere('openssl')) {
    await measured.measure(full, '/s', all, (server) => handshakes(server, { seconds }));
    await measured.measure(withRsa, '/s', [await servers.svc({ hasRsa: true })], (server) => handshakes(server, { seconds }));
    await measured.measure(resumed, '/s', all, (server) => handshakes(server, { seconds, isResumed: true }));
  }
  await measured.measure(connections, 'KiB', all, (server) =>
    memoryOfConnections(server, { kind: 'idle', path: server.at('small'), count: idle, isTls: true }),
  );
}

function report() {
  const [nginx, caddy] = peers;
  const aims = [
    [http1, caddy, '≥', 1],
    [http1, caddy, '≤', 1, 'cpuUs'],
    [http2, caddy, '≥', 1],
    [http2, caddy, '≤', 1, 'cpuUs'],
    [get, nginx, '≥', 0.9],
    [put, nginx, '≥', 0.9],
    [full, caddy, '≥', 0.8],
  ].flatMap(([workload, peer, sense, aim, member = 'value']) => {
    const found = measured.ratio(workload, svc, peer, member);
    return found === undefined ? [] : [[`${workload}${member === 'value' ? '' : ', CPU'}`, peer.name, sense, aim, found]];
  });
  const twice = measured.median(resumed, svc) / measured.median(full, svc);
  if (!Number.isNaN(twice)) aims.push([resumed, 'full ones', '≥', 2, twice]);
  const perConnection = measured.median(connections, svc);
  if (perConnection !== undefined) aims.push([`${connections}, KiB`, '–', '≤', 58.6, perConnection]);
  const rows = aims.map(([what, peer, sense, aim, found]) => [what, peer, `${sense} ${aim}`, found.toFixed(2), verdict(found, sense, aim)]);
  const versions = peers.flatMap((peer) => (peer ? [`${peer.name} ${peer.version}`] : []));
  const text = [
    `${machineLine()};`,
    `load by h2load ${versionOf('h2load', '--version')}, curl, openssl;`,
    `${[...versions, `svc at ${commitHash()}`].join(', ')}; a certificate with ECDSA P-256 where nothing else is said.`,
    `${medians(rounds)}, CPU of the server for each request, handshake or GiB.`,
    ...leftOut([...new Set(servers.missing)]),
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    table(['svc', 'to', 'aim', 'measured', 'met'], rows),
    ...(before ? ['', ...measured.comparison(svc.name, before.name, options.against)] : []),
  ].join('\n');
  publish('tls', text, options.write);
}
