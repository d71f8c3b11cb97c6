import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from './random.ts';

/**
 * Faults of a connection. `cut`: both sides are cut while the client sends. `end`: the client is cut, but the server sees a proper end of
 * the client's data. `swallow`: the server's reply is lost. `halve`: the client gets only the beginning of the reply.
 */
const kinds = ['cut', 'end', 'swallow', 'halve'] as const;

export type FaultKind = (typeof kinds)[number];

interface Fault {
  kind: FaultKind;
  /** Number of the client's bytes that are passed on before the fault. */
  afterBytes: number;
  /** Delay of every piece in milliseconds, in both directions. */
  delayMs: number;
}

/** A proxy to a server. It makes connections fail. */
export interface BadLine {
  url: string;
  happened: FaultKind[];
}

/**
 * Starts a proxy to a server. The first `faults` connections fail, in a way that the seed determines; later connections work.
 *
 * @param maxBytes maximum number of the client's bytes that are passed on before a connection fails
 */
export async function startBadLine(
  t: TestContext,
  port: number,
  { seed, faults, maxBytes }: { seed: number; faults: number; maxBytes: number },
): Promise<BadLine> {
  const random = randomFrom(seed);
  const first = Math.floor(random() * kinds.length);
  const plan = Array.from({ length: faults }, (_, index) => ({
    kind: kinds[(first + index) % kinds.length] as FaultKind,
    afterBytes: Math.floor(random() * maxBytes),
    delayMs: random() < 0.3 ? Math.floor(random() * 8) : 0,
  }));
  const happened: FaultKind[] = [];
  const sockets = new Set<Socket>();
  const line = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroySoon();
      });
    }
    carry(client, server, plan.shift(), (kind) => happened.push(kind));
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  t.after(() => {
    line.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`, happened };
}

function carry(client: Socket, server: Socket, fault: Fault | undefined, onFault: (kind: FaultKind) => void): void {
  const { kind, afterBytes = Number.POSITIVE_INFINITY, delayMs = 0 } = fault ?? {};
  const isUp = kind === 'cut' || kind === 'end';
  let sentBytes = 0;
  const up = (chunk: Buffer) => {
    sentBytes += chunk.length;
    if (!isUp || sentBytes < afterBytes) return chunk;
    const passed = chunk.subarray(0, chunk.length - (sentBytes - afterBytes));
    if (kind === 'end') server.end(passed);
    else server.write(passed, () => server.resetAndDestroy());
    client.destroy();
    onFault(kind);
    return undefined;
  };
  const down = (chunk: Buffer) => {
    if (!kind || isUp || sentBytes < afterBytes) return chunk;
    if (kind === 'halve') client.end(chunk.subarray(0, chunk.length / 2));
    else client.destroy();
    server.destroy();
    onFault(kind);
    return undefined;
  };
  void pass(client, server, delayMs, up);
  void pass(server, client, delayMs, down);
}

/**
 * Passes on the data of a connection, and then its end. For each piece, `look` returns the part to pass on, or undefined if `look` itself
 * has ended the connection.
 */
async function pass(from: Socket, to: Socket, delayMs: number, look: (chunk: Buffer) => Buffer | undefined): Promise<void> {
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      if (delayMs > 0) await sleep(delayMs);
      const passed = look(chunk as Buffer);
      if (passed === undefined) return;
      if (!to.write(passed)) await once(to, 'drain');
    }
    to.end();
  } catch {
    // If one side disconnects, so does the other.
  }
}
