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
import type { ToldExpectation } from '../../expectations/told-occurrence.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { FilesEnvironment } from '../../files/files-environment.ts';
import { catching } from '../../lib/catching.ts';
import type { Clock } from '../../lib/clock.ts';
import { cookieValue } from '../../lib/headers/header-fields.ts';
import type { Log } from '../../lib/log.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { clientPeer, type ForwardedTrust } from '../connection/client-peer.ts';
import type { TicketKeys } from '../connection/ticket-keys.ts';
import type { HttpServiceOptions } from '../options.ts';
import { isHttp2, type Outgoing } from '../reply/outgoing.ts';
import type { ReplyHeaders } from '../reply/reply.ts';
import type { Incoming } from './incoming.ts';
import { linkUrlPath, memberUrlPath, type RequestTarget, readTarget, serverPathValue } from './request-target.ts';
import { type RequestObserver, requestTrace } from './request-trace.ts';

/** The secret in the URL goes to no other server, and into no index. */
const linkHeaders: ReplyHeaders = { 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex, nofollow, noarchive' };

/** One HTTP or HTTPS service, shared by its requests. Replaced as a whole at a reload. */
export interface HttpService {
  readonly uuid: string;
  readonly options: HttpServiceOptions;
  /** All file transfer services of the configuration, where tokens can work. */
  readonly fileServices: readonly { uuid: string; type: string }[];
  readonly component: EventComponent;
  readonly chain: AuthChain;
  readonly sessions: SessionStore;
  /** Ends all sessions of an account (by UUID) on all services but one. @throws ServiceError `unavailable`; they end later then */
  readonly endSessions: (accountUuid: string, except: Session | undefined) => Promise<void>;
  /** Tokens and links. */
  readonly grants: Grants;
  /** Recent changes of an account (by UUID), newest first. @throws ServiceError `unavailable` */
  readonly recentChanges: (accountUuid: string) => Promise<RecentChange[]>;
  /** The events of files that came by a link, for their receipt. @throws ServiceError `unavailable` */
  readonly droppedFiles: (wanted: DroppedSelection) => Promise<ServiceEvent[]>;
  /** The files that are due from an account. @throws ServiceError `unavailable` */
  readonly expectations: (account: Account) => Promise<ToldExpectation[]>;
  readonly bans: AddressBans;
  readonly attempts: LoginAttempts;
  readonly proxies: ForwardedTrust;
  /** For https. */
  readonly tickets: TicketKeys;
  /** Finds the key authorization of a domain whose challenge by TLS is under way; undefined where none is answered so. */
  readonly tlsChallenge: ((domain: string) => Promise<string | undefined>) | undefined;
  readonly passwords: LocalPasswords;
  readonly files: FilesEnvironment;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** URI of `server.security_contact`; empty when there is none. */
  readonly securityContact: string;
  /** Headers of every reply: `server` and the configured ones. */
  readonly baseHeaders: ReplyHeaders;
  /** Called for every finished request, for metrics and the log. */
  readonly observe: RequestObserver | undefined;
}

/** One request and its reply on the way through the service. */
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
  /** The foreign origin of the request, if it is in `cors_origins` (docs/spec/http.md#cross-origin-requests): its pages sign in by headers alone. */
  readonly corsOrigin: string | undefined;
  /** Set once the client is authenticated. */
  client: Client | undefined = undefined;
  /** Set once a visitor's link is known to hold. */
  visit: Visit | undefined = undefined;
  /** Headers of the request's protocol, for every reply. */
  protocolHeaders: ReplyHeaders | undefined = undefined;

  #expectsContinue: boolean;
  readonly #current: () => HttpService;
  readonly #onFault: (exchange: Exchange, error: unknown) => void;

  /**
   * @param current the present service; the request keeps its first one, except for accounts in force
   * @param onFault deals with faults of what `guarded` wraps; must not throw
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

  /** Tells a client that waits to send its body (`Expect: 100-continue`). */
  sendContinue(): void {
    if (!this.#expectsContinue) return;
    this.#expectsContinue = false;
    if (isHttp2(this.outgoing)) this.outgoing.additionalHeaders({ ':status': 100 });
    else this.outgoing.writeContinue();
  }

  /** The file or folder that the request is about. */
  get path(): VirtualPath {
    if (this.visit) return this.visit.path;
    if (this.target.kind !== 'member') throw new Error('The request names no file or folder.');
    return this.target.path;
  }

  /** The files of the client, once it is authenticated. */
  get files(): AccountFiles {
    return signedIn(this).files;
  }

  /** The URL path of a file or folder for this client: below `/home/`, or below the link of a visitor. */
  urlOf(path: VirtualPath, isFolder: boolean): string {
    const { visit } = this;
    return visit ? linkUrlPath(visit.secret, visit.belowOf(path), isFolder) : memberUrlPath(path, isFolder);
  }

  /** The readable side of the request. */
  get body(): IncomingMessage | ServerHttp2Stream {
    return this.incoming instanceof IncomingMessage ? this.incoming : this.incoming.stream;
  }

  /** Headers of every reply to this request: the service's, the protocol's, and the path of a file or folder (docs/spec/http.md#server-path). */
  get baseHeaders(): ReplyHeaders {
    const { service, target, protocolHeaders } = this;
    const isShared = service.options.cors_origins.length > 0;
    if (target.kind !== 'member' && target.kind !== 'link' && !isShared && !protocolHeaders) return service.baseHeaders;
    // A spread costs ten times as much, and so does its reader.
    const headers: ReplyHeaders = Object.assign({}, service.baseHeaders, protocolHeaders);
    if (target.kind === 'member') headers['server-path'] = serverPathValue(target.path);
    if (target.kind === 'link') Object.assign(headers, linkHeaders);
    return isShared ? Object.assign(headers, this.#corsHeaders()) : headers;
  }

  // Fetch, CORS protocol: cookies are never allowed, so `*` means all headers.
  #corsHeaders(): ReplyHeaders {
    const { corsOrigin } = this;
    const allowed = corsOrigin === undefined ? {} : { 'access-control-allow-origin': corsOrigin, 'access-control-expose-headers': '*' };
    return { vary: 'origin', ...allowed };
  }

  /** Wraps listeners, timers and callbacks that Node.js calls for this request: a fault ends this request alone, logged with its ID. */
  catching<Args extends unknown[]>(action: (...args: Args) => void): (...args: Args) => void {
    return catching(action, (error, ..._: Args) => this.#onFault(this, error));
  }

  /** The account of an identity by the present configuration, if it is still allowed. */
  inForce(identity: Identity): Account | undefined {
    return this.#current().chain.inForce(identity, this.peer.address);
  }

  /** The context of events of this request, as far as known. */
  eventContext(): EventContext {
    return this.client?.context ?? { account: peerAccount(this.peer), component: this.service.component, request: this.request };
  }
}

/** `c.env` of Hono's handlers and middleware is the exchange. */
export interface HttpEnvironment {
  Bindings: Exchange;
}

export type HttpHandler = (exchange: Exchange) => Response | Promise<Response>;
export type HttpMiddleware = MiddlewareHandler<HttpEnvironment>;

/** An authenticated client. */
export interface Client {
  readonly account: Account;
  readonly identity: Identity;
  readonly files: AccountFiles;
  readonly context: EventContext;
  /** The session, when a session authenticated the request. */
  readonly session: Session | undefined;
}

/** The use of a link by somebody without an account. */
export interface Visit {
  readonly link: Grant;
  readonly secret: string;
  /** Whether the link shows one file. */
  readonly isFile: boolean;
  /** The file or folder that the link shows. */
  readonly root: VirtualPath;
  /** The subject of the request, in the files of the link's maker. */
  readonly path: VirtualPath;
  /** Where a file goes that the visitor drops. @param below relative to the link @throws ServiceError `not-found` for what is not directly in its folder */
  targetOf(below: VirtualPath): VirtualPath;
  /** A path of the maker's files relative to what the link shows. */
  belowOf(path: VirtualPath): VirtualPath;
  /** Counts a download of what begins at the first byte. @throws ServiceError `gone` beyond the link's number */
  countDownload(): Promise<void>;
}

/** One request header as a single text (repeated lines joined as RFC 9110 §5.3 says), or undefined. */
export function header(exchange: Pick<Exchange, 'incoming'>, name: string): string | undefined {
  const value = exchange.incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The value of a cookie of the request. */
export function cookie(exchange: Pick<Exchange, 'incoming'>, name: string): string | undefined {
  return cookieValue(header(exchange, 'cookie'), name);
}

/** The client of a request that passed authentication. */
export function signedIn(exchange: Exchange): Client {
  if (!exchange.client) throw new Error('This request was not authenticated.');
  return exchange.client;
}
