import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Account } from '../accounts/account.ts';
import type { AuthChain } from '../auth/auth-chain.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent, EventContext, EventPeer } from '../events/event.ts';
import type { AccountFiles, FilesEnvironment } from '../files/account-files.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { HttpServiceOptions } from './options.ts';
import type { Outgoing, ReplyHeaders } from './reply.ts';
import type { RequestTarget } from './request-target.ts';
import type { Session, SessionStore } from './sessions.ts';

export type Incoming = IncomingMessage | Http2ServerRequest;

/** One HTTP or HTTPS service: what all its requests share. Replaced as a whole at a reload. */
export interface HttpService {
  readonly uuid: string;
  readonly options: HttpServiceOptions;
  readonly component: EventComponent;
  readonly chain: AuthChain;
  readonly sessions: SessionStore;
  readonly files: FilesEnvironment;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** Headers of every reply: `server` and the configured ones. */
  readonly baseHeaders: ReplyHeaders;
}

/** One request and its reply on the way through the service. */
export interface Exchange {
  readonly service: HttpService;
  readonly incoming: Incoming;
  readonly outgoing: Outgoing;
  readonly method: string;
  readonly target: RequestTarget;
  readonly peer: EventPeer;
  readonly isHead: boolean;
  /** Set once the client is authenticated. */
  client: Client | undefined;
  /** Tells the client to send its body (`Expect: 100-continue`); undefined when it does not wait. */
  sendContinue: (() => void) | undefined;
}

/** An authenticated client. */
export interface Client {
  readonly account: Account;
  readonly files: AccountFiles;
  readonly context: EventContext;
  /** The session, when a session authenticated the request. */
  readonly session: Session | undefined;
}

/** One request header as a single text (repeated lines joined as RFC 9110 §5.3 says), or undefined. */
export function header(exchange: Exchange, name: string): string | undefined {
  const value = exchange.incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The client of a request that passed authentication. */
export function clientOf(exchange: Exchange): Client {
  if (!exchange.client) throw new Error('This request was not authenticated.');
  return exchange.client;
}
