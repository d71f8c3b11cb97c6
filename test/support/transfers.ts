import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { testBasic } from './secrets.ts';

/** A transfer as the console's API shows it. */
export interface Shown {
  id: string;
  node: string;
  service: string;
  account: string;
  path: string;
  direction: string;
  bytes: number;
  total_bytes: number | null;
  bytes_per_second: number;
  started: string;
}

/** Clients that send the head of a request. After that, a test controls how much they read and send. */
export class HeldClients {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();

  constructor(t: TestContext, port: number) {
    this.#port = port;
    t.after(() => {
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** @returns the connection. Nothing is read from it */
  async send(method: string, path: string, headers: Record<string, string | number> = {}): Promise<Socket> {
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    const lines = Object.entries({ host: 'localhost', authorization: testBasic, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    assert.ok(socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`));
    return socket;
  }
}
