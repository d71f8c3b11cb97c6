import type { Socket } from 'node:net';
import type { Account } from '../../accounts/account.ts';
import { loginSource, type Refusal, refusalData } from '../../auth/ban-list.ts';
import type { EventPeer } from '../../events/event.ts';
import { peerAt } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { ThrottledCount } from '../../lib/rate-meter.ts';
import { type ConnectionOrigin, contextOf } from './connection-context.ts';
import type { ConnectionPlaces } from './connection-places.ts';
import { readProxyHeader } from './proxy-protocol.ts';

/** A connection on which nothing was said yet. */
export interface NewConnection extends ConnectionOrigin {
  /** The proxy's, where a proxy speaks for a client, until it is found out. */
  peer: EventPeer;
  readonly places: ConnectionPlaces;
  /** Connections of the service that were refused: told of sparingly. */
  readonly refusals: ThrottledCount;
}

/** Decides whether a client is spoken to: there is a place for it, its proxy says who it is, and its address is not banned. */
export async function isAdmitted(connection: NewConnection, socket: Socket): Promise<boolean> {
  const { service, places } = connection;
  if (isFull(connection, await places.enter())) return false;
  if (service.options.proxy_protocol && service.isProxy(connection.peer.address) && !(await learnPeer(connection, socket))) return false;
  if (isFull(connection, await places.enterFrom(connection.peer.address))) return false;
  return !(await isBanned(connection));
}

/** Tells that a client is refused as there are too many: event `sshConnectionRefused`. */
export function noteTooMany(connection: NewConnection, details: string, account?: Account): void {
  const refused = connection.refusals.record();
  if (refused === undefined) return;
  connection.service.events.emit({
    id: eventIds.sshConnectionRefused,
    context: contextOf(connection, account),
    data: { details, refused },
  });
}

/** Tells that a client is refused as its address, or the name, is banned: event `addressRefused`. */
export function noteBanned(connection: ConnectionOrigin, refusal: Refusal, username?: string): void {
  const data = refusalData(refusal, connection.peer.address, username);
  connection.service.events.emit({ id: eventIds.addressRefused, context: contextOf(connection), data });
}

function isFull(connection: NewConnection, fault: string | undefined): boolean {
  if (fault !== undefined) noteTooMany(connection, fault);
  return fault !== undefined;
}

/** Takes over from the proxy's header where the client is. @returns whether there was such a header */
async function learnPeer(connection: NewConnection, socket: Socket): Promise<boolean> {
  const { log, uuid } = connection.service;
  try {
    const client = await readProxyHeader(socket);
    if (client) connection.peer = peerAt(client.address, client.port);
    return true;
  } catch (error) {
    log.warn('a connection of a proxy was refused', { service: uuid, address: connection.peer.address, reason: error });
    return false;
  }
}

/** Also when bans cannot be looked up. */
async function isBanned(connection: ConnectionOrigin): Promise<boolean> {
  try {
    const refusal = await connection.service.bans.isRefused(loginSource(connection.peer.address));
    if (refusal) noteBanned(connection, refusal);
    return refusal !== undefined;
  } catch (error) {
    if (isServiceError(error) && error.code === 'unavailable') return true;
    throw error;
  }
}
