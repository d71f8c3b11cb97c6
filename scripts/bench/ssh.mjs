// SFTP of svc beside OpenSSH's sshd and `rclone serve sftp`, those that are installed, interleaved in one run: large files with both
// ciphers, lftp, scp, many small files, a listing; CPU of a handshake; memory of idle connections and of clients that do not read.
//   node scripts/bench/ssh.mjs [--rounds N] [--only TEXT] [--folder FOLDER] [--smoke] [--write]
//   --only measures the workloads whose name has TEXT; FOLDER lies on the disk to be measured; --write puts the tables into
//   docs/operate/performance.md
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../installed.mjs';
import { commitHash, makeFolders, medians, only, publish, readOptions, remove } from './support/benchmark.mjs';
import { machineLine, memoryMiB, privateMiB } from './support/machine.mjs';
import { Rounds } from './support/rounds.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { ciphers, connections, lftp, scp, sftp, timed } from './support/ssh-clients.mjs';
import { SshServers, settledCpuSeconds } from './support/ssh-servers.mjs';
import { failures, leftOut, table, verdict } from './support/table.mjs';

const { rounds, ...options } = readOptions(3, { only, folder: { type: 'string', default: tmpdir() } });
const programs = ['ssh', 'sftp', 'scp', 'ssh-keygen'].filter((program) => !isInstalled(program));
if (programs.length > 0) {
  console.error(`Not installed: ${programs.join(', ')} (openssh-client).`);
  process.exit(1);
}
const gibibytes = options.smoke ? 1 / 64 : 1;
const largeBytes = gibibytes * 2 ** 30;
const smallFiles = options.smoke ? 100 : 10_000;
const handshakes = options.smoke ? 5 : 50;
const idleConnections = options.smoke ? 20 : 1000;
const slowReaders = options.smoke ? 2 : 20;
/** A server has so long to take in what a client that reads nothing asks for. */
const slowMs = options.smoke ? 500 : 3000;

const { folder, home } = makeFolders(['put', 'many'], options.folder);
// The client's files are in memory where they can be: its disk is not measured.
const local = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : folder, 'svc-bench-'));
const [large, received] = [join(local, 'large'), join(local, 'received')];
fill();
const servers = new SshServers(folder, home);
const measured = new Rounds({ rounds, only: options.only, isWarm: options.smoke });

function fill() {
  mkdirSync(join(local, 'many'));
  for (const path of [join(home, 'large'), large]) {
    writeFileSync(path, Buffer.alloc(Math.min(2 ** 27, largeBytes), 'svc bench '));
    // What is a hole in the file comes from no disk, for every server and client alike.
    truncateSync(path, largeBytes);
  }
  for (const path of [join(home, 'many'), join(local, 'many')])
    for (let index = 0; index < smallFiles; index++) writeFileSync(join(path, `file number ${index}`), Buffer.alloc(1024, 'x'));
}

/** Removes what the round before wrote, and lets the disk finish with it, so that no server pays for another. */
function clean() {
  for (const path of [join(home, 'put'), received]) {
    remove(path);
    mkdirSync(path);
  }
  execFileSync('sync');
}

function requireWhole(path) {
  const found = statSync(path, { throwIfNoEntry: false })?.size;
  if (found !== largeBytes) throw new Error(`${found ?? 'no'} bytes arrived, of ${largeBytes}`);
}

function requireCount(path) {
  const found = readdirSync(path).length;
  if (found !== smallFiles) throw new Error(`${found} files arrived, of ${smallFiles}`);
}

/** Megabytes a second of a file of 1 GiB. */
async function bulk(server, action) {
  clean();
  const { seconds, cpuS } = await timed(server, action, gibibytes);
  return { value: largeBytes / 1e6 / seconds, cpuS };
}

async function upload(server, action) {
  const result = await bulk(server, action);
  requireWhole(join(home, 'put/large'));
  return result;
}

/** Seconds of many small things. */
async function inSeconds(server, action) {
  clean();
  return { value: (await timed(server, action)).seconds };
}

const load = (server, what, count, look) =>
  connections(server, { what, count, key: servers.key, user: userInfo().username, path: server.at('large') }, look);

async function handshake(server) {
  const before = await settledCpuSeconds(server);
  await load(server, 'handshakes', handshakes, async () => {});
  return { value: (((await settledCpuSeconds(server)) - before) * 1000) / handshakes };
}

/** How much the memory of a server that was just started grows with each of some connections, in MiB. */
function growth(server, what, count, look) {
  return servers.withAnother(server, async (fresh) => {
    await load(fresh, what, 1, async () => {});
    const before = privateMiB(fresh.pid);
    return { value: await load(fresh, what, count, async () => ((await look(fresh)) - before) / count) };
  });
}

async function idle(server) {
  const { value } = await growth(server, 'idle', idleConnections, async ({ name, pid }) => {
    if (name === svc.name) idleMiB = Math.max(idleMiB ?? 0, memoryMiB(pid));
    return privateMiB(pid);
  });
  return { value: value * 1024 };
}

