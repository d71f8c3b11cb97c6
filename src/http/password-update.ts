import { longestCredentialCharacters } from '../accounts/user-names.ts';
import { ServiceError } from '../lib/errors.ts';
import { errorsReply } from './error-reply.ts';
import { type Client, clientOf, type Exchange } from './exchange.ts';
import type { Reply } from './reply.ts';
import { readJsonBody } from './request-body.ts';

/** POST of a password change (service.md, "Session and password"; decisions.md 4, `password-update`). */
export async function updatePassword(exchange: Exchange): Promise<Reply> {
  const client = clientOf(exchange);
  if (!client.session) throw new ServiceError('unauthorized', 'A password is changed within a session.');
  const body = await readJsonBody(exchange);
  const { current_password, new_password } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof current_password !== 'string' || typeof new_password !== 'string') {
    throw new ServiceError('bad-request', 'The body must be an object with the texts "current_password" and "new_password".');
  }
  const problems = await changePassword(exchange, client, current_password, new_password);
  if (problems.length > 0) {
    return errorsReply(
      422,
      problems.map((message) => ({ message })),
    );
  }
  return { status: 204 };
}

/**
 * Changes the client's own password; events 20085 and 20086. All other sessions of the account end.
 *
 * @returns one sentence for each unmet rule, or for a wrong current password; empty when it was changed
 * @throws ServiceError `forbidden` when the group does not allow it or the password is kept elsewhere
 */
export async function changePassword(exchange: Exchange, client: Client, currentPassword: string, newPassword: string): Promise<string[]> {
  const { passwords, events, sessions } = exchange.service;
  const { account, session } = client;
  const failed = (details: unknown) => events.emit({ id: 20086, context: client.context, data: { details } });
  if (!account.allowOwnPasswordChange || !passwords.isOwn(account.method.uuid)) {
    failed('not allowed for this account');
    throw new ServiceError('forbidden', 'The password of this account cannot be changed here.');
  }
  events.assertWritable();
  const problems =
    newPassword.length > longestCredentialCharacters
      ? [`The password must not have more than ${longestCredentialCharacters} characters.`]
      : await passwords.change(account.method.uuid, account.name, currentPassword, newPassword);
  if (problems.length > 0) {
    failed(problems);
    return problems;
  }
  await sessions.endAll(account.uuid, session);
  await events.emitDurable({ id: 20085, context: client.context });
  return [];
}
