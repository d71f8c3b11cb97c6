import { hostname } from 'node:os';
import type { EventServer } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import { WebhookHandler } from '../webhook-handler.ts';

/** The handlers of a configuration. */
export type ConfiguredHandlers = Readonly<Record<string, EventHandlerOptions>>;

/** The options of those named, or of all that are enabled. @throws ServiceError `bad-request` for one that is not configured */
export function chosenHandlers(configured: ConfiguredHandlers, named: readonly string[]): (readonly [string, EventHandlerOptions])[] {
  if (named.length === 0) return Object.entries(configured).filter(([, handler]) => handler.enabled);
  return [...new Set(named)].map((uuid) => {
    const handler = Object.hasOwn(configured, uuid) ? configured[uuid] : undefined;
    if (handler) return [uuid, handler] as const;
    const known = Object.keys(configured);
    const text = `There is no event handler "${uuid}"${known.length > 0 ? `; known: ${known.join(', ')}` : ''}.`;
    throw new ServiceError('bad-request', text, { details: { handler: uuid } });
  });
}

/** A handler as a replay uses it: with suspensions of its own. @throws ServiceError `unavailable` as `WebhookHandler` */
export function replayHandler(uuid: string, options: EventHandlerOptions, server: EventServer, clock: Clock): WebhookHandler {
  return new WebhookHandler(uuid, options, { clock, health: new MemoryUrlHealth(clock), server });
}

/** The server that events sent by hand come from. */
export function replayServer(uuid: string | undefined, name: string | undefined): EventServer {
  return { uuid: uuid ?? 'svc-webhook-replay', type: 'server', name: name || hostname() };
}
