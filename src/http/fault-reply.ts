import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { PublicFailure } from '../auth/auth-method.ts';
import { hasChanged } from '../events/dispatcher.ts';
import { eventIds } from '../events/event-ids.ts';
import { reportInternalError } from '../events/internal-error.ts';
import { isServiceError, type ServiceError } from '../lib/errors.ts';
import { namesType } from '../lib/headers/accept-header.ts';
import { loginMessageLine } from './html/page-cookies.ts';
import { type LoginForm, loginPageReply, makePageContext, messagePageReply } from './html/page-replies.ts';
import { messageFor, problemItem } from './html/problem-message.ts';
import { passwordPage } from './links/link-pages.ts';
import { linkPasswordDetail } from './links/password.ts';
import { bearerDetail, overDetail, publicFailureDetail, recognise, sessionCookie } from './middleware/authenticate.ts';
import { errorsReply, faultHeaders, statusCodes, statusTitle, toFault } from './reply/error-reply.ts';
import { endedClient, isClientGone } from './reply/outgoing.ts';
import type { Reply } from './reply/reply.ts';
import { failRequest, internalErrorText, respond } from './reply/respond.ts';
import { cookie, type Exchange, header } from './request/exchange.ts';
import { FolderRedirect, folderRedirectReply } from './request/member-url.ts';
import { replyFormat } from './request/reply-format.ts';
import { isOfLink, rebuildPageUrl } from './request/request-target.ts';
import { heldReply, heldResult } from './rest/held.ts';

/** The challenge for Basic authentication (docs/spec/http.md#not-signed-in). */
const basicChallenge = 'basic realm="Web files access"';

/** Returns the response to a fault of a handler. Never rejects. */
export async function respondToFault(exchange: Exchange, error: unknown): Promise<Response> {
  const { outgoing } = exchange;
  if ((isServiceError(error, 'client-gone') && isClientGone(outgoing)) || endedClient(outgoing, error)) return RESPONSE_ALREADY_SENT;
  try {
    const hasMenu = !isServiceError(error, 'unauthorized') && !isOfLink(exchange.target) && replyFormat(exchange) === 'html';
    if (hasMenu && !exchange.client) await recognise(exchange).catch(() => undefined);
    const reply = faultReply(exchange, error);
    if (outgoing.headersSent) outgoing.destroy();
    return await respond(exchange, reply);
  } catch (fault) {
    failRequest(exchange, fault);
    return RESPONSE_ALREADY_SENT;
  }
}

/**
 * Builds the reply to a fault, as JSON with a list of errors, or as a page. Depending on the status, emits `requestNotAuthorised` (every
 * 401), `badRequest`, `internalError` or no event.
 */
function faultReply(exchange: Exchange, thrown: unknown): Reply {
  if (thrown instanceof FolderRedirect) return folderRedirectReply(exchange, thrown.path);
  const held = heldResult(thrown);
  if (held && replyFormat(exchange) === 'json') return heldReply(exchange, held, faultHeaders(thrown as ServiceError));
  const fault = toFault(thrown);
  noteFault(exchange, fault);
  if (fault.code === 'unauthorized') return unauthorizedReply(exchange, fault);
  // A 503 tells proxies that nothing was changed and that they can ask another node. If something was changed, the status is 500.
  const isHalfDone = fault.code === 'unavailable' && hasChanged(exchange.request);
  const status = isHalfDone ? 500 : statusCodes[fault.code];
  const headers = { ...(isHalfDone ? {} : faultHeaders(fault)), 'cache-control': 'no-store' };
  if (replyFormat(exchange) === 'html') return messagePageReply(exchange, status, { problem: fault, headers });
  return errorsReply(status, [problemItem(exchange, fault)], headers);
}

function noteFault(exchange: Exchange, fault: ServiceError): void {
  const { events } = exchange.service;
  const status = statusCodes[fault.code];
  const data = { method: exchange.method, path: pathForEvents(exchange), details: fault.message, status };
  if (fault.code === 'internal') {
    const { reference } = reportInternalError(exchange.service, fault, {
      logged: { request_id: exchange.request.id, method: exchange.method },
      context: () => exchange.eventContext(),
      data,
    });
    fault.message = internalErrorText(reference);
  } else if (status === 401) {
    events.emit({ id: eventIds.requestNotAuthorised, context: exchange.eventContext(), data });
  } else if ([400, 413, 415, 416, 505].includes(status)) {
    if (fault.code !== 'client-gone') events.emit({ id: eventIds.badRequest, context: exchange.eventContext(), data });
  }
}

