import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Metrics } from './metrics.ts';
import type { MonitorOptions } from './options.ts';
import type { MonitorSources } from './sources.ts';

/** The listening side of one `monitor` service: `/health`, `/ready`, `/metrics`. */
export class MonitorServer {
  readonly options: MonitorOptions;
  readonly #sources: MonitorSources;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #server: Server;

  constructor(options: MonitorOptions, sources: MonitorSources, metrics: Metrics, log: Log) {
    this.options = options;
    this.#sources = sources;
    this.#metrics = metrics;
    this.#log = log;
    this.#server = createServer((incoming, outgoing) => void this.#answer(incoming, outgoing));
  }

  /**
   * Begins to accept connections.
   *
   * @throws ServiceError `unavailable` naming the address when it is in use or not permitted
   */
  async listen(): Promise<void> {
    const { address, port } = this.options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) => {
        const reason = systemErrorCode(error) === 'EADDRINUSE' ? 'the port is in use by another process' : error.message;
        reject(new ServiceError('unavailable', `monitor service cannot listen on ${address}:${port}: ${reason}.`, { cause: error }));
      });
      this.#server.listen({ host: address, port }, () => resolve());
    });
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  // Never rejects.
  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '').split('?', 1)[0];
    incoming.resume();
    try {
      if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
        outgoing.setHeader('allow', 'GET, HEAD');
        send(outgoing, 405, { error: 'Only GET and HEAD are supported here.' });
      } else if (path === '/health') send(outgoing, 200, { status: 'ok' });
      else if (path === '/ready') await this.#sendReadiness(outgoing);
      else if (path === '/metrics') {
        const text = await this.#metrics.text();
        outgoing.writeHead(200, { 'content-type': this.#metrics.contentType, 'cache-control': 'no-store' }).end(text);
      } else send(outgoing, 404, { error: 'There are /health, /ready and /metrics.' });
    } catch (error) {
      this.#metrics.internalError();
      this.#log.error('internal error', {
        method: incoming.method,
        path,
        reason: error,
        stack: error instanceof Error ? error.stack : undefined,
      });
      // A source failed in a way it should not; whoever asks for readiness must not be told that all is well.
      if (outgoing.headersSent) outgoing.destroy();
      else send(outgoing, 500, { error: 'The figures could not be collected.' });
    }
  }

  async #sendReadiness(outgoing: ServerResponse): Promise<void> {
    const checks = await this.#sources.checks();
    const isReady = Object.values(checks).every((result) => result === true);
    const shown = Object.fromEntries(Object.entries(checks).map(([name, result]) => [name, result === true ? 'ok' : result]));
    send(outgoing, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not-ready', checks: shown });
  }
}

function send(outgoing: ServerResponse, status: number, value: unknown): void {
  const body = `${JSON.stringify(value)}\n`;
  outgoing.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  outgoing.end(body);
}
