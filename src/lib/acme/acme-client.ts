import type { Clock } from '../clock.ts';
import { isObject, parseJson } from '../json.ts';
import { RemoteEndpoint, type RemoteResult } from '../remote/remote-endpoint.ts';
import type { AccountKey, SignedMessage } from './account-key.ts';

const requestMs = 30_000;

/** Maximum time in milliseconds that an authority may take to check an authorization, or to issue a certificate. */
const patienceMs = 300_000;

const maxReplyBytes = 256 * 1024;
const maxNonceTries = 6;

/** Minimum and maximum pause between two polls in milliseconds. They limit the pause that an authority asks for. */
const leastWaitMs = 500;
const maxWaitMs = 30_000;

/** Ways in which an authority verifies control of a domain (RFC 8555 §8.3, RFC 8737). */
export const challengeTypes = ['http-01', 'tls-alpn-01'] as const;
export type ChallengeType = (typeof challengeTypes)[number];

/** The proof that the service presents while the authority checks it. */
export interface Challenge {
  type: ChallengeType;
  domain: string;
  token: string;
  keyAuthorization: string;
}

/** Thrown if an order fails, or if an authority does not follow RFC 8555. */
export class AcmeError extends Error {
  /** Time in milliseconds during which the authority accepts no requests. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

interface AcmeReply {
  status: number;
  header(name: string): string;
  body: Buffer;
  /** The members of a JSON object in the body; empty for any other body. */
  members: Record<string, unknown>;
}

/** An account with an authority, and the URL of the authority's directory. */
export interface AcmeAccount {
  directory: string;
  key: AccountKey;
  /** Contact address for the authority; empty if there is none. */
  email: string;
  /** An account that already exists at the authority, outside ACME, if the authority requires one. */
  external: { keyId: string; hmacKey: string } | undefined;
  /** Certificate authorities that are trusted for the directory in addition to those of the system. */
  caPem: string | undefined;
}

/** Presents the challenges of an order, and withdraws them. If one of the methods throws, the order fails. */
export interface ChallengePresenter {
  show(challenge: Challenge): Promise<void>;
  withdraw(challenge: Challenge): Promise<void>;
}

/** Reads the directory of an authority, which lists its resources. @throws AcmeError if it cannot be used */
export async function readAcmeDirectory(directory: string, caPem: string | undefined, clock: Clock): Promise<Record<string, unknown>> {
  const endpoint = createEndpoint(caPem, clock);
  try {
    return await fetchDirectory(endpoint, directory);
  } finally {
    endpoint.close();
  }
}

/** A client of one authority (RFC 8555) for one order. */
export class AcmeClient {
  readonly #account: AcmeAccount;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #endpoint: RemoteEndpoint;
  #newNonceUrl = '';
  #nonce: string | undefined;
  #accountUrl: string | undefined;

  constructor(account: AcmeAccount, clock: Clock, signal: AbortSignal) {
    this.#account = account;
    this.#clock = clock;
    this.#signal = signal;
    this.#endpoint = createEndpoint(account.caPem, clock);
  }

