import { eventAccount } from '../../auth/auth-chain.ts';
import type { Session } from '../../auth/sessions.ts';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { maskSecrets } from '../../lib/secrets.ts';
import { takeLoginMessage } from '../html/page-cookies.ts';
import { loginPageReply } from '../html/page-replies.ts';
import { checkPassword, sessionCookie } from '../middleware/authenticate.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { cookie, type Exchange, header } from '../request/exchange.ts';
import { asksForJson, mediaTypeOfRequest, replyFormat } from '../request/reply-format.ts';
import { readJsonBody, readSmallForm } from '../request/request-body.ts';
import { parseRequestTarget, rebuildPageUrl } from '../request/request-target.ts';

interface LoginForm {
  username: string;
  password: string;
  next: string | undefined;
}

/** Handles the POST of a login (docs/spec/http.md#login). Replies with a session ID as JSON, or with the session cookie and a redirect. */
export async function postLogin(exchange: Exchange): Promise<Response> {
  const form = await readLogin(exchange);
  const identity = await checkPassword(exchange, form.username, form.password).catch((error) => {
    if (isServiceError(error, 'unauthorized'))
      Object.assign(error.details, { login_form: { next: form.next, userName: maskSecrets(form.username) } });
    throw error;
  });
  // The new login replaces the previous session. The previous session must end, to prevent session fixation.
  const previous = await presentedSession(exchange, cookie(exchange, sessionCookie));
  if (previous) await exchange.service.sessions.end(previous);
  const id = await exchange.service.sessions.create(identity, exchange.peer.address, header(exchange, 'user-agent'));
  if (asksForJson(exchange)) return respond(exchange, jsonReply(200, { results: [{ session: id }] }, uncached));
  return respond(exchange, {
    status: 302,
    headers: { location: safeNext(form.next), 'set-cookie': sessionCookieLine(exchange, id), 'cache-control': 'no-store' },
  });
}

/** Handles GET and POST of a logout, which ends the session (docs/spec/http.md#logout). */
export async function logout(exchange: Exchange): Promise<Response> {
  const authorization = /^session (.*)$/i.exec(header(exchange, 'authorization') ?? '');
  const session = await presentedSession(exchange, authorization ? authorization[1]?.trim() : cookie(exchange, sessionCookie));
  if (session && (await exchange.service.sessions.end(session))) {
    const account = exchange.inForce(session.identity);
    const context = {
      account: eventAccount(account ?? { ...session.identity, email: '' }, exchange.peer),
      component: exchange.service.component,
      ...(account && { group: account.groupUuid }),
      request: exchange.request,
    };
    exchange.service.events.emit({ id: eventIds.sessionLoggedOut, context });
  }
  const headers = { 'set-cookie': sessionCookieLine(exchange, ''), 'cache-control': 'no-store' };
  const isPage = replyFormat(exchange) === 'html';
  return respond(exchange, isPage ? { status: 302, headers: { ...headers, location: '/__svc__/login' } } : { status: 204, headers });
}

async function presentedSession({ service }: Exchange, id: string | undefined): Promise<Session | undefined> {
  return id === undefined ? undefined : service.sessions.find(id);
}

/** Returns the value of `Set-Cookie` (docs/spec/http.md#cookie); an empty ID deletes the cookie. */
function sessionCookieLine(exchange: Exchange, id: string): string {
  const { options } = exchange.service;
  const isSecure = options.type === 'https' || options.accepted_origins.length > 0;
  return `${sessionCookie}=${id}; Path=/; HttpOnly; SameSite=strict${isSecure ? '; Secure' : ''}${id === '' ? '; Max-Age=0' : ''}`;
}

/**
 * Returns the URL of the page after a login: the requested page if it is below `/home/`, otherwise the home folder. The URL is parsed like
 * a request target and rebuilt, so it cannot lead to another host (`//evil`) or another path (`/home/../__svc__/logout`).
 */
export function safeNext(next: string | undefined): string {
  if (next === undefined || !/^\/home\/[\x21-\x7e]*$/.test(next)) return '/home/';
  try {
    return rebuildPageUrl(parseRequestTarget(next)) ?? '/home/';
  } catch (error) {
    if (isServiceError(error)) return '/home/';
    throw error;
  }
}

async function readLogin(exchange: Exchange): Promise<LoginForm> {
  const type = mediaTypeOfRequest(exchange);
  if (type === 'application/json') {
    const body = await readJsonBody(exchange);
    const { username, password } = isObject(body) ? body : {};
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new ServiceError('bad-request', 'The body must be an object with the strings "username" and "password".');
    }
    return { username, password, next: nextOfQuery(exchange) };
  }
  if (type === 'application/x-www-form-urlencoded') {
    const fields = await readSmallForm(exchange);
    const username = fields.get('username');
    const password = fields.get('password');
    if (username === null || password === null)
      throw new ServiceError('bad-request', 'The form must have the fields "username" and "password".');
    return { username, password, next: fields.get('next') ?? nextOfQuery(exchange) };
  }
  throw new ServiceError('media-type-unsupported', 'A login must be sent as application/x-www-form-urlencoded or application/json.');
}

/** Returns the URL of the page that the client requested before the login. */
export function nextOfQuery(exchange: Exchange): string | undefined {
  return new URLSearchParams(exchange.target.query).get('next') ?? undefined;
}

/** Answers GET of the login page. */
export function showLogin(exchange: Exchange): Promise<Response> {
  const { message, clearLine } = takeLoginMessage(exchange);
  return respond(exchange, loginPageReply(exchange, 200, { message, next: nextOfQuery(exchange) }, { 'set-cookie': clearLine }));
}
