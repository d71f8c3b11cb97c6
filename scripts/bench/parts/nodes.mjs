// Compares three set-ups: one process with its state in memory, one node with Redis, and two nodes (`--workers 2`) with Redis. Each has a
// webhook with batches of 50. Needs redis-server.
import { isInstalled } from '../../installed.mjs';
import { started } from '../support/exchange.mjs';
import { throughput } from '../support/load.mjs';
import { cpuSeconds, freePort } from '../support/machine.mjs';
import { basic, svc } from '../support/peers.mjs';

export default async function nodes({ seconds, folder, group, builds }) {
  if (!isInstalled('redis-server')) return { missing: ['redis-server'], workloads: [] };
  const port = String(await freePort());
  const redis = started(['--port', port, '--save', '', '--appendonly', 'yes', '--dir', folder], folder, 'redis-server');
  await redis.line(/Ready to accept connections/);
  const receiver = started([new URL('../support/processes/event-receiver.mjs', import.meta.url).pathname], folder);
  const [url] = await receiver.line(/http:\S+/);
  const handlers = { crm: { type: 'http', target: '40017', url: `${url}hook`, batch_size: 50 } };
  const state = (name) => ({ type: 'redis', url: `redis://127.0.0.1:${port}`, prefix: name });
  const config = (own) => ({ server: { data_folder_path: './data', ...own }, event_handlers: handlers });
  const kinds = [
    ['one process', {}, []],
    ['Redis, 1 node', { state: state('one') }, []],
    ['Redis, --workers 2', { state: state('two') }, ['--workers', '2']],
  ];
  const variants = builds.flatMap((build) =>
    kinds.map(([name, own, args]) => svc({ ...build, name: `${build.name}, ${name}`, config: config(own), args })),
  );
  const on = () => group.all(variants);
  /** Measures requests, and the CPU time that Redis needs for them. */
  const load = async (server, request) => {
    const before = cpuSeconds(redis.child.pid);
    const found = await throughput(server, { connections: 16, seconds, folder, ...request });
    const redisUs = (1e6 * (cpuSeconds(redis.child.pid) - before)) / (found.value * seconds);
    return { ...found, ...(server.name.includes('Redis') && { note: `+ ${redisUs.toFixed(0)} µs Redis` }) };
  };
  const workloads = [
    ['GET 1 KiB, session', (server) => ({ path: server.at('small') })],
    ['GET 1 KiB, Basic', (server) => ({ path: server.at('small'), headers: { authorization: basic } })],
    ['PUT 1 KiB, session, one webhook', (server) => ({ path: server.at('put/file'), method: 'PUT' })],
  ];
  return {
    each: 'CPU of all nodes per request',
    workloads: workloads.map(([name, request]) => ({ name, unit: '/s', on, action: (server) => load(server, request(server)) })),
  };
}