  /**
   * Orders a certificate and proves control of the domains.
   *
   * @param request certificate request (PKCS #10) in DER
   * @returns the certificate chain as PEM, as the authority sent it
   * @throws AcmeError, or the signal's reason if it aborts
   */
  async order(domains: readonly string[], request: Buffer, type: ChallengeType, presenter: ChallengePresenter): Promise<string> {
    try {
      const directory = await fetchDirectory(this.#endpoint, this.#account.directory, this.#signal);
      this.#newNonceUrl = readUrl(directory, 'newNonce');
      await this.#register(directory);
      const identifiers = domains.map((value) => ({ type: 'dns', value }));
      const made = await this.#post(readUrl(directory, 'newOrder'), { identifiers }, 'the order');
      const orderUrl = checkedUrl(made.header('location'), 'the order');
      const { authorizations } = made.members;
      if (!Array.isArray(authorizations) || authorizations.length > domains.length)
        throw new AcmeError('the reply to the order has no list of authorizations, or too long a list');
      for (const url of authorizations) await this.#authorize(checkedUrl(url, 'an authorization'), domains, type, presenter);
      const ready = await this.#await(orderUrl, 'the order', ['ready', 'valid']);
      if (ready.status === 'ready')
        await this.#post(readUrl(ready, 'finalize'), { csr: request.toString('base64url') }, 'the request for the certificate');
      const valid = await this.#await(orderUrl, 'the order', ['valid']);
      return (await this.#post(readUrl(valid, 'certificate'), '', 'the certificate')).body.toString('latin1');
    } finally {
      this.#endpoint.close();
    }
  }

  async #register(directory: Record<string, unknown>): Promise<void> {
    const { key, email, external } = this.#account;
    const url = readUrl(directory, 'newAccount');
    const needsBinding = isObject(directory.meta) && directory.meta.externalAccountRequired === true;
    if (needsBinding && !external) throw new AcmeError('the authority requires an external account: set "external_account"');
    const account = {
      termsOfServiceAgreed: true,
      ...(email === '' ? {} : { contact: [`mailto:${email}`] }),
      ...(needsBinding && external ? { externalAccountBinding: key.bind(external, url) } : {}),
    };
    const reply = await this.#post(url, account, 'the account');
    this.#accountUrl = checkedUrl(reply.header('location'), 'the account');
  }

  async #authorize(url: string, domains: readonly string[], type: ChallengeType, presenter: ChallengePresenter): Promise<void> {
    const { members: authorization } = await this.#post(url, '', 'an authorization');
    const domain = isObject(authorization.identifier) ? String(authorization.identifier.value).toLowerCase() : '';
    if (!domains.includes(domain)) throw new AcmeError(`the authority asks about ${inWords(domain)}, which was not ordered`);
    if (authorization.status === 'valid') return;
    const offered = Array.isArray(authorization.challenges) ? authorization.challenges.filter(isObject) : [];
    const wanted = offered.find((challenge) => challenge.type === type);
    if (!wanted) throw new AcmeError(`the authority offers no ${type} for ${domain}`);
    const token = String(wanted.token);
    // A token has at least 128 bits of entropy in base64url (RFC 8555 §8.3). It becomes a part of a path and of a Redis key.
    if (!/^[\w-]{22,200}$/.test(token)) throw new AcmeError(`the authority gave an invalid token for ${domain}`);
    const challenge = { type, domain, token, keyAuthorization: this.#account.key.keyAuthorization(token) };
    try {
      await presenter.show(challenge);
      await this.#post(checkedUrl(wanted.url, 'a challenge'), {}, `the challenge of ${domain}`);
      await this.#await(url, `the authorization of ${domain}`, ['valid']);
    } finally {
      await presenter.withdraw(challenge);
    }
  }

  /**
   * Polls a resource until it has one of the wanted statuses. @throws AcmeError if it gets another final status, or does not change in time
   */
  async #await(url: string, what: string, wanted: readonly string[]): Promise<Record<string, unknown>> {
    const endMs = this.#clock.monotonicMs() + patienceMs;
    for (;;) {
      const reply = await this.#post(url, '', what);
      const { members } = reply;
      const status = String(members.status);
      if (wanted.includes(status)) return members;
      if (!['pending', 'processing', 'ready'].includes(status))
        throw new AcmeError(`${what} is ${inWords(status)}${describeFault(members)}`);
      if (this.#clock.monotonicMs() > endMs) throw new AcmeError(`${what} is still ${status} after ${patienceMs / 1000} s`);
      const waitMs = Math.min(Math.max(parseRetryAfter(reply.header('retry-after'), this.#clock.nowMs()), leastWaitMs), maxWaitMs);
      await this.#clock.sleep(waitMs, this.#signal);
    }
  }

  /** Sends a signed request. @throws AcmeError for any reply that is not a success */
  async #post(url: string, payload: object | '', what: string): Promise<AcmeReply> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonce ?? (await this.#newNonce());
      this.#nonce = undefined;
      const identity = this.#accountUrl === undefined ? { jwk: this.#account.key.jwk } : { kid: this.#accountUrl };
      const reply = await this.#send(url, this.#account.key.sign({ ...identity, nonce, url }, payload), what);
      this.#nonce = readNonce(reply);
      if (reply.status >= 200 && reply.status < 300) return reply;
      const { type } = reply.members;
      if (type === 'urn:ietf:params:acme:error:badNonce' && tries < maxNonceTries) continue;
      const retryAfterMs = parseRetryAfter(reply.header('retry-after'), this.#clock.nowMs());
      throw new AcmeError(`the authority refused ${what} with ${reply.status}${describeFault({ error: reply.members })}`, retryAfterMs);
    }
  }

  async #newNonce(): Promise<string> {
    const result = await this.#endpoint.request({ url: this.#newNonceUrl, method: 'HEAD', headers: {}, signal: this.#signal });
    const nonce = readNonce(requireReply(result, 'the nonce'));
    if (nonce === undefined) throw new AcmeError('the authority gave no nonce');
    return nonce;
  }

  async #send(url: string, message: SignedMessage, what: string): Promise<AcmeReply> {
    const headers = { 'content-type': 'application/jose+json' };
    const body = JSON.stringify(message);
    return requireReply(await this.#endpoint.request({ url, method: 'POST', headers, body, signal: this.#signal }), what);
  }
}

function createEndpoint(caPem: string | undefined, clock: Clock): RemoteEndpoint {
  return new RemoteEndpoint({
    headers: [],
    username: '',
    password: '',
    timeoutMs: requestMs,
    maximumReplyBytes: maxReplyBytes,
    refusesContentCodings: true,
    caPem,
    clock,
  });
}

async function fetchDirectory(endpoint: RemoteEndpoint, url: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
  const reply = requireReply(await endpoint.request({ url, method: 'GET', headers: {}, signal }), 'the directory');
  if (reply.status !== 200) throw new AcmeError(`the directory answered with ${reply.status}`);
  for (const name of ['newNonce', 'newAccount', 'newOrder']) readUrl(reply.members, name);
  return reply.members;
}

function requireReply(result: RemoteResult, what: string): AcmeReply {
  if (result.kind !== 'reply') throw new AcmeError(`no reply about ${what}: ${result.message}`);
  const { status, headers, body } = result;
  return {
    status,
    body,
    members: parseMembers(body),
    header: (name) => headers.find(([other]) => other.toLowerCase() === name)?.[1] ?? '',
  };
}

function parseMembers(body: Buffer): Record<string, unknown> {
  try {
    const value = parseJson(body.toString('utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function readNonce(reply: AcmeReply): string | undefined {
  const nonce = reply.header('replay-nonce');
  return /^[\w-]{1,1000}$/.test(nonce) ? nonce : undefined;
}

function readUrl(members: Record<string, unknown>, name: string): string {
  return checkedUrl(members[name], `"${name}"`);
}

/** Checks a URL of the authority. ACME requires TLS (RFC 8555 §6.1). */
function checkedUrl(value: unknown, what: string): string {
  if (typeof value === 'string' && value.length <= 2000 && URL.canParse(value) && new URL(value).protocol === 'https:') return value;
  throw new AcmeError(`the authority gave no https URL for ${what}`);
}

/**
 * Returns the pause that a Retry-After header asks for (RFC 9110 §10.2.3), in milliseconds. It is at most a day, and 0 without a valid
 * header.
 */
function parseRetryAfter(retryAfter: string, nowMs: number): number {
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 86_400_000) : 0;
}

/** Returns the first error of a problem document, an order or an authorization, as the end of a sentence. */
function describeFault(members: Record<string, unknown>): string {
  const challenges = Array.isArray(members.challenges) ? members.challenges.filter(isObject) : [];
  const error = [members.error, ...challenges.map((challenge) => challenge.error)].find(isObject);
  if (!error) return '';
  const type = String(error.type ?? '').replace('urn:ietf:params:acme:error:', '');
  return `: ${inWords([type, error.detail ?? ''].filter((part) => part !== '').join(', '))}`;
}

/** Turns a text from the authority into one line of limited length, which is safe for logs and events. */
function inWords(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').slice(0, 500);
}
