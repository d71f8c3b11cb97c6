import { IncomingMessage } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { MiddlewareHandler } from 'hono';
import type { Account } from '../../accounts/account.ts';
import type { AuthChain } from '../../auth/auth-chain.ts';
import type { AddressBans } from '../../auth/ban-list.ts';
import type { Identity } from '../../auth/credentials.ts';
import type { Grant } from '../../auth/grants/grant.ts';
import type { Grants } from '../../auth/grants/grants.ts';
import type { LocalPasswords } from '../../auth/local-passwords.ts';
import type { LoginAttempts } from '../../auth/login-attempts.ts';
import type { Session, SessionStore } from '../../auth/sessions.ts';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { DroppedSelection } from '../../events/dropped-files.ts';
import type { EventComponent, EventContext, EventPeer, RequestTrace, ServiceEvent } from '../../events/event.ts';
import { peerAccount } from '../../events/event-factory.ts';
import type { RecentChange } from '../../events/recent-changes.ts';
import type { OwnExpectation } from '../../expectations/told-occurrence.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { FilesEnvironment } from '../../files/files-environment.ts';
import { catching } from '../../lib/catching.ts';
import type { Clock } from '../../lib/clock.ts';
import { cookieValue } from '../../lib/headers/header-fields.ts';
import type { Log } from '../../lib/log.ts';
import type { TicketKeys } from '../../lib/ticket-keys.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { clientPeer, type ForwardedTrust } from '../connection/client-peer.ts';
import type { HttpServiceOptions } from '../options.ts';
import { isHttp2, type Outgoing } from '../reply/outgoing.ts';
import type { ReplyHeaders } from '../reply/reply.ts';
import type { Incoming } from './incoming.ts';
import { isOfLink, linkUrlPath, memberUrlPath, type RequestTarget, readTarget, serverPathValue } from './request-target.ts';
import { type RequestObserver, requestTrace } from './request-trace.ts';

