import { loginSource } from '../../auth/ban-list.ts';
import { eventIds } from '../../events/event-ids.ts';
import { notDurable } from '../../events/internal-error.ts';
import { UnsyncedChange } from '../../lib/disk/durable-files.ts';
import { ServiceError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import { isObject } from '../../lib/json.ts';
import { flashRedirect } from '../html/page-cookies.ts';
import { makePageContext, pageReply } from '../html/page-replies.ts';
import { countedAttempt } from '../middleware/authenticate.ts';
import { errorsReply } from '../reply/error-reply.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Client, type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest, replyFormat } from '../request/reply-format.ts';
import { readJsonBody, readSmallForm } from '../request/request-body.ts';

function passwordPage(exchange: Exchange, status: number, problems: readonly string[]): Reply {
  const context = makePageContext(exchange);
  const { language: text } = context;
  const body = html`<div id="notices" aria-live="polite"></div>
<main class="card" id="main">
<h1>${text.text('changePassword')}</h1>
${passwordRules(exchange)}
${problems.length > 0 && html`<div class="notice error" role="alert">${problems.map((problem) => html`<p>${problem}</p>`)}</div>`}
<form id="members" tabindex="-1" method="post" action="/home/__svc__/password-update">
<input class="hidden" name="username" autocomplete="username" value="${context.account?.name ?? ''}" readonly tabindex="-1" aria-hidden="true">
<label for="current">${text.text('currentPassword')}</label>
<input id="current" name="current_password" type="password" autocomplete="current-password" required autofocus>
<label for="new">${text.text('newPassword')}</label>
<input id="new" name="new_password" type="password" autocomplete="new-password" required>
<label for="repeat">${text.text('repeatPassword')}</label>
<input id="repeat" name="repeat_password" type="password" autocomplete="new-password" required data-differs="${text.text('passwordsDiffer')}">
<p class="hint">${text.text('othersSignedOut')}</p>
<div class="row"><a class="button" href="/home/">${text.text('cancel')}</a> <button type="submit" class="primary">${text.text('changePassword')}</button></div>
</form>
</main>`;
  return pageReply(context, status, { title: text.text('changePassword'), body, hasScript: true });
}

/** Lists the rules for a new password, so that users know them before they type one. */
function passwordRules(exchange: Exchange) {
  const { language } = makePageContext(exchange);
  const { minimum_length: length, character_requirements: kinds, history } = exchange.service.passwords.policy;
  const rules = [
    length > 0 && language.text('ruleLength', { count: length }),
    ...kinds.map((kind) => language.text(ruleTexts[kind as keyof typeof ruleTexts])),
    history > 0 && language.text('ruleHistory', { count: history }),
  ].filter((rule) => rule !== false);
  return (
    rules.length > 0 && html`<p>${language.text('passwordRules')}</p><ul class="rules">${rules.map((rule) => html`<li>${rule}</li>`)}</ul>`
  );
}

const ruleTexts = { lowercase: 'ruleLowercase', uppercase: 'ruleUppercase', digit: 'ruleDigit', symbol: 'ruleSymbol' } as const;

/** Handles GET of the page on which users change their own password (docs/spec/http.md#password-change). */
export function showPasswordPage(exchange: Exchange): Promise<Response> {
  if (!makePageContext(exchange).account?.mayChangePassword) {
    const { session } = signedIn(exchange);
    throw session
      ? new ServiceError('never-allowed', 'The password of this account cannot be changed here.')
      : new ServiceError('unauthorized', 'A password can be changed only within a session.');
  }
  return respond(exchange, passwordPage(exchange, 200, []));
}

function problemsReply(problems: readonly string[]): Reply {
  return errorsReply(
    422,
    problems.map((message) => ({ message })),
  );
}

/** Handles the POST of a password change, as JSON or from the page's form (docs/spec/http.md#password-change). */
export async function updatePassword(exchange: Exchange): Promise<Response> {
  const client = signedIn(exchange);
  if (!client.session) throw new ServiceError('unauthorized', 'A password can be changed only within a session.');
  const type = mediaTypeOfRequest(exchange);
  if (type === 'application/x-www-form-urlencoded') return respond(exchange, await updatePasswordByForm(exchange, client));
  if (type !== 'application/json')
    throw new ServiceError(
      'media-type-unsupported',
      'A password change must be sent as application/json or application/x-www-form-urlencoded.',
    );
  const body = await readJsonBody(exchange);
  const { current_password, new_password } = isObject(body) ? body : {};
  if (typeof current_password !== 'string' || typeof new_password !== 'string') {
    throw new ServiceError('bad-request', 'The body must be an object with the strings "current_password" and "new_password".');
  }
  const problems = await changePassword(exchange, client, current_password, new_password);
  return respond(exchange, problems.length > 0 ? problemsReply(problems) : { status: 204 });
}

async function updatePasswordByForm(exchange: Exchange, client: Client): Promise<Reply> {
  const fields = await readSmallForm(exchange);
  const [current, wanted, repeated] = ['current_password', 'new_password', 'repeat_password'].map((name) => fields.get(name));
  if (current == null || wanted == null)
    throw new ServiceError('bad-request', 'The form must have the fields "current_password" and "new_password".');
  const differs = repeated != null && repeated !== wanted;
  const problems = differs
    ? [makePageContext(exchange).language.text('passwordsDiffer')]
    : await changePassword(exchange, client, current, wanted);
  const isPage = replyFormat(exchange) === 'html';
  if (problems.length > 0) return isPage ? passwordPage(exchange, 422, problems) : problemsReply(problems);
  if (!isPage) return { status: 204 };
  return flashRedirect('/home/', 'passwordChanged', 1);
}

/**
 * Changes the client's own password and ends all other sessions of the account, on every service. Emits `passwordChanged` or
 * `passwordChangeFailed`.
 *
 * @returns a sentence for each unmet rule, or for a wrong current password; empty if the password was changed
 * @throws ServiceError `never-allowed` if the group forbids it or the password is not managed here; `too-many-requests` after wrong current
 *   passwords, which count like failed logins; `not-durable` if the password was changed but could be lost in a power failure
 */
export async function changePassword(exchange: Exchange, client: Client, currentPassword: string, newPassword: string): Promise<string[]> {
  const { passwords, events, sessions, endSessions } = exchange.service;
  const { account, session, identity } = client;
  const failed = (details: unknown) => events.emit({ id: eventIds.passwordChangeFailed, context: client.context, data: { details } });
  if (!account.allowOwnPasswordChange || !passwords.isOwn(account.method.uuid)) {
    failed('not allowed for this account');
    throw new ServiceError('never-allowed', 'The password of this account cannot be changed here.');
  }
  events.assertWritable();
  const turn = { source: loginSource(exchange.peer.address), isKnown: false };
  const isCurrent = await countedAttempt(
    exchange,
    { type: 'password', username: account.name, content: currentPassword },
    (isKnown) => passwords.isCurrent(account.method.uuid, account.name, currentPassword, { ...turn, isKnown }),
    (isRight) => (isRight ? 'succeeded' : 'failed'),
  );
  // Renew the session before the new password becomes valid, so that the session never ends in between.
  const announce = async (fingerprints: readonly string[]) => {
    if (!exchange.inForce(identity)) throw new ServiceError('unauthorized', 'The session is not valid.');
    if (session) await sessions.renew(session, fingerprints);
  };
  let unsynced: unknown;
  const change = () => passwords.change(account.method.uuid, account.name, newPassword, { turn, announce });
  const problems = isCurrent
    ? await change().catch((error) => {
        if (!(error instanceof UnsyncedChange)) throw error;
        // The new password is already valid, so this is not a refusal.
        unsynced = error;
        return [];
      })
    : ['The current password is not correct.'];
  if (problems.length > 0) {
    failed(problems);
    return problems;
  }
  try {
    await endSessions(account.uuid, session);
  } finally {
    const data = { durable: unsynced === undefined ? undefined : false };
    await events.emitDurable({ id: eventIds.passwordChanged, context: client.context, data }).catch((error) => {
      unsynced ??= error;
    });
  }
  if (unsynced !== undefined) throw notDurable(exchange.service, unsynced, client.context);
  return [];
}
