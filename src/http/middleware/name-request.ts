import type { SyncMiddleware } from '../environment.ts';
import { nameReply } from '../reply/outgoing.ts';

/** Has the reply carry the ID of its request, also one that is made when nothing else works any more; a reply that breaks concerns nobody else. */
export const nameRequest: SyncMiddleware = ({ env: exchange }) => {
  nameReply(exchange.outgoing, exchange.request.id);
  exchange.outgoing.on('error', exchange.guarded(rethrow));
};

function rethrow(error: unknown): never {
  throw error;
}
