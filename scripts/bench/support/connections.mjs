// Measures the cost of many connections. A separate process opens and holds them.
import { Agent } from 'node:http';
import { send, sessionOf, started } from './exchange.mjs';
import { throughput } from './load.mjs';
import { privateMiB } from './machine.mjs';
import { password } from './peers.mjs';

/** Time in milliseconds that a server gets to settle: to release memory that it needed only temporarily, or to fill its send buffers. */
const settleMs = 1500;

/**
 * Returns the memory in KiB by which a server grows for each connection. Memory that it shares with other processes is not counted.
 *
 * @param server a freshly started server
 * @param options.kind `idle`: each connection has received one reply and stays open; `slow`: each has requested a large file and reads
 * nothing
 */
export async function memoryOfConnections(server, { kind, path, count }) {
  const isTls = server.peer.scheme === 'https';
  await withConnections(server, { kind, path, count: 1, isTls }, settled);
  const before = privateMiB(server.pid);
  return withConnections(server, { kind, path, count, isTls }, async () => {
    await settled();
    return { value: ((privateMiB(server.pid) - before) * 1024) / count };
  });
}

const settled = () => new Promise((resolve) => setTimeout(resolve, settleMs));

/**
 * Returns the cost of many sessions: the memory of each in KiB, and the requests per second of the last one.
 *
 * @param server a freshly started server
 * @param options.users names of its accounts, used in turn
 * @param options.load options of `throughput`
 */
export async function costOfSessions(server, { users, count, load }) {
  const url = `http://127.0.0.1:${server.port}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let begun = 0;
  let headers;
  const signIn = async (upTo) => {
    while (begun < upTo) headers = await sessionOf(url, users[begun++ % users.length], password, agent);
  };
  const all = (upTo) => Promise.all(Array.from({ length: 16 }, () => signIn(upTo)));
  try {
    // The first sessions of an account also create objects that exist once per account.
    await all(users.length * 2);
    await settled();
    const [before, already] = [privateMiB(server.pid), begun];
    await all(count);
    await settled();
    const value = ((privateMiB(server.pid) - before) * 1024) / (count - already);
    const { status } = await send(`${url}${load.path}`, { headers });
    if (status !== 200) throw new Error(`the last session gave ${status}`);
    return { memory: { value }, requests: await throughput(server, { ...load, headers }) };
  } finally {
    agent.destroy();
  }
}

/** Keeps connections to a server open while `look` runs. @returns the result of `look` */
async function withConnections(server, order, look) {
  const script = new URL('./processes/connection-holder.mjs', import.meta.url).pathname;
  const holder = started([script, JSON.stringify({ ...order, port: server.port, headers: server.headers })]);
  try {
    const isReady = await Promise.race([holder.line(/ready/).then(() => true), holder.ended.then(() => false)]);
    if (!isReady) throw new Error(`${server.name}: the connections could not be made`);
    return await look();
  } finally {
    await holder.end('SIGTERM');
  }
}
