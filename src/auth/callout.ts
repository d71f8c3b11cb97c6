import { randomBytes } from 'node:crypto';
import type { AccountConfiguration } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { Clock } from '../lib/clock.ts';
import { readCaCertificates } from '../lib/disk/named-file.ts';
import { childTraceparent } from '../lib/headers/trace-context.ts';
import type { Log } from '../lib/log.ts';
import { redactedUrl } from '../lib/remote/redacted-url.ts';
import { type Failure, faultOf, RemoteEndpoint, type RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { UrlHealth } from '../lib/remote/url-health.ts';
import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';
import { type AcceptedCredentials, CalloutCache } from './callout-cache.ts';
import { rememberVerdicts } from './callout-reply.ts';
import { type Credentials, credentialsContentType, credentialsRequestBody, type Identity } from './credentials.ts';
import type { CalloutOptions } from './options.ts';

/** Maximum size of a reply in bytes (docs/spec/authentication.md#callout-outcome). */
export const largestReplyBytes = 1024 * 1024;

/** Pause in milliseconds before a failed test at start is repeated (docs/spec/authentication.md#test-at-start). */
const testAgainMs = 60_000;

/** The account name in the test request. */
const testUserName = 'svc-test-authentication';

/** If the test request gets one of these statuses, the endpoint works. */
const workingStatuses = new Set([200, 204, 401, 403]);

export interface CalloutDependencies {
  urlHealth: (methodUuid: string) => UrlHealth;
  accepted: (methodUuid: string, lifetimeMs: number) => AcceptedCredentials;
  /** UUIDs of all groups, including `DEFAULT_GROUP`. */
  groupUuids: ReadonlySet<string>;
  serverUuid: string;
  events: EventDispatcher;
  clock: Clock;
  log: Log;
  /** Called after each request to an endpoint, for the metrics. */
  onCallout?: ((methodUuid: string, result: RemoteResult) => void) | undefined;
}

/** Asks a remote endpoint about credentials with a POST request (docs/spec/authentication.md#credentials-request). */
export class CalloutMethod implements AuthMethod {
  readonly type = 'http';
  readonly uuid: string;
  readonly name: string;
  state: MethodState = 'stopped';
  readonly #options: CalloutOptions;
  readonly #dependencies: CalloutDependencies;
  readonly #endpoint: RemoteEndpoint;
  readonly #health: UrlHealth;
  readonly #cache: CalloutCache;
  readonly #judge: ReturnType<typeof rememberVerdicts>;
  #isStopped = false;
  /** The fault of the last request; undefined after a useful reply. */
  #lastFault: Failure | undefined;
  #repeat: { cancel(): void } | undefined;

  /** @throws ServiceError `unavailable` if the CA file cannot be read */
  constructor(uuid: string, options: CalloutOptions, dependencies: CalloutDependencies) {
    this.uuid = uuid;
    this.name = options.name || uuid;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#endpoint = createCalloutEndpoint(options, dependencies.clock);
    this.#health = dependencies.urlHealth(uuid);
    this.#judge = rememberVerdicts(dependencies.groupUuids);
    const cacheMs = options.cache_seconds * 1000;
    this.#cache = new CalloutCache(cacheMs > 0 ? dependencies.accepted(uuid, cacheMs) : undefined);
  }

  async start(): Promise<void> {
    if (!this.#options.test_at_start) this.#started();
    else await this.#test();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#repeat?.cancel();
    this.#endpoint.close();
    this.state = 'stopped';
  }

  get suspendedUrls(): number {
    return this.#health.countSuspended();
  }

  get fault(): Failure | undefined {
    const { suspendedUrls } = this;
    const { length } = this.#options.url;
    const suspended = suspendedUrls > 0 && `${suspendedUrls} of ${length} URLs gave no reply and are not asked for a while.`;
    const message = [this.#lastFault?.message, suspended].filter(Boolean).join(' ');
    const fault = this.#lastFault ? this.#lastFault.fault : { code: 'some-suspended' as const, value: `${suspendedUrls}/${length}` };
    return message === '' ? undefined : { message, fault };
  }

  /** The sum for all URLs, because the timeout applies to each of them. */
  get longestAnswerMs(): number {
    return this.#options.timeout * 1000 * this.#options.url.length;
  }

  async authenticate(credentials: Credentials): Promise<AuthResult> {
    if (credentials.type === 'token' && !this.#options.tokens)
      return { outcome: 'rejected', kind: 'invalid', reason: 'The method does not accept tokens (`tokens`).' };
    return this.#cache.answer(credentials, async () => {
      const verdict = this.#verdictOf(credentials, await this.#ask(credentials));
      this.#lastFault =
        verdict.outcome === 'rejected' && verdict.kind !== 'forbidden' ? { message: verdict.reason, fault: verdict.fault } : undefined;
      return verdict;
    });
  }

  currentConfiguration({ configuration }: Identity): AccountConfiguration | undefined {
    return configuration;
  }

  tokenConfiguration(_username: string, configuration: AccountConfiguration | undefined): AccountConfiguration | undefined {
    return this.#options.tokens ? configuration : undefined;
  }

  #verdictOf({ username }: Credentials, result: RemoteResult): AuthResult {
    if (result.kind === 'reply') return this.#judge(username, result);
    const fault = faultOf(result);
    if (result.kind === 'no-reply')
      return { outcome: 'rejected', kind: 'no-reply', reason: `The endpoint gave no reply: ${result.message}.`, fault };
    return { outcome: 'rejected', kind: 'invalid', reason: `The endpoint gave an invalid reply: ${result.message}.`, fault };
  }

  /** Asks the URLs one after the other until one replies. A reply is final, even if its status is an error. */
  async #ask(credentials: Credentials): Promise<RemoteResult> {
    const { url: urls } = this.#options;
    const body = credentialsRequestBody(credentials, this.#dependencies.serverUuid);
    const available = await this.#health.available(urls);
    const traceparent = credentials.request?.traceparent;
    const headers = {
      'content-type': credentialsContentType,
      ...(traceparent === undefined ? {} : { traceparent: childTraceparent(traceparent) }),
    };
    let result: RemoteResult | undefined;
    // If all URLs are suspended, all are tried. A refusal without a request would make an outage longer.
    for (const url of available.length > 0 ? available : urls) {
      result = await this.#endpoint.request({ url, method: 'POST', headers, body });
      this.#dependencies.onCallout?.(this.uuid, result);
      if (result.kind !== 'no-reply') return result;
      this.#dependencies.log.warn('authentication endpoint gave no reply', {
        method: this.uuid,
        url: redactedUrl(url),
        reason: result.message,
        request_id: credentials.request?.id,
      });
      if (urls.length > 1) await this.#health.suspend(url);
    }
    return result as RemoteResult;
  }

  async #test(): Promise<void> {
    const failure = testFailure(await this.#ask(testCredentials(this.uuid)));
    if (this.#isStopped) return;
    if (failure === undefined) return this.#started();
    const { message: reason, fault } = failure;
    this.#lastFault = { message: `The test at the start failed: ${reason}.`, fault };
    if (this.state !== 'failed') this.#emit(eventIds.componentStopped, { reason });
    this.state = 'failed';
    this.#repeat = this.#dependencies.clock.after(testAgainMs, () => void this.#test());
  }

  #started(): void {
    this.#lastFault = undefined;
    this.state = 'running';
    this.#emit(eventIds.componentStarted);
  }

  #emit(id: typeof eventIds.componentStarted | typeof eventIds.componentStopped, data: Record<string, unknown> = {}): void {
    const component = { uuid: this.uuid, type: 'http', name: this.name };
    this.#dependencies.events.emit({
      id,
      context: { account: processAccount(), component },
      data: { uuid: this.uuid, family: 'authentication', kind: 'http', name: this.name, type: 'http', ...data },
    });
  }
}

