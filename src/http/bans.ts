import { ServiceError } from '../lib/errors.ts';
import type { Exchange } from './exchange.ts';

/** @throws ServiceError `too-many-requests` with event 20005 before any method is asked, `unavailable` when bans cannot be looked up */
export async function checkBan(exchange: Exchange): Promise<void> {
  const { service, peer } = exchange;
  const refusal = await service.bans.isRefused(peer.address);
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

/** Counts the outcome of an attempt for the address it came from. @throws ServiceError `unavailable` when a failure cannot be counted */
export async function noteAttempt({ service, peer }: Exchange, succeeded: boolean): Promise<void> {
  if (!succeeded) return service.bans.failed(peer.address);
  // A count that is not reset errs on the strict side, so nobody need wait for it.
  service.bans.succeeded(peer.address).catch((error) => service.log.debug('failed attempts were not reset', { reason: error }));
}
