import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import {
  type Collection,
  type ControlledName,
  controlledNames,
  type Item,
  parseSelection,
  removeSelected,
  selectedItems,
} from './collection.ts';
import { openSocketPath, type SocketPath } from './control-socket.ts';

type Controlled = Readonly<Record<ControlledName, Collection>>;

/** Clients at once; whoever runs the service is few. */
const maxConnections = 32;

/** How long a client may take for its request, in milliseconds. */
const requestWithinMs = 5000;

/** How long a client may read nothing, in milliseconds. */
const stallWithinMs = 30_000;

/**
 * Answers those who run the service, on a Unix socket in the data folder that its account alone may open (0600). The requests are HTTP without
 * bodies: `GET /sessions`, `DELETE /sessions?id=…`, locks and bans alike; the replies have one JSON object a line.
 */
export class ControlServer {
  readonly #collections: Controlled;
  readonly #log: Log;
  readonly #server: Server;
  #closeSocket: (() => void) | undefined;

  private constructor(collections: Controlled, log: Log) {
    this.#collections = collections;
    this.#log = log;
    const limits = { headersTimeout: requestWithinMs, requestTimeout: requestWithinMs, connectionsCheckingInterval: 1000 };
    this.#server = createServer({ ...limits, maxHeaderSize: 64 * 1024 }, (incoming, outgoing) => void this.#answer(incoming, outgoing));
    this.#server.maxConnections = maxConnections;
    this.#server.setTimeout(stallWithinMs);
    this.#server.on('error', (error) => log.warn('the control socket cannot accept a connection', { reason: error }));
  }

  /**
   * Begins to accept connections, in place of a socket that a dead process left.
   *
   * @param dataFolderPath of which this process is the owner
   * @throws ServiceError `unavailable` when there can be no socket there
   */
  static async open(dataFolderPath: string, collections: Controlled, log: Log): Promise<ControlServer> {
    const control = new ControlServer(collections, log);
    try {
      control.#closeSocket = await listenAtSocket(control.#server, dataFolderPath);
      return control;
    } catch (error) {
      await control.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
    this.#closeSocket?.();
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // One request a connection, and none has a body.
    outgoing.setHeader('connection', 'close');
    try {
      const items = await this.#itemsFor(incoming);
      outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' });
      await pipeline(Readable.from(items.map(({ shown }) => `${JSON.stringify(shown)}\n`)), outgoing);
    } catch (error) {
      if (outgoing.headersSent) outgoing.destroy();
      else this.#refuse(outgoing, error);
    }
  }

  async #itemsFor(incoming: IncomingMessage): Promise<Item[]> {
    const { name, query } = targetOf(incoming.url ?? '');
    if (incoming.method !== 'GET' && incoming.method !== 'DELETE')
      throw new ServiceError('method-not-allowed', 'Only GET and DELETE are supported here.');
    const collection = this.#collections[name];
    const selection = parseSelection(query);
    if (incoming.method === 'GET') return selectedItems(collection, selection);
    const items = await removeSelected(collection, selection);
    if (items.length > 0)
      this.#log.info(`${name} were removed by the control socket`, {
        ids: items.slice(0, 100).map(({ shown }) => shown.id),
        number: items.length,
      });
    return items;
  }

  #refuse(outgoing: ServerResponse, error: unknown): void {
    const isExpected = isServiceError(error);
    if (!isExpected) this.#log.error('a request to the control socket failed', { reason: error });
    const status = isExpected ? (statuses[error.code] ?? 503) : 500;
    const message = isExpected ? error.message : 'The service failed to answer; see its log.';
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify({ error: message })}\n`);
  }
}

const statuses: Readonly<Record<string, number>> = { 'bad-request': 400, 'not-found': 404, 'method-not-allowed': 405 };

/** @throws ServiceError `not-found`, `bad-request` */
function targetOf(target: string): { name: ControlledName; query: URLSearchParams } {
  if (!URL.canParse(target, 'http://control')) throw new ServiceError('bad-request', 'The target is no path.');
  const { pathname, searchParams } = new URL(target, 'http://control');
  const name = controlledNames.find((candidate) => pathname === `/${candidate}`);
  if (!name) throw new ServiceError('not-found', `There are ${controlledNames.map((candidate) => `/${candidate}`).join(', ')}.`);
  return { name, query: searchParams };
}

/**
 * Has one of several services answer at the control socket of the data folder that they have in common.
 *
 * @param next the data folder of the service that answers the next connection; undefined when none does
 * @returns ends it
 * @throws ServiceError `unavailable` when there can be no socket there
 */
export async function shareControlSocket(dataFolderPath: string, next: () => string | undefined): Promise<() => Promise<void>> {
  const connections = new Set<Socket>();
  const server = createNetServer((client) => {
    const folder = next();
    connections.add(client);
    client.on('close', () => connections.delete(client));
    // Who is cut off before the reply says that no service answered.
    pass(client, folder).catch(() => client.destroy());
  });
  server.maxConnections = maxConnections;
  server.on('error', () => {});
  const closeSocket = await listenAtSocket(server, dataFolderPath);
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const connection of connections) connection.destroy();
    await closed;
    closeSocket();
  };
}

async function pass(client: Socket, folder: string | undefined): Promise<void> {
  if (folder === undefined) throw new ServiceError('unavailable', 'No service answers.');
  const place = openSocketPath(folder);
  try {
    await pipeline(client, connect(place.path), client);
  } finally {
    place.close();
  }
}

/**
 * Has a server accept connections at the control socket of a data folder, in place of one that a dead process left.
 *
 * @param dataFolderPath of which this process is the owner
 * @returns ends what the path needs, once the server is closed
 * @throws ServiceError `unavailable` when there can be no socket there
 */
async function listenAtSocket(server: NetServer, dataFolderPath: string): Promise<() => void> {
  let place: SocketPath | undefined;
  try {
    place = openSocketPath(dataFolderPath);
    const { path } = place;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) unlinkSync(path);
    const listening = once(server, 'listening');
    // bind(2) makes the file, within this call, and nobody else may ever open it.
    const umask = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(umask);
    }
    await listening;
    return () => place?.close();
  } catch (error) {
    place?.close();
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', `There can be no control socket in ${dataFolderPath}: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