/** The credentials of the test request at start (docs/spec/authentication.md#test-at-start). */
export function testCredentials(methodUuid: string): Credentials {
  return {
    type: 'password',
    username: testUserName,
    content: randomBytes(24).toString('base64url'),
    peer: { address: '127.0.0.1', port: 0, protocol: 'TCP', family: 'IPv4' },
    creator: { uuid: methodUuid, type: 'https' },
  };
}

/** Returns the reason why an endpoint failed the test request; undefined if it works. */
export function testFailure(result: RemoteResult): Failure | undefined {
  if (result.kind !== 'reply') return { message: result.message, fault: faultOf(result) };
  if (workingStatuses.has(result.status)) return undefined;
  const value = `${result.status} ${result.reason}`.trim();
  return { message: `the test request was answered with the status ${value}`, fault: { code: 'status', value } };
}

/**
 * Creates the HTTP client of a callout method. `svc auth-test` also uses it.
 *
 * @throws ServiceError `unavailable` if the CA file cannot be read
 */
export function createCalloutEndpoint(options: CalloutOptions, clock: Clock): RemoteEndpoint {
  return new RemoteEndpoint({
    headers: options.headers,
    username: options.username,
    password: options.password,
    timeoutMs: options.timeout * 1000,
    maximumReplyBytes: largestReplyBytes,
    refusesContentCodings: true,
    caPem: readCaCertificates(options.ca_certificates_path, 'ca_certificates_path'),
    clock,
  });
}
