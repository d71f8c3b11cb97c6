import { longestVerificationMs } from '../../accounts/passwords.ts';
import { refusalData, refusalError } from '../../auth/ban-list.ts';
import type { SignedIn } from '../../config/report-shapes.ts';
import { usesTls } from '../../config/schema/console-options.ts';
import { eventIds } from '../../events/event-ids.ts';
import { header } from '../../http/request/exchange.ts';
import { ServiceError } from '../../lib/errors.ts';
import { cookieValue } from '../../lib/headers/header-fields.ts';
import { maskSecrets } from '../../lib/secrets.ts';
import { answerJson, answerNothing } from '../answer.ts';
import { type ConsoleContext, type ConsoleExchange, type ConsoleMiddleware, eventContext, requireAdministrator } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { type Administrator, mayReview } from './administrators.ts';
import { isReading, sessionCookie } from './check-origin.ts';

type LoginWay = 'password' | 'basic' | 'link';

/**
 * Authenticates a request by Basic credentials or, if there are none, by the session cookie. A change needs the role `operator`, or at
 * least `reviewer` if it is a decision about held uploads. A change also needs a journal that can record the change.
 *
 * @throws ServiceError `unauthorized`, `too-many-requests` for a banned address or name, `forbidden` for a change that the role does not
 *   allow, and the errors of `assertWritable`
 */
export const authenticate: ConsoleMiddleware = async ({ env: exchange }, next) => {
  const authorization = header(exchange, 'authorization');
  if (authorization !== undefined) exchange.administrator = await checkBasic(exchange, authorization);
  else {
    exchange.session = findSession(exchange);
    exchange.administrator = exchange.session?.administrator;
  }
  if (!exchange.administrator) throw new ServiceError('unauthorized', 'Log in first.');
  if (!isReading(exchange)) {
    const { role } = exchange.administrator;
    const isReview = exchange.path.startsWith('/api/held/') && mayReview(exchange.administrator);
    if (role !== 'operator' && !isReview)
      throw new ServiceError('forbidden', `The role ${role} may not change this; the role operator is needed.`);
    exchange.service.events.assertWritable();
  }
  return next();
};

function findSession({ incoming, service }: ConsoleExchange) {
  const id = cookieValue(header({ incoming }, 'cookie'), sessionCookie);
  const session = id === undefined ? undefined : service.sessions.find(id);
  return session && service.administrators.knows(session.administrator) ? session : undefined;
}

/** Reads Basic credentials (RFC 7617) as UTF-8. */
async function checkBasic(exchange: ConsoleExchange, authorization: string): Promise<Administrator> {
  const encoded = /^basic +(\S+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) throw new ServiceError('unauthorized', 'The authentication scheme is not supported.');
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = Math.max(text.indexOf(':'), 0);
  return checkPassword(exchange, text.slice(0, colon), text.slice(colon + 1), 'basic');
}

function checkPassword(exchange: ConsoleExchange, name: string, password: string, way: LoginWay): Promise<Administrator> {
  const { administrators } = exchange.service;
  const { address } = exchange.peer;
  return checkCounted(exchange, { name, secret: password, way }, (isKnown) => administrators.check(name, password, { address, isKnown }));
}

function checkLink(exchange: ConsoleExchange, token: string): Promise<Administrator> {
  const { administrators, links } = exchange.service;
  return checkCounted(exchange, { name: '', secret: token, way: 'link' }, async () => {
    const name = links.redeem(token);
    return name === undefined ? undefined : administrators.named(name);
  });
}

/**
 * Checks credentials within the limits for guesses. Emits `administratorLogin`, but not for Basic credentials that were recently accepted.
 *
 * @throws ServiceError `unauthorized`; `too-many-requests` for a banned address or name, with event `addressRefused`
 */
async function checkCounted(
  exchange: ConsoleExchange,
  { name, secret, way }: { name: string; secret: string; way: LoginWay },
  check: (isKnown: boolean) => Promise<Administrator | undefined>,
): Promise<Administrator> {
  const { service, peer } = exchange;
  const shownName = maskSecrets(name);
  const attempt = { type: 'password', username: shownName, content: secret, address: peer.address, realm: 'administrator' } as const;
  const result = await service.attempts.counted(attempt, longestVerificationMs, check, (found) => (found ? 'succeeded' : 'failed'));
  const context = eventContext(exchange);
  if (result.kind === 'refused') {
    service.events.emit({ id: eventIds.addressRefused, context, data: refusalData(result, peer.address, shownName) });
    throw refusalError(result);
  }
  const administrator = result.result;
  if (way !== 'basic' || !administrator || !result.isKnown) {
    const data = { administrator: administrator?.name ?? shownName, outcome: administrator ? 'accepted' : 'refused', way };
    await service.events.emitDurable({ id: eventIds.administratorLogin, context, data });
  }
  if (administrator) return administrator;
  const ofLink = 'The link was used before, or is more than five minutes old.';
  throw new ServiceError('unauthorized', way === 'link' ? ofLink : 'The name or the password is not correct.');
}

const loginBodyLimitBytes = 16 * 1024;

/** Answers `POST /api/login`: creates a session for a name and a password. */
export async function login(c: ConsoleContext): Promise<Response> {
  const { username, password } = await readJsonObject(c, loginBodyLimitBytes);
  if (typeof username !== 'string' || typeof password !== 'string')
    throw new ServiceError('bad-request', 'The body must be an object with the strings "username" and "password".');
  return beginSession(c, await checkPassword(c.env, username, password, 'password'));
}

/** Answers `POST /api/login/link`: creates a session for the token of a login link, which cannot be used a second time. */
export async function loginByLink(c: ConsoleContext): Promise<Response> {
  const { token } = await readJsonObject(c, loginBodyLimitBytes);
  if (typeof token !== 'string') throw new ServiceError('bad-request', 'The body must be an object with the string "token".');
  return beginSession(c, await checkLink(c.env, token));
}

/** Answers `POST /api/logout`: ends the session, if there is one. */
export async function logout(c: ConsoleContext): Promise<Response> {
  endSession(c.env);
  return answerNothing(c, { 'set-cookie': cookieLine(c.env, '') });
}

/** Answers `GET /api/me` with the administrator who is logged in. */
export function showMe(c: ConsoleContext): Response {
  return answerJson(c, signedIn(requireAdministrator(c)));
}

// The session of the earlier cookie ends, because an attacker who had planted this cookie would know its ID (session fixation).
function beginSession(c: ConsoleContext, administrator: Administrator): Response {
  endSession(c.env);
  const id = c.env.service.sessions.create(administrator);
  return answerJson(c, signedIn(administrator), { headers: { 'set-cookie': cookieLine(c.env, id) } });
}

function endSession(exchange: ConsoleExchange): void {
  const session = findSession(exchange);
  if (session) exchange.service.sessions.end(session);
}

function signedIn({ name, role }: Administrator): SignedIn {
  return { name, role };
}

/** Returns the `Set-Cookie` line. An empty ID deletes the cookie. */
function cookieLine(exchange: ConsoleExchange, id: string): string {
  const { options } = exchange.service;
  const isSecure = usesTls(options) || header(exchange, 'origin')?.startsWith('https:') === true;
  return `${sessionCookie}=${id}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${id === '' ? '; Max-Age=0' : ''}`;
}
