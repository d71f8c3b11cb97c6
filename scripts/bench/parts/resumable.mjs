// Compares resumable uploads (the HTTP draft and tus) with plain PUT, and with @tus/server and its file store: 1 GiB in one piece and in
// pieces of 8 MiB. Also measures the memory of a server during one upload, during many, and during many with four times the total size.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { empty } from '../support/benchmark.mjs';
import { bulk } from '../support/load.mjs';
import { cpuSeconds, withPeak } from '../support/machine.mjs';
import { svc, tusServer } from '../support/peers.mjs';

const run = promisify(execFile);
const script = new URL('../support/processes/resumable-transfer.mjs', import.meta.url).pathname;

export default function resumable({ isSmoke, gibibyte, home, group, builds }) {
  const pieceBytes = 2 ** 23 / (isSmoke ? 64 : 1);
  const many = isSmoke ? 20 : 200;

  /** Sends one upload, or several concurrent ones with the same total size. */
  async function transfer(server, { protocol, collection }, { bytes = gibibyte, piece = bytes, streams = 1 } = {}) {
    empty(join(home, 'put'));
    if (protocol === 'put') return bulk(server, { method: 'PUT', path: server.at('put/plain'), bodyBytes: bytes });
    const target = protocol === 'draft' ? server.at('put/draft') : collection;
    const bodyBytes = Math.ceil(bytes / streams);
    const order = { port: server.port, headers: server.headers, protocol, target, bodyBytes, pieceBytes: piece, streams };
    const before = cpuSeconds(server.pid);
    const { ms } = JSON.parse((await run(process.execPath, [script, JSON.stringify(order)])).stdout);
    return { value: bytes / 1e6 / (ms / 1000), cpuS: (cpuSeconds(server.pid) - before) / (bytes / 2 ** 30) };
  }

  const peers = [...builds.map((build) => svc(build)), tusServer];
  const on = async () =>
    (await group.all(peers)).flatMap((server) =>
      server.peer === tusServer
        ? [{ ...server, protocol: 'tus', collection: '/files' }]
        : ['draft', 'tus', 'put'].map((protocol) => {
            return { ...server, name: `${server.name}, ${protocol}`, protocol, collection: '/home/__svc__/uploads/' };
          }),
    );
  /** Returns the maximum memory (RSS) of a freshly started server during uploads. */
  const memory = (way, bytes, streams) =>
    group.withFresh(way.peer, (server) => withPeak(server.pid, () => transfer(server, way, { bytes, streams })));
  return {
    load: 'our own TCP client',
    each: 'server CPU per GiB',
    isWarm: true,
    workloads: [
      { name: '1 GiB in one piece', unit: 'MB/s', on, action: (way) => transfer(way, way) },
      { name: '1 GiB in pieces of 8 MiB', unit: 'MB/s', on, action: (way) => transfer(way, way, { piece: pieceBytes }) },
      ...[
        [1, 1],
        [1, many],
        [4, many],
      ].map(([gib, count]) => ({
        name: `peak memory, ${gib} GiB in ${count === 1 ? '1 upload' : `${count} concurrent uploads`}`,
        unit: 'MiB',
        on: async () => (await on()).filter(({ protocol }) => protocol !== 'put'),
        action: (way) => memory(way, gib * gibibyte, count),
      })),
    ],
  };
}
