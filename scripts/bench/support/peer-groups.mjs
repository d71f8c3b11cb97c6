// What is compared with peers: groups of workloads, each with its servers and with what svc aims at.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOfConnections } from './connections.mjs';
import { names } from './fleet.mjs';
import { bulk, throughput, timed } from './load.mjs';

const { svc, former, basic, silent, nginx, nginxDav, apache, caddy, rclone, limit, limitOfTwo, hono } = names;
const mine = [svc, former];

export const groupNames = ['downloads', 'uploads', 'listings', 'archives', 'connections', 'start'];

// What rclone asks for, the commonest client of servers without a desktop.
const propfindBody =
  '<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop><d:displayname/><d:getlastmodified/><d:getcontentlength/><d:resourcetype/><d:getcontenttype/></d:prop></d:propfind>';
const propfind = { method: 'PROPFIND', headers: { depth: '1', 'content-type': 'application/xml' }, body: propfindBody };

/**
 * The groups, each with `fill`, which makes the files that it needs; `workloads`: name, unit, servers and what gives a figure; and
 * `aims`: workload, server, peer, sense and figure, or with `null` for the peer what the server shall reach by itself. A fifth
 * member says which figure is compared when it is not `value`. `mostRounds` is for what differs little from one to the next.
 *
 * @param options.isSmoke as short as it can be; @param options.folder for what the load needs; @param options.home what is served
 * @param options.withAnother starts one more server of a name, gives it to a function, and ends it
 */
