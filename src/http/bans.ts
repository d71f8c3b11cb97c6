import { ServiceError } from '../lib/errors.ts';
import type { Exchange } from './exchange.ts';

/** @throws ServiceError `too-many-requests` with event 20005, before any method is asked */
export function checkBan(exchange: Exchange): void {
  const { service, peer } = exchange;
  const refusal = service.bans.isRefused(peer.address);
  if (!refusal) return;
  service.events.emit({
    id: 20005,
    context: exchange.eventContext(),
    data: { address: peer.address, retry_after: refusal.retryAfterS },
  });
  throw new ServiceError('too-many-requests', 'Too many failed attempts, try again later.', {
    details: { retry_after_s: refusal.retryAfterS },
  });
}

/** Counts the outcome of an attempt for the address it came from. */
export function noteAttempt(exchange: Exchange, succeeded: boolean): void {
  if (succeeded) exchange.service.bans.succeeded(exchange.peer.address);
  else exchange.service.bans.failed(exchange.peer.address);
}
