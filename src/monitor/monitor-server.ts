import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { acceptAnyHead } from '../lib/adapter-request.ts';
import { listen, urlOf } from '../lib/listen.ts';
import type { Log } from '../lib/log.ts';
import type { Metrics } from './metrics.ts';
import { createMonitorApp } from './monitor-app.ts';
import type { MonitorOptions } from './options.ts';
import type { MonitorSources } from './sources.ts';

/** The listening side of one `monitor` service: `/health`, `/ready`, `/metrics`. */
export class MonitorServer {
  readonly options: MonitorOptions;
  readonly #server: Server;
  readonly #log: Log;

  constructor(options: MonitorOptions, sources: MonitorSources, metrics: Metrics, log: Log) {
    this.options = options;
    this.#log = log;
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
    await listen(this.#server, this.options, (reason) => this.#log.error('server error', { service: 'monitor', reason }));
  }

  get url(): string {
    return urlOf('http', this.#server);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}
