import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isJson } from '../lib/json.ts';
import type { Log } from '../lib/log.ts';
import {
  type ActionResult,
  actOn,
  type Collection,
  type ControlledName,
  controlledNames,
  type HeldAction,
  heldActions,
  type Item,
  parseSelection,
  removeSelected,
  selectedItems,
} from './collection.ts';
import { openSocketPath, type SocketPath } from './control-socket.ts';

type Controlled = Readonly<Record<ControlledName, Collection>>;

/**
 * The commands that operators can send, except lists and removals, by name. Each gets the parsed JSON of a request, and returns results.
 * @throws ServiceError
 */
export type Orders = Readonly<Record<string, (order: unknown) => Promise<readonly object[]>>>;

const maxOrderBytes = 64 * 1024;

const maxConnections = 32;

/** Time within which a client must send its request, in milliseconds. */
const requestWithinMs = 5000;

/** Time in milliseconds after which a client is disconnected if it reads nothing. */
const stallWithinMs = 30_000;

/**
 * Answers administrators at a Unix socket in the data folder. Replaces the socket of a dead process. Only the service's user may open the
 * socket (mode 0600).
 *
 * Requests are HTTP: `GET /sessions`, `DELETE /sessions?id=…`, and the same for `/locks`, `/bans`, `/trash` and `/held`. `POST /trash?id=…`
 * restores items, `POST /held/ACTION?id=…` acts on held uploads, and `POST /orders/NAME` with a JSON body runs a command. Replies are
 * NDJSON.
 *
 * @param dataFolderPath folder in which the socket is created: the data folder, or with `--workers` the folder that all nodes share
 * @returns a function that closes the socket
 * @throws ServiceError `unavailable` if the folder cannot contain a socket
 */
export async function openControlSocket(
  dataFolderPath: string,
  collections: Controlled,
  log: Log,
  orders: Orders = {},
): Promise<() => Promise<void>> {
  const limits = { headersTimeout: requestWithinMs, requestTimeout: requestWithinMs, connectionsCheckingInterval: 1000 };
  const server = createServer(
    { ...limits, maxHeaderSize: 64 * 1024 },
    (incoming, outgoing) => void answer(incoming, outgoing, { collections, orders }, log),
  );
  server.maxConnections = maxConnections;
  server.setTimeout(stallWithinMs);
  server.on('error', (error) => log.warn('the control socket cannot accept a connection', { reason: error }));
  const closeSocket = await listenAtSocket(server, dataFolderPath);
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    closeSocket();
  };
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { collections, orders }: { collections: Controlled; orders: Orders },
  log: Log,
): Promise<void> {
  // Each connection serves only one request.
  outgoing.setHeader('connection', 'close');
  try {
    const isOrder = incoming.method === 'POST' && incoming.url?.startsWith('/orders/');
    const items = isOrder ? await obey(incoming, orders) : (await handleItems(incoming, collections, log)).map(({ shown }) => shown);
    outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' });
    await pipeline(Readable.from(items.map((item) => `${JSON.stringify(item)}\n`)), outgoing);
  } catch (error) {
    if (outgoing.headersSent) return void outgoing.destroy();
    const isExpected = isServiceError(error);
    if (!isExpected) log.error('a request to the control socket failed', { reason: error });
    const status = isExpected ? (statuses[error.code] ?? 503) : 500;
    const message = isExpected ? error.message : 'The service failed to answer; see its log.';
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify({ error: message })}\n`);
  }
}

const statuses: Readonly<Record<string, number>> = {
  'bad-request': 400,
  exists: 409,
  'not-found': 404,
  'method-not-allowed': 405,
  unprocessable: 422,
  'too-many-requests': 429,
};

/** Runs a command. @throws ServiceError `not-found`, `bad-request`, and the errors of the command */
async function obey(incoming: IncomingMessage, orders: Orders): Promise<readonly object[]> {
  const name = incoming.url?.slice('/orders/'.length) ?? '';
  const carryOut = Object.hasOwn(orders, name) ? orders[name] : undefined;
  if (!carryOut) throw new ServiceError('not-found', `There is no command "${name}".`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxOrderBytes) throw new ServiceError('bad-request', 'The request is too large.');
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (!isJson(text)) throw new ServiceError('bad-request', 'The request is not JSON.');
  return carryOut(JSON.parse(text));
}

/**
 * Lists, removes or restores items, or acts on them, as the request asks.
 *
 * @returns the items of the reply
 * @throws ServiceError `not-found`, `bad-request`, `method-not-allowed`
 */
async function handleItems({ method, url = '' }: IncomingMessage, collections: Controlled, log: Log): Promise<Pick<Item, 'shown'>[]> {
  if (!URL.canParse(url, 'http://control')) throw new ServiceError('bad-request', 'The request target is not a path.');
  const { pathname, searchParams } = new URL(url, 'http://control');
  const name = controlledNames.find((candidate) => pathname === `/${candidate}`);
  const action = heldActions.find((candidate) => pathname === `/held/${candidate}`);
  if (action) return actOnHeld(method, action, searchParams, collections, log);
  if (!name)
    throw new ServiceError('not-found', `Not found. The paths are ${controlledNames.map((candidate) => `/${candidate}`).join(', ')}.`);
  const collection: Collection = collections[name];
  const { restore } = collection;
  if (method !== 'GET' && method !== 'DELETE' && !(method === 'POST' && restore))
    throw new ServiceError('method-not-allowed', `Only GET${restore ? ', POST' : ''} and DELETE are supported here.`);
  const selection = parseSelection(searchParams);
  if (method === 'POST') {
    if (!selection.ids) throw new ServiceError('bad-request', 'Name the items to restore by their ids.');
    return (await restore?.(await selectedItems(collection, selection))) ?? [];
  }
  if (method === 'GET') return selectedItems(collection, selection);
  const items = await removeSelected(collection, selection);
  const ids = items.slice(0, 100).map(({ shown }) => shown.id);
  if (items.length > 0) log.info(`items of "${name}" were removed through the control socket`, { ids, number: items.length });
  return items;
}

async function actOnHeld(
  method: string | undefined,
  action: HeldAction,
  query: URLSearchParams,
  { held }: Controlled,
  log: Log,
): Promise<{ shown: ActionResult }[]> {
  if (method !== 'POST') throw new ServiceError('method-not-allowed', 'Only POST is supported here.');
  const by = query.get('by') ?? '';
  const results = await actOn(held, action, query.getAll('id'), by, query.get('reason') ?? undefined);
  const ids = results.filter(({ error }) => error === undefined).map(({ id }) => id);
  if (ids.length > 0) log.info(`held uploads: ${action} through the control socket`, { ids: ids.slice(0, 100), number: ids.length, by });
  return results.map((shown) => ({ shown }));
}

/**
 * Listens at the control socket of a data folder. @returns `SocketPath.close`, to be called when the server is closed
 * @throws the errors of `openControlSocket`
 */
async function listenAtSocket(server: Server, dataFolderPath: string): Promise<() => void> {
  let socket: SocketPath | undefined;
  try {
    socket = openSocketPath(dataFolderPath);
    const { path, close } = socket;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) unlinkSync(path);
    const listening = once(server, 'listening');
    // Because of `exclusive`, this process listens itself instead of the cluster's primary, so bind(2) creates the file during this call.
    // The umask ensures that other users can never open the file.
    const umask = process.umask(0o177);
    try {
      server.listen({ path, exclusive: true });
    } finally {
      process.umask(umask);
    }
    await listening;
    return close;
  } catch (error) {
    socket?.close();
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', `The control socket cannot be created in ${dataFolderPath}: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
