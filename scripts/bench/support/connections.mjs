// What many connections take: they are made by a process of their own, which keeps them.
import { started } from './exchange.mjs';
import { privateMiB } from './machine.mjs';

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
  const settled = () => new Promise((resolve) => setTimeout(resolve, settleMs));
  await withConnections(server, { kind, path, count: 1, isTls }, settled);
  const before = privateMiB(server.pid);
  return withConnections(server, { kind, path, count, isTls }, async () => {
    await settled();
    return { value: ((privateMiB(server.pid) - before) * 1024) / count };
  });
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
