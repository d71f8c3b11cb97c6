import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isHttp2 } from '../reply/outgoing.ts';
import type { Exchange } from './exchange.ts';
import { hasBody } from './request-body.ts';

/** A refused body up to this size is read and dropped, so that the connection can be used again. */
const drainLimitBytes = 64 * 1024;

/** So many pieces of a refused body are read, whatever their size: then the client has to wait for its reply. */
const maxDrainedPieces = 10_000;

/** How long a client may go on sending a refused body before the connection is cut. */
const lingerMs = 2000;

/**
 * Deals with a request body that nobody will read, before the reply is sent. A small one is drained. For a large one
 * the connection is closed after the reply; it lingers while the client still sends, because closing at once would
 * reset the connection and the client would never see the reply (RFC 9112 §9.6).
 */
export function endUnreadBody(exchange: Exchange): void {
  const { incoming, outgoing, service } = exchange;
  if (!(incoming instanceof IncomingMessage) || isHttp2(outgoing) || incoming.complete || !mayHaveBody(exchange)) return;
  incoming.on('error', () => {});
  incoming.resume();
  const announcedBytes = Number(incoming.headers['content-length'] ?? Number.NaN);
  if (announcedBytes <= drainLimitBytes && incoming.headers.expect === undefined) return;
  outgoing.setHeader('connection', 'close');
  let pieces = 0;
  const onPiece = () => {
    if (++pieces === maxDrainedPieces) incoming.pause();
  };
  incoming.on('data', exchange.guarded(onPiece));
  const socket: Socket = incoming.socket;
  // Node.js would destroy the socket with the reply still in the client's receive buffer.
  socket.destroySoon = () => socket.end();
  service.clock.after(
    lingerMs,
    exchange.guarded(() => socket.destroy()),
  );
}

function mayHaveBody(exchange: Exchange): boolean {
  try {
    return hasBody(exchange);
  } catch {
    return true;
  }
}
