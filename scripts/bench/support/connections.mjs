// Memory that connections take: many of them are made by a process of their own, which keeps them.
import { spawn } from 'node:child_process';
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
  await connected(server, { kind, path, count: 1 }, async () => {});
  const before = privateMiB(server.pid);
  return connected(server, { kind, path, count }, async () => ({ value: ((privateMiB(server.pid) - before) * 1024) / count }));
}

/** Keeps connections to a server open while `look` runs. @returns what `look` gives */
export async function connected(server, { kind, path, count }, look) {
  const order = { kind, port: server.port, path, count, headers: server.headers };
  const script = new URL('./connection-holder.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const isReady = await Promise.race([new Promise((resolve) => child.stdout.once('data', () => resolve(true))), ended.then(() => false)]);
    if (!isReady) throw new Error(`${server.name}: the connections could not be made`);
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    return await look();
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
