import { ServiceError } from '../../lib/errors.ts';
import { showDuePage } from '../html/due-page.ts';
import { jsonReply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { replyFormat } from '../request/reply-format.ts';

/** Answers GET of the files that the account is expected to send (docs/spec/expectations.md#accounts). */
export async function showExpectations(exchange: Exchange): Promise<Response> {
  const { account } = signedIn(exchange);
  if (!account.showExpectations) throw new ServiceError('never-allowed', 'Files that are due are not shown to this account.');
  const expectations = await exchange.service.expectations(account);
  if (replyFormat(exchange) === 'html') return showDuePage(exchange, expectations);
  return respond(exchange, jsonReply(200, { expectations }, { 'cache-control': 'no-store' }));
}
