import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { acceptAnyHead } from '../lib/adapter-request.ts';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Metrics } from './metrics.ts';
import { createMonitorApp } from './monitor-app.ts';
import type { MonitorOptions } from './options.ts';
import type { MonitorSources } from './sources.ts';

/** The listening side of one `monitor` service: `/health`, `/ready`, `/metrics`. */
export class MonitorServer {
  readonly options: MonitorOptions;
  readonly #server: Server;

  constructor(options: MonitorOptions, sources: MonitorSources, metrics: Metrics, log: Log) {
    this.options = options;
    const app = createMonitorApp(sources, metrics, log);
    const paths = new WeakMap<object, string>();
    this.#server = createAdaptorServer({
      fetch: (request, { incoming }) => app.fetch(request, { path: paths.get(incoming) ?? '' }),
      hostname: 'monitor',
      overrideGlobalObjects: true,
      autoCleanupIncoming: false,
      createServer: ((options: object, listener: RequestListener) =>
        createServer(options, (incoming: IncomingMessage, outgoing) => {
          paths.set(incoming, (incoming.url ?? '').split('?', 1)[0] ?? '');
          acceptAnyHead(incoming);
          incoming.resume();
          listener(incoming, outgoing);
        })) as typeof createServer,
    }) as Server;
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
}
