import type { EventPeer } from '../../events/event.ts';
import { peerAt } from '../../events/event-factory.ts';
import { clientBehindProxies } from '../../lib/headers/forwarded-header.ts';
import type { Incoming } from '../request/incoming.ts';

/** The peer of a request whose connection is already gone. */
const nobody: EventPeer = { address: '0.0.0.0', port: 0, protocol: 'TCP', family: 'IPv4' };

/** The proxies whose header names the client. */
export interface ForwardedTrust {
  /** Empty = no header is trusted. */
  header: string;
  /** Whether an address is a trusted proxy's. */
  isProxy: (address: string) => boolean;
}

/** The sender of a request: the connection's peer or, if that is a trusted proxy, the client in its header (docs/spec/authentication.md#client-address). */
export function clientPeer(incoming: Incoming, trust: ForwardedTrust): EventPeer {
  const near = nearPeer(incoming);
  if (trust.header === '' || !trust.isProxy(near.address)) return near;
  const value = incoming.headers[trust.header.toLowerCase()];
  const client = clientBehindProxies(trust.header, Array.isArray(value) ? value.join(', ') : (value ?? ''), trust.isProxy);
  return client ? peerAt(client.address, client.port) : near;
}

/** Whether a request came through a trusted proxy. */
export function isForwarded(incoming: Incoming, trust: ForwardedTrust): boolean {
  return trust.header !== '' && trust.isProxy(nearPeer(incoming).address);
}

function nearPeer({ socket }: Incoming): EventPeer {
  let known = ofSockets.get(socket);
  if (!known && socket.remoteAddress !== undefined) {
    known = peerAt(socket.remoteAddress, socket.remotePort ?? 0);
    ofSockets.set(socket, known);
  }
  return known ?? nobody;
}

/** The peers of connections. */
const ofSockets = new WeakMap<object, EventPeer>();
