import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ServiceError } from '../lib/errors.ts';
import { isObject } from '../lib/json.ts';
import { type ActionResult, type ControlledName, type HeldAction, type Selection, type ShownItem, selectionQuery } from './collection.ts';

/** Maximum time to wait for the service, in milliseconds. It is long, because ending sessions waits for all nodes, and a node can hang. */
const answerWithinMs = 60_000;

/** Maximum number of IDs in one request, so that the request line stays short. */
const maxIdsOfRequest = 200;

/**
 * Asks the service that owns a data folder to list (GET), remove (DELETE) or restore (POST) items.
 *
 * @returns the selected items
 * @throws ServiceError `unavailable` if no service answers or the service fails; `bad-request` if the service refuses the request
 */
export async function askService(
  dataFolderPath: string,
  method: 'GET' | 'DELETE' | 'POST',
  name: ControlledName,
  selection: Selection,
): Promise<ShownItem[]> {
  const items: ShownItem[] = [];
  let rest = selection.ids;
  do {
    const query = selectionQuery({ ...selection, ids: rest?.slice(0, maxIdsOfRequest) });
    items.push(...(await ask(dataFolderPath, method, `/${name}?${query}`)));
    rest = rest?.slice(maxIdsOfRequest);
  } while (rest && rest.length > 0);
  return items;
}

/**
 * Sends a command to the service that owns a data folder.
 *
 * @returns the items of the reply
 * @throws the errors of `askService`
 */
export async function orderOfService(dataFolderPath: string, name: string, order: object): Promise<ShownItem[]> {
  return ask(dataFolderPath, 'POST', `/orders/${name}`, JSON.stringify(order));
}

/**
 * Asks the service that owns a data folder to act on held uploads.
 *
 * @param by name of the person who decides, for the events
 * @throws the errors of `askService`
 */
export async function askHeld(
  dataFolderPath: string,
  action: HeldAction,
  ids: readonly string[],
  by: string,
  reason: string | undefined,
): Promise<ActionResult[]> {
  const results: ActionResult[] = [];
  for (let index = 0; index < ids.length; index += maxIdsOfRequest) {
    const query = selectionQuery({ ids: ids.slice(index, index + maxIdsOfRequest) });
    query.set('by', by);
    if (reason !== undefined) query.set('reason', reason);
    results.push(...(await ask(dataFolderPath, 'POST', `/held/${action}?${query}`)));
  }
  return results;
}

async function ask(dataFolderPath: string, method: string, target: string, body?: string): Promise<ShownItem[]> {
  let socket: SocketPath | undefined;
  try {
    socket = openSocketPath(dataFolderPath);
    const { status, text } = await send(socket.path, method, target, body);
    const lines = text.split('\n').filter((line) => line !== '');
    if (status === 200) return lines.map(readItem);
    const { error } = JSON.parse(text) as { error: string };
    throw new ServiceError(status !== undefined && [400, 404, 409, 422, 429].includes(status) ? 'bad-request' : 'unavailable', error);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', `No service answers in ${dataFolderPath}: ${(error as Error).message}.`, { cause: error });
  } finally {
    socket?.close();
  }
}

/** Parses one line of the reply. @throws Error if the line is not an item */
function readItem(line: string): ShownItem {
  const item: unknown = JSON.parse(line);
  if (!isObject(item)) throw new Error('its reply is not a list of items');
  return item as ShownItem;
}

async function send(
  socketPath: string,
  method: string,
  path: string,
  body: string | undefined,
): Promise<{ status: number | undefined; text: string }> {
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ socketPath, method, path, headers: { host: 'control' }, timeout: answerWithinMs }, resolve);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${answerWithinMs / 1000} s`)));
    outgoing.on('error', reject);
    // Node.js silently drops a reply with status 101, so that only `close` is emitted.
    outgoing.on('close', () => reject(new Error('the connection ended without a reply')));
    outgoing.end(body);
  });
  return { status: reply.statusCode, text: (await buffer(reply)).toString('utf8') };
}

/** Name of the control socket in the data folder. */
const socketName = 'control.sock';

/** The length, in bytes, that all systems support for the path of a Unix socket. macOS allows 103, Linux 107 (unix(7), `sun_path`). */
const longestPathBytes = 103;

/** A path of the control socket that is short enough for bind(2) and connect(2). */
export interface SocketPath {
  readonly path: string;
  /** Closes the descriptor, if the path leads through one. Call this when the socket is closed. */
  close(): void;
}

/**
 * Finds a path for the control socket. If the normal path is too long, the returned path leads through /proc and a descriptor of the
 * folder.
 *
 * @throws ServiceError `unavailable` if the path is too long and there is no /proc
 * @throws the errors of `openSync`
 */
export function openSocketPath(dataFolderPath: string): SocketPath {
  const path = join(dataFolderPath, socketName);
  if (Buffer.byteLength(path) <= longestPathBytes) return { path, close() {} };
  if (!existsSync('/proc/self/fd'))
    throw new ServiceError('unavailable', `${path} is longer than the ${longestPathBytes} bytes that a Unix socket's path may have.`);
  const fd = openSync(dataFolderPath, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${fd}/${socketName}`, close: () => closeSync(fd) };
}
