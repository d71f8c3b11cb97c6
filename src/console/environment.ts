import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import type { LoginAttempts } from '../auth/login-attempts.ts';
import type { ConsoleOptions } from '../config/schema/console-options.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent, EventContext, EventPeer, RequestTrace } from '../events/event.ts';
import { peerAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { ForwardedTrust } from '../http/connection/client-peer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { EventStreams } from './event-stream.ts';
import type { LiveFeed, Samples } from './live-feed.ts';
import type { Administrator, Administrators } from './login/administrators.ts';
import type { AdministratorSession, AdministratorSessions, LoginLinks } from './login/sessions.ts';
import type { ConsoleSources } from './sources.ts';

/** The state that all requests of one console share. A reload replaces the whole object. */
export interface ConsoleService {
  readonly uuid: string;
  readonly options: ConsoleOptions;
  readonly component: EventComponent;
  readonly sources: ConsoleSources;
  readonly administrators: Administrators;
  readonly sessions: AdministratorSessions;
  readonly links: LoginLinks;
  readonly streams: EventStreams;
  readonly live: LiveFeed;
  readonly samples: Samples;
  readonly attempts: LoginAttempts;
  readonly events: EventDispatcher;
  readonly proxies: ForwardedTrust;
  readonly clock: Clock;
  readonly log: Log;
}

/** One request to a console and its reply. Handlers and middleware find it as `c.env`. */
export interface ConsoleExchange {
  readonly service: ConsoleService;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly method: string;
  /** The path as the client sent it, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly host: string | undefined;
  readonly peer: EventPeer;
  readonly request: RequestTrace;
  /** The administrator; undefined until the request is authenticated. */
  administrator: Administrator | undefined;
  /** The session, if a session authenticated the request. */
  session: AdministratorSession | undefined;
}

export interface ConsoleEnvironment {
  Bindings: ConsoleExchange;
}

// biome-ignore lint/suspicious/noExplicitAny: Hono infers the names of parameters from the path for which a handler is registered.
export type ConsoleContext = Context<ConsoleEnvironment, any>;
export type ConsoleMiddleware = MiddlewareHandler<ConsoleEnvironment>;

/** Returns the administrator who sent an authenticated request. Throws if the request was not authenticated. */
export function requireAdministrator({ env: { administrator } }: ConsoleContext): Administrator {
  if (!administrator) throw new Error('This request was not authenticated.');
  return administrator;
}

/** Returns the context for events of a request. */
export function eventContext({ peer, service, request }: ConsoleExchange): EventContext {
  return { account: peerAccount(peer), component: service.component, request };
}

/**
 * Records an action of an administrator. Event `administratorAction` is on disk when the promise resolves.
 *
 * @param action kind of object and the verb, such as `session-end`
 * @param target name of the object, for people; it must not be a secret
 * @param ids IDs of the objects if `target` does not contain them
 */
export async function recordAction(c: ConsoleContext, action: string, target: string, ids?: readonly string[]): Promise<void> {
  const data = { action, target, ...(ids && { ids }), administrator: requireAdministrator(c).name };
  await c.env.service.events.emitDurable({ id: eventIds.administratorAction, context: eventContext(c.env), data });
}