function pathForEvents(exchange: Exchange): string {
  const { target } = exchange;
  if (target.kind === 'member') return target.path;
  if (target.kind === 'service') return `/__svc__/${target.name}`;
  return target.kind === 'refused' ? 'unknown' : target.kind;
}

function unauthorizedReply(exchange: Exchange, fault: ServiceError): Reply {
  const { target } = exchange;
  const isLogin = target.kind === 'service' && target.name === 'login';
  if (isLogin && replyFormat(exchange) === 'html') {
    const form = fault.details.login_form as LoginForm | undefined;
    const message = toldMessage(fault) ?? makePageContext(exchange).language.text('signInFailed');
    return loginPageReply(exchange, 401, { message, ...form });
  }
  if (fault.details[linkPasswordDetail] !== undefined) return linkLockedReply(exchange, fault);
  const isSessionGone = /^session(?: |$)/i.test(header(exchange, 'authorization') ?? '');
  const isBearer = fault.details[bearerDetail] === true;
  const own = challenges(exchange, isSessionGone);
  const headers = { 'www-authenticate': isBearer ? [...own, bearerChallenge(fault)] : own, 'cache-control': 'no-store' };
  if (!isLogin && isSessionGone && replyFormat(exchange) === 'html') return messagePageReply(exchange, 401, { problem: fault, headers });
  if (!isLogin && !isSessionGone && !isBearer && namesType(header(exchange, 'accept'), 'text/html'))
    return loginRedirect(exchange, toldMessage(fault));
  const publicFailure = fault.details[publicFailureDetail] as { public_response?: unknown } | undefined;
  const item = {
    message: publicFailure || fault.details[overDetail] ? fault.message : messageFor(exchange, fault),
    title: statusTitle(401),
  };
  const response = publicFailure?.public_response;
  return errorsReply(401, [response === undefined ? item : { ...item, response }], headers);
}

/** Builds the reply to a visitor who has not yet given a link's password. Browsers get a form, and programs get a challenge. */
function linkLockedReply(exchange: Exchange, fault: ServiceError): Reply {
  if (replyFormat(exchange) === 'html') return passwordPage(exchange, fault.details[linkPasswordDetail] === 'wrong');
  const headers = { 'www-authenticate': isForPage(exchange) ? ['session'] : ['basic realm="Link"'], 'cache-control': 'no-store' };
  return errorsReply(401, [problemItem(exchange, fault)], headers);
}

/**
 * Returns the challenges, each as a header line (docs/spec/http.md#not-signed-in). Requests that pages send get only `session`, because
 * browsers answer `basic` with their own password box.
 */
function challenges(exchange: Exchange, isSessionGone: boolean): string[] {
  if (!isSessionGone && isForPage(exchange)) return ['session'];
  return exchange.service.options.announce_session_authentication ? [basicChallenge, 'session'] : [basicChallenge];
}

/** Builds the challenge for a bearer token (RFC 6750 §3). */
function bearerChallenge({ message, details }: ServiceError): string {
  const description = details[overDetail] ? `, error_description="${message.replace(/["\\]/g, '')}"` : '';
  return `Bearer realm="Web files access", error="invalid_token"${description}`;
}

/**
 * Returns whether a page of the service sent the request, by a script or to load a picture. Browsers omit `Sec-Fetch-Dest` for insecure
 * origins, so a header of the script and the session cookie are checked, too.
 */
function isForPage(exchange: Exchange): boolean {
  return (
    (header(exchange, 'sec-fetch-dest') ?? 'document') !== 'document' ||
    header(exchange, 'x-requested-with') !== undefined ||
    cookie(exchange, sessionCookie) !== undefined
  );
}

/** Returns the message of an authentication endpoint, if clients may see it (`public_error`). */
function toldMessage(fault: ServiceError): string | undefined {
  return (fault.details[publicFailureDetail] as PublicFailure | undefined)?.message;
}

function loginRedirect(exchange: Exchange, told: string | undefined): Reply {
  const wanted = rebuildPageUrl(exchange.target) ?? '/home/';
  const location = wanted === '/home/' ? '/__svc__/login' : `/__svc__/login?next=${encodeURIComponent(wanted)}`;
  const headers = {
    location,
    'www-authenticate': basicChallenge,
    'set-cookie': told === undefined ? undefined : loginMessageLine(told),
  };
  return messagePageReply(exchange, 302, { headers, refreshTo: location });
}
