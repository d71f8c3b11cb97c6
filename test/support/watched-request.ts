import { type IncomingHttpHeaders, request } from 'node:http';
import type { Client } from './client.ts';
import { testUser } from './secrets.ts';

/** A reply, with the interim replies that preceded it. */
export interface WatchedReply {
  interim: { status: number; headers: IncomingHttpHeaders }[];
  /** The status; 0 if the connection ended without a reply. */
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A request on a separate connection that a test sends step by step. */
export class WatchedRequest {
  readonly interim: WatchedReply['interim'] = [];
  readonly done: Promise<WatchedReply>;
  readonly #outgoing: ReturnType<typeof request>;

  constructor(client: Client, method: string, target: string, headers: Record<string, string> = {}, user = testUser) {
    const { hostname, port } = new URL(client.url);
    const authorization = `Basic ${Buffer.from(user).toString('base64')}`;
    this.#outgoing = request({ hostname, port, method, path: target, headers: { authorization, ...headers }, agent: false });
    this.#outgoing.on('information', ({ statusCode, headers: told }) => this.interim.push({ status: statusCode, headers: told }));
    this.done = new Promise((resolve) => {
      const ended = (status: number, told: IncomingHttpHeaders, text: string) =>
        resolve({ interim: this.interim, status, headers: told, text });
      this.#outgoing.on('error', () => ended(0, {}, ''));
      this.#outgoing.on('response', (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', () => ended(0, {}, ''));
        incoming.on('end', () => ended(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks).toString()));
      });
    });
    this.#outgoing.flushHeaders();
  }

  write(chunk: Buffer): Promise<void> {
    return new Promise((resolve) => this.#outgoing.write(chunk, () => resolve()));
  }

  end(chunk?: Buffer): Promise<WatchedReply> {
    this.#outgoing.end(chunk);
    return this.done;
  }

  cut(): void {
    this.#outgoing.destroy();
  }

  /** Returns the URL in the first interim reply. */
  async location(): Promise<string> {
    for (let tries = 0; this.interim.length === 0 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    return String(this.interim[0]?.headers.location);
  }
}
