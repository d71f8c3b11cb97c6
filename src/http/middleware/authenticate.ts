import { TLSSocket } from 'node:tls';
import type { Account } from '../../accounts/account.ts';
import { longestVerificationMs } from '../../accounts/passwords.ts';
import { type ChainResult, eventAccount, tokenUserName } from '../../auth/auth-chain.ts';
import { type AttemptOutcome, loginSource, type Refusal, refusalData, refusalError } from '../../auth/ban-list.ts';
import type { Credentials, Identity } from '../../auth/credentials.ts';
import type { Session } from '../../auth/sessions.ts';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { AccountFiles } from '../../files/account-files.ts';
import { LockGuard } from '../../files/locks/lock-guard.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { parseIfHeader, submittedTokens } from '../../lib/headers/if-header.ts';
import { hasSecretForm } from '../../lib/secrets.ts';
import { cookie, type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';

/** Keeps the session from ending during the request. */
export const holdSession: HttpMiddleware = async ({ env: { client, service } }, next) => {
  if (!client?.session) return next();
  const hold = service.sessions.hold(client.session);
  try {
    await next();
  } finally {
    hold.done();
  }
};

/** The verified client certificate of the connection, if any, as credentials: PEM, the CN as user name (docs/spec/authentication.md#client-certificates). */
function certificateCredentials(exchange: Exchange): Credentials | undefined {
  const { service, peer } = exchange;
  if (!service.options.tls_client_ca_path) return undefined;
  const { socket } = exchange.incoming;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  // A resumed TLS session has the verdict of its first handshake.
  if (!certificate || Date.parse(certificate.validTo) < service.clock.nowMs()) return undefined;
  const commonName = certificate.toLegacyObject().subject.CN;
  if (typeof commonName !== 'string') return undefined;
  return {
    type: 'ssl-certificate',
    username: commonName,
    content: certificate.toString(),
    peer,
    creator: { uuid: service.uuid, type: service.component.type },
    request: exchange.request,
  };
}

/** Name of the session cookie (docs/spec/http.md#cookie). */
export const sessionCookie = 'SVC_HTTP_SESSION';

/** Key in `details` of an `unauthorized` fault for a bearer's token, and for one whose secret was right, so that its holder hears the message. */
export const bearerDetail = 'bearer';
export const overDetail = 'over';

/** Key of the endpoint's public message in `details` of an `unauthorized` fault. */
export const publicFailureDetail = 'public_failure';

/**
 * Authenticates the client (docs/spec/http.md#authentication-of-clients) by session or Basic in `Authorization`, else the session cookie, else the TLS
 * client certificate, else as `anonymous`. Sets `exchange.client`.
 *
 * @throws ServiceError `unauthorized`, or `too-many-requests` for a banned address
 */
export const authenticate: HttpMiddleware = ({ env: exchange }, next) => {
  const id = presentedSessionId(exchange);
  const session = id === undefined ? undefined : exchange.service.sessions.find(id);
  // Most requests have a session of this process, or a token that is remembered, and need no promise.
  if (session && !(session instanceof Promise) && acceptSession(exchange, session)) return next();
  const token = id === undefined ? presentedToken(exchange) : undefined;
  const recalled = token === undefined ? undefined : exchange.service.chain.recallToken(token, exchange.peer.address);
  if (recalled && !(recalled instanceof Promise) && acceptRecalled(exchange, recalled)) return next();
  return findClient(exchange, session, recalled).then(next);
};

/** The session ID of `Authorization`, else of the cookie. */
function presentedSessionId(exchange: Exchange): string | undefined {
  const authorization = header(exchange, 'authorization');
  if (authorization === undefined) return presentedCookie(exchange);
  const { scheme, value } = schemeAndValue(authorization);
  return scheme === 'session' ? value : undefined;
}

/** The session cookie, which does not authenticate a page of another origin. */
function presentedCookie(exchange: Exchange): string | undefined {
  return exchange.corsOrigin === undefined ? cookie(exchange, sessionCookie) : undefined;
}

/** The token of `Authorization`: a bearer's, or the password of Basic (docs/spec/tokens.md#use). */
function presentedToken(exchange: Exchange): string | undefined {
  const authorization = header(exchange, 'authorization');
  if (authorization === undefined) return undefined;
  const { scheme, value } = schemeAndValue(authorization);
  const secret = scheme === 'bearer' ? value : scheme === 'basic' ? parseBasic(value).password : '';
  return hasSecretForm(secret) ? secret : undefined;
}

async function findClient(
  exchange: Exchange,
  found: Promise<Session | undefined> | Session | undefined,
  recalled: Promise<Identity | undefined> | Identity | undefined,
): Promise<void> {
  const session = await found;
  if (session && acceptSession(exchange, session)) return;
  if (session) await refuseSession(exchange, session);
  const identity = await recalled;
  if (identity && acceptRecalled(exchange, identity)) return;
  const authorization = header(exchange, 'authorization');
  if (authorization !== undefined) return authenticateHeader(exchange, authorization);
  await checkBan(exchange);
  const certificate = exchange.corsOrigin === undefined ? certificateCredentials(exchange) : undefined;
  if (certificate) return acceptLogin(exchange, await ask(exchange, certificate));
  const anonymous = await exchange.service.chain.authenticateWithoutCredentials(exchange.peer, exchange.request);
  if (anonymous?.outcome === 'authenticated') return acceptLogin(exchange, anonymous.identity);
  throw new ServiceError(
    'unauthorized',
    presentedCookie(exchange) !== undefined ? 'The session is not valid.' : 'Authentication is required.',
  );
}

/** Uses a token that was accepted within the last minute, if it is still in force, under the name that was right then. */
function acceptRecalled(exchange: Exchange, identity: Identity): boolean {
  const { scheme, value } = schemeAndValue(header(exchange, 'authorization') ?? '');
  const username = scheme === 'basic' ? parseBasic(value).username : tokenUserName;
  if (username !== tokenUserName && username !== identity.name) return false;
  const account = exchange.inForce(identity);
  if (account) accept(exchange, account, identity, undefined);
  return account !== undefined;
}

/** Uses a session whose account is still in force. */
function acceptSession(exchange: Exchange, session: Session): boolean {
  const account = exchange.inForce(session.identity);
  if (!account) return false;
  exchange.service.chain.welcome(account, exchange.peer, exchange.request);
  accept(exchange, account, session.identity, session);
  return true;
}

async function refuseSession({ service }: Exchange, session: Session): Promise<void> {
  // The session is refused in any case.
  await service.sessions.refuse(session).catch((reason) => service.log.warn('a session could not be ended', { reason }));
}

/** @throws ServiceError `unauthorized` for an account that is not in force any more */
function acceptLogin(exchange: Exchange, identity: Identity): void {
  const account = exchange.inForce(identity);
  if (!account) throw new ServiceError('unauthorized', 'The name or the password is not correct.');
  accept(exchange, account, identity, undefined);
}

/** Asks the chain about a name and a password. @throws ServiceError `unauthorized` with the public message, `too-many-requests` for a banned address */
export function checkPassword(exchange: Exchange, username: string, password: string): Promise<Identity> {
  const { service, peer } = exchange;
  return ask(exchange, {
    type: 'password',
    username,
    content: password,
    peer,
    creator: { uuid: service.uuid, type: service.component.type },
    request: exchange.request,
  });
}

/** Asks the chain about a bearer's token. @throws as `checkPassword`, with the detail `bearer` */
async function checkToken(exchange: Exchange, token: string): Promise<Identity> {
  if (!token.startsWith('svc_')) throw new ServiceError('unauthorized', 'The authentication scheme is not supported.');
  try {
    if (!hasSecretForm(token)) throw new ServiceError('unauthorized', 'This is not a token.');
    return await checkPassword(exchange, tokenUserName, token);
  } catch (error) {
    if (isServiceError(error, 'unauthorized')) error.details[bearerDetail] = true;
    throw error;
  }
}

async function authenticateHeader(exchange: Exchange, authorization: string): Promise<void> {
  const { scheme, value } = schemeAndValue(authorization);
  if (scheme === 'session') {
    await checkBan(exchange);
    throw new ServiceError('unauthorized', 'The session is not valid.');
  }
  if (scheme === 'basic') {
    const { username, password } = parseBasic(value);
    return acceptLogin(exchange, await checkPassword(exchange, username, password));
  }
  if (scheme === 'bearer') return acceptLogin(exchange, await checkToken(exchange, value));
  throw new ServiceError('unauthorized', 'The authentication scheme is not supported.');
}

/** The scheme of an `Authorization` header in lower case, and what follows it. */
export function schemeAndValue(authorization: string): { scheme: string; value: string } {
  const space = authorization.indexOf(' ');
  return {
    scheme: (space < 0 ? authorization : authorization.slice(0, space)).toLowerCase(),
    value: space < 0 ? '' : authorization.slice(space + 1).trim(),
  };
}

const attemptOutcomes = { authenticated: 'succeeded', refused: 'failed', over: 'unknown', unanswered: 'unknown' } as const;

async function ask(exchange: Exchange, credentials: Credentials): Promise<Identity> {
  const { chain } = exchange.service;
  const result: ChainResult = await countedAttempt(
    exchange,
    credentials,
    (isKnown) => chain.authenticate({ ...credentials, isKnown }),
    ({ outcome }) => attemptOutcomes[outcome],
  );
  // The login must be in the journal; for a GET of a file or folder its reply waits for that.
  if (exchange.method !== 'GET' || exchange.target.kind !== 'member') await exchange.service.events.grouped();
  if (result.outcome === 'authenticated' && exchange.inForce(result.identity)) return result.identity;
  if (result.outcome === 'over') throw new ServiceError('unauthorized', result.reason, { details: { [overDetail]: true } });
  const publicFailure = exchange.service.options.public_error && result.outcome === 'refused' ? result.public : undefined;
  throw new ServiceError('unauthorized', publicFailure?.message ?? 'The name or the password is not correct.', {
    details: { [publicFailureDetail]: publicFailure },
  });
}

/** @throws ServiceError `too-many-requests` with event `addressRefused` for a banned address, `unavailable` when bans cannot be looked up */
export async function checkBan(exchange: Exchange): Promise<void> {
  const refusal = await exchange.service.bans.isRefused(loginSource(exchange.peer.address));
  if (refusal) throw refuse(exchange, refusal);
}

/** Credentials whose guesses are counted; those of links have a realm of their own. */
type PresentedSecret = Pick<Credentials, 'type' | 'username' | 'content'> & { realm?: 'link' };

/**
 * Checks credentials, unless the security policy refuses another attempt from the address or at the name (docs/spec/authentication.md#brute-force), and
 * counts the outcome.
 *
 * @param check checks the credentials
 * @param attemptOutcome of its result; `unknown` is not counted
 * @throws what `check` throws; ServiceError `too-many-requests` with event `addressRefused`, `unavailable` if attempts cannot be counted
 */
export async function countedAttempt<T>(
  exchange: Exchange,
  { type, username, content, realm }: PresentedSecret,
  check: (isKnown: boolean) => Promise<T>,
  attemptOutcome: (result: T) => AttemptOutcome,
): Promise<T> {
  const { service, peer } = exchange;
  // Guesses at tokens are not guesses at the account whose name stands beside them.
  const isToken = type === 'password' && hasSecretForm(content);
  const attempt = { type, username: isToken ? '' : username, content, realm, address: peer.address };
  const longestMs = realm === 'link' ? longestVerificationMs : service.chain.longestAnswerMs;
  const counted = await service.attempts.counted(attempt, longestMs, check, attemptOutcome);
  if (counted.kind === 'refused') throw refuse(exchange, counted, username);
  return counted.result;
}

function refuse(exchange: Exchange, refusal: Refusal, username?: string): ServiceError {
  const data = refusalData(refusal, exchange.peer.address, username);
  exchange.service.events.emit({ id: eventIds.addressRefused, context: exchange.eventContext(), data });
  return refusalError(refusal);
}

/** Lets a client act as an account. */
export function accept(exchange: Exchange, account: Account, identity: Identity, session: Session | undefined): void {
  const context: EventContext = {
    account: eventAccount(account, exchange.peer),
    component: exchange.service.component,
    group: account.groupUuid,
    request: exchange.request,
    ...account.grant,
  };
  const files = new AccountFiles(account, exchange.service.files, context, lockGuard(exchange, account));
  exchange.client = { account, identity, session, context, files };
}

// Locks bind every client, of any service.
function lockGuard(exchange: Exchange, account: Account): LockGuard {
  const condition = header(exchange, 'if');
  const tokens = condition === undefined ? undefined : submittedTokens(parseIfHeader(condition));
  return new LockGuard(exchange.service.files.locks, account.uuid, tokens);
}

/** Reads Basic credentials (RFC 7617), UTF-8; malformed ones become empty ones, which are never accepted. */
export function parseBasic(value: string): { username: string; password: string } {
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? { username: '', password: '' } : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
