// Puts load on an https server with clients that need little CPU: h2load, curl, openssl.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cpuSeconds } from './machine.mjs';

const run = promisify(execFile);

/** Number of clients that make handshakes at the same time. */
const clients = 2;

const headerArgs = (server) => Object.entries(server.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
const urlOf = (server, path) => `https://127.0.0.1:${server.port}${server.at(path)}`;

/** Measures how many GETs of a file of 1 KiB the server answers per second, and its CPU time for each. */
export async function small(server, { requests, isHttp1 = false }) {
  const load = isHttp1 ? ['--h1', '-c64'] : ['-c8', '-m16'];
  const before = cpuSeconds(server.pid);
  const { stdout } = await run('h2load', ['-t1', ...load, `-n${requests}`, ...headerArgs(server), urlOf(server, 'small')]);
  const cpuUs = ((cpuSeconds(server.pid) - before) * 1e6) / requests;
  if (!stdout.includes(`status codes: ${requests} 2xx`))
    throw new Error(`${server.name}: ${/status codes: .*/.exec(stdout)?.[0] ?? stdout}`);
  return { value: Number(/finished in [^,]+, ([\d.]+) req\/s/.exec(stdout)[1]), cpuUs };
}

/**
 * Measures the throughput of one large file in MB/s, and the server's CPU time per GiB.
 *
 * @param options.upload file to send, for an upload
 */
export async function transfer(server, { path, bytes, upload }) {
  const direction = upload === undefined ? [] : ['-T', upload];
  const before = cpuSeconds(server.pid);
  const args = ['-sk', '--http1.1', '-o', '/dev/null', '-w', '%{http_code} %{time_total}', ...direction, ...headerArgs(server)];
  const { stdout } = await run('curl', [...args, urlOf(server, path)]);
  const [status, totalS] = stdout.split(' ').map(Number);
  if (!(status >= 200 && status < 300)) throw new Error(`${server.name}: ${path} gave ${status}`);
  return { value: bytes / 1e6 / totalS, cpuS: (cpuSeconds(server.pid) - before) / (bytes / 2 ** 30) };
}

/** Measures handshakes per second, and the server's CPU time for each. A small request and its reply follow each handshake. */
export async function handshakes(server, { seconds, isResumed = false }) {
  const args = ['s_time', '-connect', `127.0.0.1:${server.port}`, '-time', String(seconds), isResumed ? '-reuse' : '-new'];
  const before = cpuSeconds(server.pid);
  const one = async () => {
    const { stdout } = await run('openssl', [...args, '-www', server.publicPath]);
    const [, count, elapsedS] = /(\d+) connections in (\d+) real seconds/.exec(stdout);
    return { count: Number(count), elapsedS: Number(elapsedS) };
  };
  const ends = await Promise.all(Array.from({ length: clients }, one));
  const count = ends.reduce((sum, end) => sum + end.count, 0);
  return { value: count / Math.max(...ends.map((end) => end.elapsedS)), cpuUs: ((cpuSeconds(server.pid) - before) * 1e6) / count };
}
