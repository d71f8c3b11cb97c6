// Puts load on a server and measures the cost: many small requests, large transfers, and single requests.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { send } from './exchange.mjs';
import { cpuSeconds, versionOf } from './machine.mjs';

const run = promisify(execFile);

/** Name and version of the tool that sends the small requests. */
export const loader = `wrk ${versionOf('wrk', '-v')}`;

const put = `
local count = 0
request = function()
  count = count + 1
  return wrk.format("PUT", wrk.path .. "-" .. (count % 1000), nil, string.rep("y", 1024))
end`;

/**
 * Measures requests per second, and the CPU time of the server for each request.
 *
 * @param server a running server, as `Group.start` (group.mjs) returns it
 * @param options.path path on the server; a number is added for PUT
 * @param options.method PUT sends 1 KiB, other methods send no body
 */
export async function throughput(server, { path, method = 'GET', connections, seconds, headers = server.headers, folder }) {
  const before = cpuSeconds(server.pid);
  const measure = (duration) => withWrk(server, path, method, connections, duration, headers, folder);
  let { count, elapsedS } = await measure(seconds);
  // On a busy disk, a server may answer no durable upload in a short round.
  if (count === 0) ({ count, elapsedS } = await measure(10 * seconds));
  return { value: count / elapsedS, cpuUs: ((cpuSeconds(server.pid) - before) * 1e6) / count };
}

async function withWrk(server, path, method, connections, seconds, headers, folder) {
  const script = join(folder, `${method}.lua`);
  writeFileSync(script, method === 'PUT' ? put : `wrk.method = "${method}"\n`);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script];
  for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}: ${value}`);
  const { stdout } = await run('wrk', [...args, `http://127.0.0.1:${server.port}${path}`]);
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1];
  if (refused !== undefined) throw new Error(`${server.name}: ${refused} replies to ${method} ${path} without success`);
  const faults = /Socket errors: connect (\d+), read (\d+)/.exec(stdout);
  if (faults && (faults[1] !== '0' || faults[2] !== '0')) throw new Error(`${server.name}: ${faults[0]}`);
  const count = Number(/(\d+) requests in/.exec(stdout)[1]);
  return { count, elapsedS: count / Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]) };
}

/** Measures one request in milliseconds, and the CPU seconds of the server. */
export async function timed(server, { path, headers, ...options }) {
  const before = cpuSeconds(server.pid);
  const startedMs = performance.timeOrigin + performance.now();
  const { status, atMs } = await send(`http://127.0.0.1:${server.port}${path}`, { ...options, headers: { ...server.headers, ...headers } });
  if (status >= 300) throw new Error(`${server.name}: ${options.method ?? 'GET'} ${path} gave ${status}`);
  return { value: atMs - startedMs, cpuS: cpuSeconds(server.pid) - before };
}

/** Measures large bodies in megabytes per second, and the CPU seconds of the server per GiB. */
export async function bulk(server, { method = 'GET', path, headers = {}, streams = 1, bodyBytes }) {
  const order = { method, host: '127.0.0.1', port: server.port, path, headers: { ...server.headers, ...headers }, streams, bodyBytes };
  const before = cpuSeconds(server.pid);
  const script = new URL('./processes/transfer.mjs', import.meta.url).pathname;
  const { ms, bytes, statuses } = JSON.parse((await run(process.execPath, [script, JSON.stringify(order)])).stdout);
  if (statuses.some((status) => !(status >= 200 && status < 300))) throw new Error(`${server.name}: ${method} ${path} gave ${statuses}`);
  const moved = bodyBytes === undefined ? bytes : bodyBytes * streams;
  return { value: moved / 1e6 / (ms / 1000), cpuS: (cpuSeconds(server.pid) - before) / (moved / 2 ** 30) };
}
