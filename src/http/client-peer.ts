import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { EventPeer } from '../events/event.ts';
import { addressFamily, normaliseAddress, parseForwardedClient } from '../lib/forwarded-header.ts';

/** The peer of a request whose connection is already gone. */
const nobody: EventPeer = { address: '0.0.0.0', port: 0, protocol: 'TCP', family: 'IPv4' };

/**
 * Who sent a request: the connection's other end or, behind a proxy, the first address of the configured header
 * (decisions.md, `credentials.peer`). Without `client_forwarded_header` no header is believed.
 */
export function clientPeer(incoming: IncomingMessage | Http2ServerRequest, forwardedHeader: string): EventPeer {
  if (forwardedHeader !== '') {
    const value = incoming.headers[forwardedHeader.toLowerCase()];
    const client = parseForwardedClient(forwardedHeader, Array.isArray(value) ? value.join(', ') : (value ?? ''));
    if (client) return peer(client.address, client.port);
  }
  const { socket } = incoming;
  let known = ofSockets.get(socket);
  if (!known && socket.remoteAddress !== undefined) {
    known = peer(socket.remoteAddress, socket.remotePort ?? 0);
    ofSockets.set(socket, known);
  }
  return known ?? nobody;
}

/** The other ends of the connections that requests came on. */
const ofSockets = new WeakMap<object, EventPeer>();

function peer(rawAddress: string, port: number): EventPeer {
  const address = normaliseAddress(rawAddress);
  return { address, port, protocol: 'TCP', family: addressFamily(address) };
}
