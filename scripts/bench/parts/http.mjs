// Plain HTTP: downloads, uploads, listings, an archive, memory of connections, start.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fillFolder } from '../support/benchmark.mjs';
import { costOfSessions, memoryOfConnections } from '../support/connections.mjs';
import { bulk, throughput, timed } from '../support/load.mjs';
import { hashOf, svc, userName } from '../support/peers.mjs';

// The properties that rclone requests. (rclone is a common client on machines without a desktop.)
const propfindBody =
  '<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop><d:displayname/><d:getlastmodified/><d:getcontentlength/><d:resourcetype/><d:getcontenttype/></d:prop></d:propfind>';
const propfind = { method: 'PROPFIND', headers: { depth: '1', 'content-type': 'application/xml' }, body: propfindBody };
const each = 'server CPU per request or GiB';

export default function http(bench) {
  const { isSmoke, seconds, gibibyte, folder, home, group, builds, fillBig } = bench;
  const load = { seconds, folder };
  const sizes = isSmoke ? [10, 100] : [10_000, 100_000];
  const [idle, slow, sessions] = isSmoke ? [50, 10, 50] : [10_000, 1000, 10_000];
  const sessionMemory = `memory of a session, ${sessions.toLocaleString('en')} of them`;
  const sessionRequests = `GET 1 KiB, 64 connections, while ${sessions.toLocaleString('en')} sessions are open`;
  // An account can have at most 1,000 sessions, so several accounts are needed.
  const users = Array.from({ length: 20 }, (_, index) => `user${index}`);
  // A server does not return memory that it has allocated, so each round starts a new server.
  const connections = (kind, path, count) => (server) =>
    group.withFresh(server.peer, (fresh) => memoryOfConnections(fresh, { kind, path: fresh.at(path), count }));
  const range = { range: 'bytes=1000000-1065535' };
  const parts = {
    downloads: {
      fill: fillBig,
      workloads: [
        {
          name: 'GET 1 KiB, 64 connections',
          unit: '/s',
          can: 'get',
          action: (server) => throughput(server, { ...load, path: server.at('small'), connections: 64 }),
        },
        {
          name: 'GET of a range of 64 KiB, 64 connections',
          unit: '/s',
          can: 'range',
          action: (server) =>
            throughput(server, { ...load, path: server.at('big'), connections: 64, headers: { ...server.headers, ...range } }),
        },
        ...[1, 8].map((streams) => ({
          name: `GET 1 GiB, ${streams} ${streams === 1 ? 'stream' : 'streams'}`,
          unit: 'MB/s',
          can: 'get',
          action: (server) => bulk(server, { path: server.at('big'), streams }),
        })),
      ],
    },
    uploads: {
      workloads: [
        {
          name: 'PUT 1 KiB, 32 connections',
          unit: '/s',
          can: 'put',
          action: (server) => throughput(server, { ...load, path: server.at('put/file'), method: 'PUT', connections: 32 }),
        },
        {
          name: 'PUT 1 GiB',
          unit: 'MB/s',
          can: 'put',
          action: (server) => bulk(server, { method: 'PUT', path: server.at('put/big'), bodyBytes: gibibyte }),
        },
      ],
    },
    listings: {
      fill: () => sizes.map((size) => fillFolder(join(home, `list${size}`), size)),
      workloads: sizes.flatMap((size) =>
        [
          ['PROPFIND', 'propfind', propfind],
          ['JSON listing', 'json', { headers: { accept: 'application/json' } }],
          ['HTML listing', 'html', { headers: { accept: 'text/html' } }],
        ].map(([kind, can, request]) => ({
          name: `${kind} of ${size.toLocaleString('en')} entries`,
          unit: 'ms',
          can,
          action: (server) => timed(server, { ...request, path: server.at(`list${size}/`) }),
        })),
      ),
    },
    archive: {
      // Large files, photos and many small files, 256 MiB in total.
      fill() {
        fillFolder(join(home, 'zip/large'), 2, gibibyte / 16);
        fillFolder(join(home, 'zip/photos'), 96, gibibyte / 1024);
        fillFolder(join(home, 'zip/small'), 3200, gibibyte / 102_400);
      },
      workloads: [
        {
          name: 'ZIP of 256 MiB, stored',
          unit: 'MB/s',
          can: 'zip',
          action: (server) => bulk(server, { path: server.at('zip/'), headers: { accept: 'application/zip' } }),
        },
      ],
    },
    connections: {
      fill: fillBig,
      maxRounds: 2,
      workloads: [
        ...[
          ['an idle connection', 'idle', 'small', idle],
          ['a slow reader of 1 GiB', 'slow', 'big', slow],
        ].map(([what, kind, path, count]) => ({
          name: `memory of ${what}, ${count.toLocaleString('en')} of them`,
          unit: 'KiB',
          can: 'connections',
          action: connections(kind, path, count),
        })),
        {
          figures: { [sessionMemory]: 'KiB', [sessionRequests]: '/s' },
          on() {
            const accounts = Object.fromEntries([...users, userName].map((name) => [name, { password: hashOf() }]));
            return builds.map((build) => ({ name: build.name, peer: svc({ ...build, config: { accounts } }) }));
          },
          action: ({ peer }) =>
            group.withFresh(peer, async (fresh) => {
              const requests = { ...load, path: fresh.at('small'), connections: 64 };
              const cost = await costOfSessions(fresh, { users, count: sessions, load: requests });
              return { [sessionMemory]: cost.memory, [sessionRequests]: cost.requests };
            }),
        },
      ],
    },
    start: {
      rounds: 5,
      workloads: [
        {
          name: 'a command that ends at once (`svc --version`)',
          unit: 'ms',
          on: () => [...builds, { name: 'node -e 0', command: [process.execPath, '-e', '0'] }],
          async action({ binary, executable, command = [...(binary ? [binary] : [process.execPath, executable]), '--version'] }) {
            const startedMs = performance.now();
            if (spawnSync(command[0], command.slice(1)).status !== 0) throw new Error(`${command[0]} failed`);
            return { value: performance.now() - startedMs };
          },
        },
        {
          figures: {
            'start to the first reply': 'ms',
            'start to the first page': 'ms',
            'memory at rest (RSS), after one page': 'MiB',
          },
          on: () => builds.map((build) => ({ name: build.name, peer: svc(build) })),
          action: ({ peer }) =>
            group.withFresh(peer, async ({ startMs, pageMs, idleMiB }) => ({
              'start to the first reply': { value: startMs },
              'start to the first page': { value: pageMs },
              'memory at rest (RSS), after one page': { value: idleMiB },
            })),
        },
      ],
    },
  };
  return { each, ...parts[bench.part] };
}
