// Measures SFTP: large files with both ciphers, lftp, many small files, a listing, the CPU time of a handshake, and the memory of idle
// connections. The client's files are in memory if possible, so that the client's disk is not measured.
import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { empty, fillFolder, remove } from '../support/benchmark.mjs';
import { settledCpuSeconds } from '../support/group.mjs';
import { privateMiB } from '../support/machine.mjs';
import { ciphers, connections, lftp, sftp, timed } from '../support/ssh-clients.mjs';

export default function ssh({ isSmoke, gibibyte, folder, home, group, fillBig }) {
  const programs = ['ssh', 'sftp', 'ssh-keygen'].filter((program) => !isInstalled(program));
  if (programs.length > 0) return { missing: programs, workloads: [] };
  const [smallFiles, handshakes, idle] = isSmoke ? [100, 5, 20] : [10_000, 50, 2000];
  const local = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : folder, 'svc-bench-'));
  const [large, received, written] = [join(local, 'large'), join(local, 'received'), join(home, 'put')];
  const gibibytes = gibibyte / 2 ** 30;

  /** Returns the throughput of a large file in MB/s. @throws if the file does not arrive completely */
  const bulk = async (server, action, path) => {
    empty(written, received);
    const { seconds, cpuS } = await timed(server, action, gibibytes);
    const found = path && (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    if (path && found !== gibibyte) throw new Error(`${found} bytes arrived, of ${gibibyte}`);
    return { value: gibibyte / 1e6 / seconds, cpuS };
  };
  /** Returns the total duration of many small operations in seconds, and the CPU time of each. */
  const inSeconds = async (server, command, path) => {
    empty(written, received);
    const { seconds, cpuS } = await timed(server, () => sftp(server, [command]), smallFiles / 1e6);
    const found = path && readdirSync(path).length;
    if (path && found !== smallFiles) throw new Error(`${found} files arrived, of ${smallFiles}`);
    return { value: seconds, cpuUs: cpuS };
  };
  const handshake = async (server) => {
    const before = await settledCpuSeconds(server);
    await connections(server, 'handshakes', handshakes);
    return { value: (((await settledCpuSeconds(server)) - before) * 1000) / handshakes };
  };
  /** Returns the memory in KiB by which a freshly started server grows for each connection. */
  const growth = (server) =>
    group.withFresh(server.peer, async (fresh) => {
      await connections(fresh, 'idle', 1);
      const before = privateMiB(fresh.pid);
      return connections(fresh, 'idle', idle, async () => ({ value: ((privateMiB(fresh.pid) - before) * 1024) / idle }));
    });

  const arrived = join(written, 'large');
  const workloads = [
    ...Object.entries(ciphers).flatMap(([name, cipher]) => [
      [`get of 1 GiB, ${name}`, 'MB/s', (server) => bulk(server, () => sftp(server, [`get "${server.at('large')}" /dev/null`], cipher))],
      [
        `put of 1 GiB, ${name}`,
        'MB/s',
        (server) => bulk(server, () => sftp(server, [`put "${large}" "${server.at('put/large')}"`], cipher), arrived),
      ],
    ]),
    ['lftp, get of 1 GiB', 'MB/s', (server) => bulk(server, () => lftp(server, `get "${server.at('large')}" -o /dev/null`))],
    ['lftp, put of 1 GiB', 'MB/s', (server) => bulk(server, () => lftp(server, `put "${large}" -o "${server.at('put/large')}"`), arrived)],
    [
      `get -r of ${smallFiles} files of 1 KiB`,
      's',
      (server) => inSeconds(server, `get -r "${server.at('many')}" "${received}"`, join(received, 'many')),
    ],
    [
      `put -r of ${smallFiles} files of 1 KiB`,
      's',
      (server) => inSeconds(server, `put -r "${join(local, 'many')}" "${server.at('put')}"`, join(written, 'many')),
    ],
    [`ls -l of ${smallFiles} files`, 's', (server) => inSeconds(server, `ls -l "${server.at('many')}"`)],
    ['server CPU of a handshake', 'ms', handshake],
    [`memory of a connection, ${idle} idle`, 'KiB', growth],
  ].map(([name, unit, action]) => ({ name, unit, scheme: 'ssh', can: 'sftp', action }));
  return {
    load: 'OpenSSH, lftp and ssh2 as clients',
    each: 'server CPU per file or GiB',
    missing: ['lftp'].filter((program) => !isInstalled(program)),
    fill() {
      for (const path of [join(home, 'large'), large]) fillBig(path);
      for (const path of [join(home, 'many'), join(local, 'many')]) fillFolder(path, smallFiles, 1024);
    },
    workloads: workloads.filter(({ name }) => isInstalled('lftp') || !name.startsWith('lftp')),
    stop: () => remove(local),
  };
}