async function peak(server) {
  let most = 0;
  for (const end = performance.now() + slowMs; performance.now() < end; ) {
    most = Math.max(most, privateMiB(server.pid));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return most;
}

const names = {
  get: (cipher) => `get of 1 GiB, ${cipher}`,
  put: (cipher) => `put of 1 GiB, ${cipher}`,
  lftpGet: 'lftp, get of 1 GiB',
  lftpPut: 'lftp, put of 1 GiB',
  getSmall: `get -r of ${smallFiles} files of 1 KiB`,
  putSmall: `put -r of ${smallFiles} files of 1 KiB`,
  listing: `ls -l of ${smallFiles} files`,
  handshake: 'server CPU of a handshake',
  idle: `memory of a connection, ${idleConnections} idle`,
  slow: 'memory of a client that reads nothing',
};

let peers = [];
let svc;
/** Whole memory (RSS) of svc with all idle connections. */
let idleMiB;
try {
  svc = await servers.svc();
  peers = [await servers.sshd(), await servers.rclone()];
  const all = [svc, ...peers];
  for (const [name, cipher] of Object.entries(ciphers)) {
    await measured.measure(names.get(name), 'MB/s', all, (server) =>
      bulk(server, () => sftp(server, [`get "${server.at('large')}" /dev/null`], cipher)),
    );
    await measured.measure(names.put(name), 'MB/s', all, (server) =>
      upload(server, () => sftp(server, [`put "${large}" "${server.at('put/large')}"`], cipher)),
    );
  }
  await measured.measure('scp, get of 1 GiB', 'MB/s', all, async (server) => {
    const result = await bulk(server, () => scp(server, `bench:${server.at('large')}`, received));
    requireWhole(join(received, 'large'));
    return result;
  });
  await measured.measure('scp, put of 1 GiB', 'MB/s', all, (server) =>
    upload(server, () => scp(server, large, `bench:${server.at('put/large')}`)),
  );
  if (isInstalled('lftp')) {
    await measured.measure(names.lftpGet, 'MB/s', all, (server) =>
      bulk(server, () => lftp(server, `get "${server.at('large')}" -o /dev/null`)),
    );
    await measured.measure(names.lftpPut, 'MB/s', all, (server) =>
      upload(server, () => lftp(server, `put "${large}" -o "${server.at('put/large')}"`)),
    );
  } else servers.missing.push('lftp');
  await measured.measure(names.getSmall, 's', all, async (server) => {
    const result = await inSeconds(server, () => sftp(server, [`get -r "${server.at('many')}" "${received}"`]));
    requireCount(join(received, 'many'));
    return result;
  });
  await measured.measure(names.putSmall, 's', all, async (server) => {
    const result = await inSeconds(server, () => sftp(server, [`put -r "${join(local, 'many')}" "${server.at('put')}"`]));
    requireCount(join(home, 'put/many'));
    return result;
  });
  await measured.measure(names.listing, 's', all, (server) => inSeconds(server, () => sftp(server, [`ls -l "${server.at('many')}"`])));
  await measured.measure(names.handshake, 'ms', all, handshake);
  await measured.measure(names.idle, 'KiB', all, idle);
  await measured.measure(names.slow, 'MiB', all, (server) => growth(server, 'slow', slowReaders, peak));
} finally {
  await stopAndRemove(servers, folder, local);
}
report();
process.exit(measured.faults.some((fault) => fault.includes(', svc,')) ? 1 : 0);

/** What svc aims at: workload, what is compared (`value`: the more the better; `time`: how many times as fast), peer, sense and aim. */
function aims() {
  const [sshd, rclone] = peers;
  const large = [...Object.keys(ciphers).flatMap((cipher) => [names.get(cipher), names.put(cipher)])];
  const rows = [
    ...large.map((name) => [name, 'value', sshd, '≥', 1]),
    ...[names.lftpGet, names.lftpPut].map((name) => [name, 'value', sshd, '≥', 0.8]),
    ...[names.getSmall, names.putSmall].map((name) => [name, 'time', sshd, '≥', 0.75]),
    [names.listing, 'time', sshd, '≥', 2],
    [names.handshake, 'value', sshd, '≤', 0.4],
    ...large.map((name) => [name, 'value', rclone, '≥', 1.2]),
  ];
  return rows.flatMap(([workload, what, peer, sense, aim]) => {
    const found = what === 'time' ? measured.ratio(workload, peer, svc) : measured.ratio(workload, svc, peer);
    return found === undefined ? [] : [aimRow(workload, peer.name, sense, aim, found, (value) => `${value} ×`, found.toFixed(2))];
  });
}

function aimRow(workload, peer, sense, aim, found, text, shown) {
  return [workload, peer, `${sense} ${text(aim)}`, shown, verdict(found, sense, aim)];
}

function report() {
  const rows = aims();
  const mebibytes = (value) => `${value} MiB`;
  const slowMiB = measured.median(names.slow, svc);
  const idleName = `RSS with ${idleConnections} idle connections`;
  if (idleMiB !== undefined) rows.push(aimRow(idleName, '–', '≤', 200, idleMiB, mebibytes, mebibytes(idleMiB.toFixed(0))));
  if (slowMiB !== undefined) rows.push(aimRow(names.slow, '–', '≤', 8, slowMiB, mebibytes, mebibytes(slowMiB.toFixed(1))));
  const versions = peers.flatMap((peer) => (peer ? [`${peer.name} ${peer.version}`] : []));
  const text = [
    `${machineLine()};`,
    `${versions.join(', ')}; svc at ${commitHash()}.`,
    `${medians(rounds)}, CPU of the server for each GiB.`,
    ...leftOut(servers.missing),
    ...failures(measured.faults),
    '',
    measured.table(),
    '',
    table(['svc', 'to', 'aim', 'measured', 'met'], rows),
  ].join('\n');
  publish('ssh', text, options.write);
}
