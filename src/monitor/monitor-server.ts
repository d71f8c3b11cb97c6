import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { acceptAnyHead, isFaultilyFramed, listen, serverUrl } from '../lib/listen.ts';
import type { Log } from '../lib/log.ts';
import type { Metrics } from './metrics.ts';
import type { MonitorOptions } from './options.ts';
import type { MonitorSources } from './sources.ts';

interface MonitorEnvironment {
  /** The path as the client sent it. */
  Bindings: { path: string };
}

/** Creates the Hono application of a `monitor` service. */
function createMonitorApp(sources: MonitorSources, metrics: Metrics, log: Log): Hono<MonitorEnvironment> {
  const app = new Hono<MonitorEnvironment>({ getPath: (_, options) => (options as { env: { path: string } }).env.path });
  app.use(async (context, next) => {
    const { method } = context.req;
    if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'Only GET and HEAD are supported here.' }, { allow: 'GET, HEAD' });
    return next();
  });
  app.get('/health', () => json(200, { status: 'ok' }));
  app.get('/ready', () => readiness(sources));
  app.get('/metrics', async () => reply(200, metrics.contentType, await metrics.text()));
  app.notFound(() => json(404, { error: 'Not found. The monitor serves /health, /ready and /metrics.' }));
  app.onError((error, context) => {
    metrics.internalError();
    log.error('internal error', { method: context.req.method, path: context.env.path, reason: error, stack: error.stack });
    // A source failed unexpectedly, so the server must not appear ready.
    return json(500, { error: 'The metrics could not be collected.' });
  });
  return app;
}

async function readiness(sources: MonitorSources): Promise<Response> {
  const checks = await sources.checks();
  const isReady = Object.values(checks).every((result) => result === true);
  const shown = Object.fromEntries(Object.entries(checks).map(([name, result]) => [name, result === true ? 'ok' : result]));
  return json(isReady ? 200 : 503, { status: isReady ? 'ready' : 'not-ready', checks: shown });
}

function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return reply(status, 'application/json; charset=utf-8', `${JSON.stringify(value)}\n`, headers);
}

// The length is set explicitly, so that the reply to HEAD has it, too. Hono creates the reply to HEAD from the reply to GET.
function reply(status: number, contentType: string, body: string, headers: Record<string, string> = {}): Response {
  const length = String(Buffer.byteLength(body));
  return new Response(body, {
    status,
    headers: { ...headers, 'content-type': contentType, 'content-length': length, 'cache-control': 'no-store' },
  });
}

const badRequest = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/** The listening side of one `monitor` service, with `/health`, `/ready` and `/metrics`. */
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
          if (incoming.socket.writableEnded) return;
          if (isFaultilyFramed(incoming)) return void incoming.socket.end(badRequest);
          paths.set(incoming, (incoming.url ?? '').split('?', 1)[0] ?? '');
          acceptAnyHead(incoming);
          incoming.resume();
          listener(incoming, outgoing);
        })) as typeof createServer,
    }) as Server;
  }

  /**
   * Starts to accept connections.
   *
   * @throws ServiceError `unavailable` if the address is in use or not permitted. The message names the address
   */
  async listen(): Promise<void> {
    await listen(this.#server, this.options, (reason) => this.#log.error('server error', { service: 'monitor', reason }));
  }

  get url(): string {
    return serverUrl('http', this.#server);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}