/** Headers for the pages of links. Their URLs contain a secret, which must not reach other servers or search engines. */
const linkHeaders: ReplyHeaders = { 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex, nofollow, noarchive' };

/** One HTTP or HTTPS service, shared by its requests. A reload of the configuration replaces the whole object. */
export interface HttpService {
  readonly uuid: string;
  readonly options: HttpServiceOptions;
  /** All file transfer services of the configuration, which are the services that accept tokens. */
  readonly fileServices: readonly { uuid: string; name: string }[];
  readonly component: EventComponent;
  readonly chain: AuthChain;
  readonly sessions: SessionStore;
  /**
   * Ends all sessions of an account (by UUID) on all services, except one session.
   *
   * @throws ServiceError `unavailable`; in this case the sessions end later
   */
  readonly endSessions: (accountUuid: string, except: Session | undefined) => Promise<void>;
  /** Tokens and links. */
  readonly grants: Grants;
  /** Returns the recent changes of an account (by UUID), newest first. @throws ServiceError `unavailable` */
  readonly recentChanges: (accountUuid: string) => Promise<RecentChange[]>;
  /** Finds the events about files that visitors uploaded through a link, for the receipt. @throws ServiceError `unavailable` */
  readonly droppedFiles: (wanted: DroppedSelection) => Promise<ServiceEvent[]>;
  /** Returns the files that an account is expected to send. @throws ServiceError `unavailable` */
  readonly expectations: (account: Account) => Promise<OwnExpectation[]>;
  readonly bans: AddressBans;
  readonly attempts: LoginAttempts;
  readonly proxies: ForwardedTrust;
  readonly tickets: TicketKeys;
  /** Finds the key authorization for a pending TLS challenge of a domain; undefined if this service does not answer such challenges. */
  readonly tlsChallenge: ((domain: string) => Promise<string | undefined>) | undefined;
  readonly passwords: LocalPasswords;
  readonly files: FilesEnvironment;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** URI of `server.security_contact`; empty if there is none. */
  readonly securityContact: string;
  /** Headers of every reply: `server` and the configured headers. */
  readonly baseHeaders: ReplyHeaders;
  /** Called for every finished request, for metrics and the log. */
  readonly observe: RequestObserver | undefined;
}

/** One request and its reply. */
export class Exchange {
  readonly service: HttpService;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly method: string;
  /** The target as the client sent it. */
  readonly rawTarget: string;
  /** `:authority` in HTTP/2, else `Host`. */
  readonly host: string | undefined;
  readonly isHead: boolean;
  readonly target: RequestTarget;
  readonly peer: EventPeer;
  readonly request: RequestTrace;
  /** The request's foreign origin, if `cors_origins` lists it. If so, cookies are ignored (docs/spec/http.md#cross-origin-requests). */
  readonly corsOrigin: string | undefined;
  /** Set once the client is authenticated. */
  client: Client | undefined = undefined;
  /** Set once the link of a visitor was found to be valid. */
  visit: Visit | undefined = undefined;
  /** Headers that the request's protocol, such as tus, needs in every reply. */
  protocolHeaders: ReplyHeaders | undefined = undefined;

  #expectsContinue: boolean;
  readonly #current: () => HttpService;
  readonly #onFault: (exchange: Exchange, error: unknown) => void;

  /**
   * @param current returns the current service. The request keeps the service with which it began, and uses a later service only to check
   * whether an account is still valid
   * @param onFault handles faults in functions that `catching` wraps; must not throw
   */
  constructor(
    current: () => HttpService,
    incoming: Incoming,
    outgoing: Outgoing,
    expectsContinue: boolean,
    onFault: (exchange: Exchange, error: unknown) => void,
  ) {
    this.#current = current;
    this.#onFault = onFault;
    const service = current();
    this.service = service;
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.method = incoming.method ?? 'GET';
    this.rawTarget = incoming.url ?? '';
    this.host = (incoming.headers[':authority'] as string | undefined) ?? incoming.headers.host;
    this.isHead = this.method === 'HEAD';
    this.target = readTarget(this.method, this.rawTarget);
    this.peer = clientPeer(incoming, service.proxies);
    this.request = requestTrace(incoming.headers);
    const { origin } = incoming.headers;
    this.corsOrigin = origin !== undefined && service.options.cors_origins.includes(origin) ? origin : undefined;
    this.#expectsContinue = expectsContinue;
  }

  /** Sends status 100 if the client waits for it before sending its body (`Expect: 100-continue`). */
  sendContinue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    if (isHttp2(this.outgoing)) this.outgoing.additionalHeaders({ ':status': 100 });
    else this.outgoing.writeContinue();
  }

  get path(): VirtualPath {
    if (this.visit) return this.visit.path;
    if (this.target.kind !== 'member') throw new Error('The request names no file or folder.');
    return this.target.path;
  }

  /** The files of the authenticated client. */
  get files(): AccountFiles {
    return signedIn(this).files;
  }

  /** Returns the URL path of a file or folder for this client: below the link for a visitor, otherwise below `/home/`. */
  urlOf(path: VirtualPath, isFolder: boolean): string {
    const { visit } = this;
    return visit ? linkUrlPath(visit.secret, visit.belowOf(path), isFolder) : memberUrlPath(path, isFolder);
  }

  get body(): IncomingMessage | ServerHttp2Stream {
    return this.incoming instanceof IncomingMessage ? this.incoming : this.incoming.stream;
  }

  /** Headers of every reply, among them `server-path` for a file or folder (docs/spec/http.md#server-path). */
  get baseHeaders(): ReplyHeaders {
    const { service, target, protocolHeaders } = this;
    const isShared = service.options.cors_origins.length > 0;
    if (target.kind !== 'member' && !isOfLink(target) && !isShared && !protocolHeaders) return service.baseHeaders;
    // A spread (`...`) would take ten times as long, and would also make reading the object slower.
    const headers: ReplyHeaders = Object.assign({}, service.baseHeaders, protocolHeaders);
    if (target.kind === 'member') headers['server-path'] = serverPathValue(target.path);
    if (isOfLink(target)) Object.assign(headers, linkHeaders);
    return isShared ? Object.assign(headers, this.#corsHeaders()) : headers;
  }

  // `*` stands for all headers (Fetch, CORS protocol). It would not in a reply to a request with cookies, but other origins may not send
  // cookies.
  #corsHeaders(): ReplyHeaders {
    const { corsOrigin } = this;
    const allowed = corsOrigin === undefined ? {} : { 'access-control-allow-origin': corsOrigin, 'access-control-expose-headers': '*' };
    return { vary: 'origin', ...allowed };
  }

  /** Wraps a listener, timer or callback that Node.js calls for this request. A fault ends only this request and is logged with its ID. */
  catching<Args extends unknown[]>(action: (...args: Args) => void): (...args: Args) => void {
    return catching(action, (error, ..._: Args) => this.#onFault(this, error));
  }

  /** Returns the account of an identity in the current configuration; undefined if the identity is not valid any more. */
  inForce(identity: Identity): Account | undefined {
    return this.#current().chain.inForce(identity, this.peer.address);
  }

  /** Returns the context for events of this request. Before authentication, the context describes the client only by the address. */
  eventContext(): EventContext {
    return this.client?.context ?? { account: peerAccount(this.peer), component: this.service.component, request: this.request };
  }
}

/** Makes the exchange available as `c.env` in Hono's handlers and middleware. */
export interface HttpEnvironment {
  Bindings: Exchange;
}

export type HttpHandler = (exchange: Exchange) => Response | Promise<Response>;
export type HttpMiddleware = MiddlewareHandler<HttpEnvironment>;

export interface Client {
  readonly account: Account;
  readonly identity: Identity;
  readonly files: AccountFiles;
  readonly context: EventContext;
  /** The session, if it authenticated the request. */
  readonly session: Session | undefined;
}

/** The use of a link by a visitor, who needs no account. */
export interface Visit {
  readonly link: Grant;
  readonly secret: string;
  readonly isFile: boolean;
  /** The file or folder that the link shows. */
  readonly root: VirtualPath;
  /** The file or folder of the request, as a path in the files of the link's creator. */
  readonly path: VirtualPath;
  /**
   * Returns the path at which a visitor's upload is stored.
   *
   * @param below path relative to the link
   * @throws ServiceError `not-found` if the path is not directly in the folder of the link
   */
  targetOf(below: VirtualPath): VirtualPath;
  /** Converts a path in the creator's files to a path relative to the file or folder that the link shows. */
  belowOf(path: VirtualPath): VirtualPath;
  /**
   * Waits for a turn to do expensive work, such as reading a whole tree. Only a few visitors may do such work at the same time.
   *
   * @returns a function that ends the turn
   * @throws ServiceError `unavailable` if too many visitors wait
   */
  takeTurn(): Promise<() => void>;
  /** Counts a download. Called for a reply with the first byte of a file or an archive. @throws ServiceError `gone` if none is left */
  countDownload(): Promise<void>;
  /**
   * Refuses pages and lists if the link has no downloads left. Later ranges of a counted download are still sent.
   *
   * @throws the error of `countDownload`
   */
  requireDownloads(): void;
}

/** Returns a request header as a single text, with repeated lines joined by commas (RFC 9110 §5.3); undefined if it is absent. */
export function header(exchange: Pick<Exchange, 'incoming'>, name: string): string | undefined {
  const value = exchange.incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Returns the value of a cookie of the request. */
export function cookie(exchange: Pick<Exchange, 'incoming'>, name: string): string | undefined {
  return cookieValue(header(exchange, 'cookie'), name);
}

/** Returns the client of an authenticated request. Throws if the request was not authenticated. */
export function signedIn(exchange: Exchange): Client {
  if (!exchange.client) throw new Error('This request was not authenticated.');
  return exchange.client;
}
