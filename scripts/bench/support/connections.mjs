// What many connections take: they are made by a process of their own, which keeps them.
import { Agent } from 'node:http';
import { send, sessionOf, started } from './exchange.mjs';
import { throughput } from './load.mjs';
import { privateMiB } from './machine.mjs';
import { password } from './peers.mjs';

/** A server has so long to settle: to give back what it only needed for the making, or to fill what it sends. */
const settleMs = 1500;

/**
 * How much the memory of a server grows with each connection, in KiB; pages that it shares with others do not count.
 *
 * @param server a fresh one
 * @param options.kind `idle`: each has had one reply and is kept open; `slow`: each asked for a large file and reads nothing
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
 * What many sessions cost a server: memory of each, in KiB, and requests a second of the last one.
 *
 * @param server a fresh one @param options.users names of its accounts, which take turns @param options.load of `throughput`
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
    // Each account's first, which also makes what is made once.
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

/** Keeps connections to a server open while `look` runs. @returns what `look` gives */
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
