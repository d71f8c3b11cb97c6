// Measures uploads that clamd scans before the files become visible. The time of the inspection, from svc's metric, is compared with the
// time of clamdscan, which streams the same content to the same clamd. The time of the whole PUT, including its syncs, is compared with
// that of svc without inspections. Small PUTs to a path that is not inspected are also sent to svc with and without inspections.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isInstalled } from '../../installed.mjs';
import { empty } from '../support/benchmark.mjs';
import { bulk, throughput } from '../support/load.mjs';
import { freePort, versionOf } from '../support/machine.mjs';
import { svc } from '../support/peers.mjs';

const run = promisify(execFile);

/** Starts a clamd with a database of one signature, so that nothing is downloaded. */
async function startClamd(folder) {
  const place = join(folder, 'clamd');
  const database = join(place, 'database');
  mkdirSync(database, { recursive: true });
  writeFileSync(join(database, 'own.ndb'), `Own-Test:0:*:${Buffer.from('no file of a benchmark has this').toString('hex')}\n`);
  const [socket, conf] = [join(place, 'clamd.sock'), join(place, 'clamd.conf')];
  const lines = [
    ...['Foreground yes', `DatabaseDirectory ${database}`, `LocalSocket ${socket}`, `TemporaryDirectory ${place}`],
    ...['StreamMaxLength 2000M', 'MaxScanSize 2000M', 'MaxFileSize 2000M'],
    ...(process.getuid() === 0 ? ['User root'] : []),
  ];
  writeFileSync(conf, `${lines.join('\n')}\n`);
  const child = spawn('clamd', ['--config-file', conf], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const isUp = () =>
    new Promise((resolve) => {
      const probe = connect(socket, () => resolve(true));
      probe.on('error', () => resolve(false)).once('connect', () => probe.end());
    });
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`clamd ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const stop = () => [child.kill(), ended][1];
  return { socket, conf, stop };
}

/** Returns the number of seconds that a server has spent on inspections so far. */
async function inspectedSeconds(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^svc_inspection_duration_seconds_sum\{[^}]*\} (\S+)/m.exec(text)?.[1] ?? 0);
}

export default async function inspections({ isSmoke, seconds, folder, home, group, builds }) {
  if (!isInstalled('clamd') || !isInstalled('clamdscan')) return { workloads: [], missing: ['clamd and clamdscan'] };
  const clamd = await startClamd(folder);
  const bytes = isSmoke ? 2 ** 20 : 2 ** 28;
  const file = join(folder, 'scanned');
  // The same content as scripts/bench/support/processes/transfer.mjs sends.
  const mebibyte = Buffer.alloc(2 ** 20, 'svc bench ');
  writeFileSync(file, Buffer.concat(Array(bytes / 2 ** 20).fill(mebibyte)));
  mkdirSync(join(home, 'free'));
  const ports = new Map();
  const scanning = async (build) => {
    const port = await freePort();
    const config = {
      inspections: { virus: { type: 'clamd', url: `unix:${clamd.socket}`, timeout: 600, answer_within: 600 } },
      groups: { DEFAULT_GROUP: { home_folder_path: home, inspections: [[], ['/put/*', 'virus']] } },
    };
    const peer = svc({ ...build, config, services: { watch: { type: 'monitor', port } } });
    ports.set(peer, port);
    return peer;
  };
  const peers = await Promise.all(builds.map(scanning));
  const without = builds.map((build) => svc({ ...build, name: `${build.name}, no inspections` }));
  const servers = () => group.all([...peers, ...without]);

  async function scan(server) {
    if (!server.pid) {
      const startMs = performance.now();
      await run('clamdscan', ['--config-file', clamd.conf, '--stream', '--no-summary', file]);
      return { 'inspection of 256 MiB': { value: bytes / 1e3 / (performance.now() - startMs) } };
    }
    empty(join(home, 'put'));
    const port = ports.get(server.peer);
    const before = port && (await inspectedSeconds(port));
    const put = await bulk(server, { method: 'PUT', path: server.at('put/scanned'), bodyBytes: bytes });
    const inspection = port && { value: bytes / 1e6 / ((await inspectedSeconds(port)) - before) };
    return { 'inspection of 256 MiB': inspection, 'PUT of 256 MiB': put };
  }

  return {
    load: `clamd ${versionOf('clamd', '--version')} with one signature, our own TCP client`,
    each: 'CPU of svc per request or GiB',
    isWarm: true,
    stop: clamd.stop,
    workloads: [
      {
        figures: { 'inspection of 256 MiB': 'MB/s', 'PUT of 256 MiB': 'MB/s' },
        on: async () => [...(await servers()), { name: 'clamdscan --stream' }],
        action: scan,
      },
      {
        name: 'PUT of 1 KiB, not inspected, 32 connections',
        unit: '/s',
        on: servers,
        action: (server) => throughput(server, { path: server.at('free/file'), method: 'PUT', connections: 32, seconds, folder }),
      },
    ],
  };
}
