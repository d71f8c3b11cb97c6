import { usesTls } from '../../config/schema/console-options.ts';
import { header } from '../../http/request/exchange.ts';
import { ServiceError } from '../../lib/errors.ts';
import { answerJson, answerNothing } from '../answer.ts';
import { administratorOf, type ConsoleContext, type ConsoleExchange } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import type { Administrator } from './administrators.ts';
import { checkLink, checkPassword, sessionOf } from './authenticate.ts';
import { sessionCookie } from './check-origin.ts';

/** Longest body of a login, in bytes. */
const loginBodyLimitBytes = 16 * 1024;

/** `POST /api/login`: a session for a name and a password. */
export async function login(c: ConsoleContext): Promise<Response> {
  const { username, password } = await readJsonObject(c, loginBodyLimitBytes);
  if (typeof username !== 'string' || typeof password !== 'string')
    throw new ServiceError('bad-request', 'The body must be an object with the strings "username" and "password".');
  return beginSession(c, await checkPassword(c.env, username, password, 'password'));
}

/** `POST /api/login/link`: a session for the token of a login link, once. */
export async function loginByLink(c: ConsoleContext): Promise<Response> {
  const { token } = await readJsonObject(c, loginBodyLimitBytes);
  if (typeof token !== 'string') throw new ServiceError('bad-request', 'The body must be an object with the string "token".');
  return beginSession(c, await checkLink(c.env, token));
}

/** `POST /api/logout`: ends the session, if there is one. */
export async function logout(c: ConsoleContext): Promise<Response> {
  endSession(c.env);
  return answerNothing(c, { 'set-cookie': cookieLine(c.env, '') });
}

/** `GET /api/me`. */
export function showMe(c: ConsoleContext): Response {
  return answerJson(c, shown(administratorOf(c)));
}

// A session of before must not outlive the login that replaces it (session fixation).
function beginSession(c: ConsoleContext, administrator: Administrator): Response {
  endSession(c.env);
  const id = c.env.service.sessions.create(administrator);
  return answerJson(c, shown(administrator), { headers: { 'set-cookie': cookieLine(c.env, id) } });
}

function endSession(exchange: ConsoleExchange): void {
  const session = sessionOf(exchange);
  if (session) exchange.service.sessions.end(session);
}

function shown({ name, role }: Administrator) {
  return { name, role };
}

/** The `Set-Cookie` line; an empty ID deletes the cookie. */
function cookieLine(exchange: ConsoleExchange, id: string): string {
  const { options } = exchange.service;
  const isSecure = usesTls(options) || header(exchange, 'origin')?.startsWith('https:') === true;
  return `${sessionCookie}=${id}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${id === '' ? '; Max-Age=0' : ''}`;
}
