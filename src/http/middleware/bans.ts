import { sourceOf } from '../../auth/address-source.ts';
import type { AttemptOutcome } from '../../auth/ban-list.ts';
import type { Credentials } from '../../auth/credentials.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange } from '../request/exchange.ts';

/** @throws ServiceError `too-many-requests` with event 20005 for a banned address, `unavailable` when bans cannot be looked up */
export async function checkBan(exchange: Exchange): Promise<void> {
  const refusal = await exchange.service.bans.isRefused(sourceOf(exchange.peer.address));
  if (refusal) throw refuse(exchange, refusal.retryAfterS);
}

/**
 * Checks credentials as often as the security policy lets the client's address and the account's name be guessed at
 * (docs/spec/authentication.md#brute-force), and counts the outcome.
 *
 * @param check finds out what the credentials are worth
 * @param isRight whether what it found means that they are right
 * @throws what `check` throws; ServiceError `too-many-requests` with event 20005 before it is asked, `unavailable` when nothing can be counted
 */
export async function countedAttempt<T>(
  exchange: Exchange,
  { type, username, content }: Pick<Credentials, 'type' | 'username' | 'content'>,
  check: (isKnown: boolean) => Promise<T>,
  isRight: (result: T) => boolean,
): Promise<T> {
  const { service, peer } = exchange;
  const attempt = await service.attempts.begin({ type, username, content, address: peer.address }, service.chain.longestAnswerMs);
  if (attempt.kind === 'refused') throw refuse(exchange, attempt.retryAfterS, username);
  let outcome: AttemptOutcome = 'unknown';
  try {
    const result = await check(attempt.isKnown);
    outcome = isRight(result) ? 'succeeded' : 'failed';
    return result;
  } finally {
    const counted = attempt.end(outcome);
    // A failure that cannot be counted is none that may be told. Anything else that is not counted errs on the strict side.
    if (outcome === 'failed') await counted;
    else counted.catch((error) => service.log.debug('the end of an attempt was not counted', { reason: error }));
  }
}

function refuse(exchange: Exchange, retryAfterS: number, username?: string): ServiceError {
  const { service, peer } = exchange;
  service.events.emit({
    id: 20005,
    context: exchange.eventContext(),
    data: { address: peer.address, retry_after: retryAfterS, ...(username === undefined ? {} : { username }) },
  });
  return new ServiceError('too-many-requests', 'Too many failed attempts, try again later.', { details: { retry_after_s: retryAfterS } });
}