export function peerGroups({ isSmoke, folder, home, withAnother }) {
  const seconds = isSmoke ? 1 : 3;
  const scale = isSmoke ? 64 : 1;
  const gibibyte = 2 ** 30 / scale;
  const entries = isSmoke ? [50, 100] : [1000, 10_000];
  const idle = isSmoke ? 50 : 10_000;
  const slow = isSmoke ? 10 : 1000;
  const most = entries.at(-1);
  const load = { seconds, folder };

  const fillBig = () => {
    writeFileSync(join(home, 'big'), Buffer.alloc(Math.min(2 ** 27, gibibyte), 'svc bench '));
    // What is a hole in the file comes from no disk, for every server alike.
    truncateSync(join(home, 'big'), gibibyte);
  };
  const started = (member) => (server) => withAnother(server.name, async (another) => ({ value: another[member] }));
  // What the memory of a server grew by once, it keeps: each round has a server of its own.
  const connections = (kind, path, count) => (server) =>
    withAnother(server.name, (another) => memoryOfConnections(another, { kind, path: another.at(path), count }));

  return {
    downloads: {
      fill: fillBig,
      workloads: [
        {
          name: 'GET 1 KiB, 64 connections',
          unit: '/s',
          on: [...mine, basic, silent, nginx, apache, caddy, rclone, limit, limitOfTwo, hono],
          action: (server) => throughput(server, { ...load, path: server.at('small'), connections: 64 }),
        },
        {
          name: 'GET of a range of 64 KiB, 64 connections',
          unit: '/s',
          on: [...mine, nginx, apache, caddy, rclone],
          action: (server) =>
            throughput(server, {
              ...load,
              path: server.at('big'),
              connections: 64,
              headers: { ...server.headers, range: 'bytes=1000000-1065535' },
            }),
        },
        ...[1, 8].map((streams) => ({
          name: `GET 1 GiB, ${streams} ${streams === 1 ? 'stream' : 'streams'}`,
          unit: 'MB/s',
          on: [...mine, nginx, apache, caddy, rclone, limit],
          action: (server) => bulk(server, { path: server.at('big'), streams }),
        })),
      ],
      aims: [
        ['GET 1 KiB, 64 connections', svc, caddy, '≥', 1.1],
        ['GET 1 KiB, 64 connections', svc, nginx, '≥', 0.45],
        ['GET 1 KiB, 64 connections', svc, rclone, '≥', 3.5],
        ['GET 1 KiB, 64 connections', svc, hono, '≤', 1.3, 'cpuUs'],
        ['GET 1 KiB, 64 connections', basic, svc, '≥', 0.8],
        ['GET 1 KiB, 64 connections', svc, silent, '≥', 0.85],
        ['GET 1 GiB, 1 stream', svc, nginx, '≥', 0.9],
        ['GET 1 GiB, 8 streams', svc, nginx, '≥', 0.9],
      ],
    },
    uploads: {
      // Before they start: rclone remembers which folders there are.
      fill: () => mkdirSync(join(home, 'put')),
      workloads: [
        {
          name: 'PUT 1 KiB, 32 connections',
          unit: '/s',
          on: [...mine, nginxDav, apache, rclone, limit],
          action: (server) => throughput(server, { ...load, path: server.at('put/file'), method: 'PUT', connections: 32 }),
        },
        {
          name: 'PUT 1 GiB',
          unit: 'MB/s',
          on: [...mine, nginxDav, apache, rclone, limit],
          action: (server) => bulk(server, { method: 'PUT', path: server.at('put/big'), bodyBytes: gibibyte }),
        },
      ],
      aims: [
        ['PUT 1 KiB, 32 connections', svc, null, '≤', 400, 'cpuUs'],
        ['PUT 1 KiB, 32 connections', svc, limit, '≥', 0.85],
        ['PUT 1 KiB, 32 connections', svc, rclone, '≥', 0.7],
        ['PUT 1 KiB, 32 connections', svc, apache, '≥', 1],
        ['PUT 1 GiB', svc, nginx, '≥', 1],
      ],
    },
    listings: {
      fill() {
        for (const count of entries) {
          mkdirSync(join(home, `list-${count}`));
          // A kind of file that every server knows by its name: rclone opens files whose extension it does not know.
          for (let index = 0; index < count; index++) writeFileSync(join(home, `list-${count}`, `file number ${index}.png`), '');
        }
      },
      workloads: entries.flatMap((count) =>
        [
          ['PROPFIND', [nginxDav, apache, rclone, limit], propfind],
          ['JSON listing', [nginx, caddy], { headers: { accept: 'application/json' } }],
          ['HTML listing', [apache, caddy, rclone, limit], { headers: { accept: 'text/html' } }],
        ].map(([kind, peers, request]) => ({
          name: `${kind} of ${count} entries`,
          unit: 'ms',
          on: [...mine, ...peers],
          action: (server) => timed(server, { ...request, path: server.at(`list-${count}/`) }),
        })),
      ),
      aims: [
        [`PROPFIND of ${most} entries`, svc, limit, '≤', 1.25],
        [`PROPFIND of ${most} entries`, svc, apache, '≤', 0.4],
        [`HTML listing of ${most} entries`, svc, limit, '≤', 1.4],
        [`JSON listing of ${most} entries`, svc, caddy, '≤', 0.6],
      ],
    },
    archives: {
      // 256 MiB: large files, photos, and many small ones.
      fill() {
        mkdirSync(join(home, 'zip'));
        const mixed = [...Array(2).fill(64 * 2 ** 20), ...Array(96).fill(2 ** 20), ...Array(3200).fill(10 * 2 ** 10)];
        for (const [index, bytes] of mixed.entries())
          writeFileSync(join(home, 'zip', `part-${index}.bin`), Buffer.alloc(Math.ceil(bytes / scale), String(index)));
      },
      workloads: [
        {
          name: 'ZIP of 256 MiB, stored',
          unit: 'MB/s',
          on: [...mine, limit],
          action: (server) => bulk(server, { path: server.at('zip/'), headers: { accept: 'application/zip' } }),
        },
      ],
      aims: [['ZIP of 256 MiB, stored', svc, null, '≥', 2000]],
    },
    connections: {
      fill: fillBig,
      mostRounds: 2,
      workloads: [
        {
          name: `memory of an idle connection, ${idle.toLocaleString('en')} of them`,
          unit: 'KiB',
          on: [...mine, nginx, caddy, rclone],
          action: connections('idle', 'small', idle),
        },
        {
          name: `memory of a slow reader of 1 GiB, ${slow.toLocaleString('en')} of them`,
          unit: 'KiB',
          on: [...mine, nginx, caddy, rclone],
          action: connections('slow', 'big', slow),
        },
      ],
      aims: [
        [`memory of an idle connection, ${idle.toLocaleString('en')} of them`, svc, null, '≤', 60],
        [`memory of a slow reader of 1 GiB, ${slow.toLocaleString('en')} of them`, svc, null, '≤', 200],
      ],
    },
    start: {
      fill() {},
      workloads: [
        { name: 'start to the first reply', unit: 'ms', on: [...mine, limit], action: started('startMs') },
        { name: 'start to the first page', unit: 'ms', on: mine, action: started('pageMs') },
        { name: 'memory at rest (RSS), a page was asked for', unit: 'MiB', on: [...mine, limit], action: started('idleMiB') },
      ],
      aims: [
        ['start to the first reply', svc, null, '≤', 150],
        ['start to the first page', svc, null, '≤', 150],
        ['memory at rest (RSS), a page was asked for', svc, null, '≤', 80],
      ],
    },
  };
}
