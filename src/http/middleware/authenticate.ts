import { TLSSocket } from 'node:tls';
import type { Account } from '../../accounts/account.ts';
import { longestVerificationMs } from '../../accounts/passwords.ts';
import { type ChainResult, eventAccount, tokenUserName } from '../../auth/auth-chain.ts';
import { type AttemptOutcome, attemptSource, type GuessRealm, type Refusal, refusalData, refusalError } from '../../auth/ban-list.ts';
import type { Credentials, Identity } from '../../auth/credentials.ts';
import type { Session } from '../../auth/sessions.ts';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { AccountFiles } from '../../files/account-files.ts';
import { LockGuard } from '../../files/locks/lock-guard.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { parseBasic, schemeAndValue } from '../../lib/headers/header-fields.ts';
import { parseIfHeader, submittedTokens } from '../../lib/headers/if-header.ts';
import { hasSecretForm, maskSecrets } from '../../lib/secrets.ts';
import { cookie, type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';

export const holdSession: HttpMiddleware = async ({ env: { client, service } }, next) => {
  if (!client?.session) return next();
  const hold = service.sessions.hold(client.session);
  try {
    await next();
  } finally {
    hold.done();
  }
};

/**
 * Returns the verified client certificate of the connection as credentials, if there is one. The certificate as PEM is the content, and its
 * CN is the user name (docs/spec/authentication.md#client-certificates).
 */
function certificateCredentials(exchange: Exchange): Credentials | undefined {
  const { service, peer } = exchange;
  if (!service.options.tls_client_ca_path) return undefined;
  const { socket } = exchange.incoming;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  // If the TLS session was resumed, `authorized` is the result of its first handshake, and the certificate may have expired since then.
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

/** Key in `details` of an `unauthorized` fault, set if the client sent a bearer token of svc. */
export const bearerDetail = 'bearer';
/**
 * Key in `details` of an `unauthorized` fault. It is set if the token's secret was right. Only then may the client learn the reason of the
 * refusal.
 */
export const overDetail = 'over';

/** Key in `details` of an `unauthorized` fault: the part of the authentication endpoint's reply that clients may see. */
export const publicFailureDetail = 'public_failure';

/**
 * Authenticates the client and sets `exchange.client` (docs/spec/http.md#authentication-of-clients). If there is the header
 * `Authorization`, it decides. Otherwise, a valid session cookie, the TLS client certificate or the method `anonymous` decides.
 *
 * @throws ServiceError `unauthorized`, or `too-many-requests` for a banned address
 */
export const authenticate: HttpMiddleware = ({ env: exchange }, next) => {
  const id = presentedSessionId(exchange);
  const session = id === undefined ? undefined : exchange.service.sessions.find(id);
  // Requests with a session of this process, or with a token that was checked before, are accepted without waiting for a promise.
  if (session && !(session instanceof Promise) && acceptSession(exchange, session)) return next();
  const token = id === undefined ? presentedToken(exchange) : undefined;
  const recalled = token === undefined ? undefined : exchange.service.chain.recallToken(token, exchange.peer.address);
  if (recalled && !(recalled instanceof Promise) && acceptRecalled(exchange, recalled)) return next();
  return findClient(exchange, session, recalled).then(next);
};

/** Returns the session ID from `Authorization`, or from the cookie if there is no such header. */
function presentedSessionId(exchange: Exchange): string | undefined {
  const authorization = header(exchange, 'authorization');
  if (authorization === undefined) return presentedCookie(exchange);
  const { scheme, value } = schemeAndValue(authorization);
  return scheme === 'session' ? value : undefined;
}

/** Returns the session cookie. In requests from pages of other origins it is ignored: cookies must not authenticate such requests. */
function presentedCookie(exchange: Exchange): string | undefined {
  return exchange.corsOrigin === undefined ? cookie(exchange, sessionCookie) : undefined;
}

/** Returns the token in `Authorization`, sent as a bearer token or as the password of Basic (docs/spec/tokens.md#use). */
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

/** Accepts a token that was already accepted within the last minute, if the token is still valid and the user name belongs to it. */
function acceptRecalled(exchange: Exchange, identity: Identity): boolean {
  const { scheme, value } = schemeAndValue(header(exchange, 'authorization') ?? '');
  const username = scheme === 'basic' ? parseBasic(value).username : tokenUserName;
  if (username !== tokenUserName && username !== identity.name) return false;
  const account = exchange.inForce(identity);
  if (account) accept(exchange, account, identity, undefined);
  return account !== undefined;
}

function acceptSession(exchange: Exchange, session: Session): boolean {
  const account = exchange.inForce(session.identity);
  if (!account) return false;
  exchange.service.chain.welcome(account, exchange.peer, exchange.request);
  accept(exchange, account, session.identity, session);
  return true;
}

/** Recognises the session of a browser, so that a page about an error has the menu. Grants nothing: the request has already failed. */
export async function recognise(exchange: Exchange): Promise<void> {
  const id = presentedCookie(exchange);
  const session = id ? await exchange.service.sessions.find(id) : undefined;
  if (session) acceptSession(exchange, session);
}

async function refuseSession({ service }: Exchange, session: Session): Promise<void> {
  // A failure is only logged, because the request is refused in any case.
  await service.sessions.refuse(session).catch((reason) => service.log.warn('a session could not be ended', { reason }));
}

/** Accepts a login. @throws ServiceError `unauthorized` if the account is not valid any more */
function acceptLogin(exchange: Exchange, identity: Identity): void {
  const account = exchange.inForce(identity);
  if (!account) throw new ServiceError('unauthorized', 'The name or the password is not correct.');
  accept(exchange, account, identity, undefined);
}

/**
 * Asks the authentication chain whether a user name and a password are right.
 * @throws ServiceError `unauthorized`, with the endpoint's message if clients may see it; `too-many-requests` for a banned address
 */
export function checkPassword(exchange: Exchange, username: string, password: string): Promise<Identity> {
  const { service, peer } = exchange;
  return ask(exchange, {
    type: 'password',
    // Some clients send their token as the user name. Events contain the user name, so a token in it is masked.
    username: maskSecrets(username),
    content: password,
    peer,
    creator: { uuid: service.uuid, type: service.component.type },
    request: exchange.request,
  });
}

/** Asks the authentication chain whether a bearer token is right. @throws like `checkPassword`, with the detail `bearer` */
async function checkToken(exchange: Exchange, token: string): Promise<Identity> {
  if (!token.startsWith('svc_')) throw new ServiceError('unauthorized', 'The authentication scheme is not supported.');
  try {
    if (!hasSecretForm(token)) throw new ServiceError('unauthorized', 'The bearer token is malformed.');
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

const attemptOutcomes = { authenticated: 'succeeded', refused: 'failed', over: 'unknown', unanswered: 'unknown' } as const;

async function ask(exchange: Exchange, credentials: Credentials): Promise<Identity> {
  const { chain } = exchange.service;
  const result: ChainResult = await countedAttempt(
    exchange,
    credentials,
    (isKnown) => chain.authenticate({ ...credentials, isKnown }),
    ({ outcome }) => attemptOutcomes[outcome],
  );
  // The login must be in the journal before the request changes anything. A GET of a file or folder waits only before its reply.
  if (exchange.method !== 'GET' || exchange.target.kind !== 'member') await exchange.service.events.grouped();
  if (result.outcome === 'authenticated' && exchange.inForce(result.identity)) return result.identity;
  if (result.outcome === 'over') throw new ServiceError('unauthorized', result.reason, { details: { [overDetail]: true } });
  const publicFailure = exchange.service.options.public_error && result.outcome === 'refused' ? result.public : undefined;
  throw new ServiceError('unauthorized', publicFailure?.message ?? 'The name or the password is not correct.', {
    details: { [publicFailureDetail]: publicFailure },
  });
}

/**
 * Refuses a banned address.
 * @param realm the kind of guesses whose bans are checked; by default guesses at accounts
 * @throws ServiceError `too-many-requests` with event `addressRefused` for a banned address, `unavailable` if bans cannot be looked up
 */
export async function checkBan(exchange: Exchange, realm?: GuessRealm): Promise<void> {
  const refusal = await exchange.service.bans.isRefused(attemptSource(exchange.peer.address, realm));
  if (refusal) throw refuse(exchange, refusal);
}

/** Credentials for which failed guesses are counted. Guesses at passwords of links are counted separately, in their own realm. */
type PresentedSecret = Pick<Credentials, 'type' | 'username' | 'content'> & { realm?: 'link' };

/**
 * Checks credentials and counts the outcome, unless the security policy refuses another attempt from this address or for this user name
 * (docs/spec/authentication.md#brute-force).
 *
 * @param check checks the credentials
 * @param attemptOutcome maps the result of `check` to an outcome; `unknown` is not counted
 * @throws the errors of `check`; ServiceError `too-many-requests` with event `addressRefused`, `unavailable` if attempts cannot be counted
 */
export async function countedAttempt<T>(
  exchange: Exchange,
  { type, username, content, realm }: PresentedSecret,
  check: (isKnown: boolean) => Promise<T>,
  attemptOutcome: (result: T) => AttemptOutcome,
): Promise<T> {
  const { service, peer } = exchange;
  // A guessed token must not count against the account whose name was sent with it.
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

// The locks are those of all services, because a lock applies to the clients of every service.
function lockGuard(exchange: Exchange, account: Account): LockGuard {
  const condition = header(exchange, 'if');
  const tokens = condition === undefined ? undefined : submittedTokens(parseIfHeader(condition));
  return new LockGuard(exchange.service.files.locks, account.uuid, tokens);
}
