import { hostname } from 'node:os';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import type { ForwardMeans } from '../forward/means.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { type HandlerDependencies, WebhookHandler } from '../webhook-handler.ts';
import { maskSecrets } from './recorded-requests.ts';

type ConfiguredHandlers = Readonly<Record<string, EventHandlerOptions>>;

/**
 * Returns the options of the named handlers, or of all enabled handlers if none is named.
 *
 * @throws ServiceError `bad-request` for an unknown handler
 */
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

/** Creates a handler for a replay, with its own URL suspensions. @throws the errors of the constructor of `WebhookHandler` */
export function replayHandler(
  uuid: string,
  options: EventHandlerOptions,
  { server, clock, forward }: Pick<HandlerDependencies, 'server' | 'clock' | 'forward'>,
): WebhookHandler {
  return new WebhookHandler(uuid, options, { clock, health: new MemoryUrlHealth(clock), server, forward });
}

/** Returns the `server` that the request bodies of `svc webhook-replay` name. */
export function replayServer(uuid: string | undefined, name: string | undefined): EventServer {
  return { uuid: uuid ?? 'svc-webhook-replay', type: 'server', name: name || hostname() };
}

/** Maximum timeout of a test at each URL, in seconds. It is short, because an operator waits for the result. */
const longestS = 30;

export interface ReplayDependencies {
  openReplayLog: () => { append(record: DeliveryRecord): void; close(): Promise<void> };
  server: EventServer;
  clock: Clock;
  forward: ForwardMeans;
}

export interface TestDependencies extends ReplayDependencies {
  events: EventDispatcher;
}

/**
 * Sends a test event (`testEventSent`) to one handler immediately, even if the handler does not run. Each URL gets at most one attempt.
 * The event is written to the journal, and the delivery to the records of manual deliveries. No other handler gets the event.
 *
 * @param by name of the operator
 * @throws ServiceError `unavailable` if the handler cannot be created, `storage-full` or `internal` if the event cannot be journalled
 */
export async function sendTest(
  uuid: string,
  options: EventHandlerOptions,
  by: string,
  { events, openReplayLog, server, clock, forward }: TestDependencies,
): Promise<DeliveryRecord> {
  const once = { ...options, retry_count: 0, timeout: Math.min(options.timeout, longestS) };
  const handler = replayHandler(uuid, once, { server, clock, forward });
  try {
    const context = { account: processAccount(), component: handler.component };
    const event = await events.emitDurable({
      id: eventIds.testEventSent,
      context,
      data: { uuid, name: handler.component.name, administrator: by },
    });
    const sent = [{ event, raw: Buffer.from(JSON.stringify(event)) }];
    const rendered = handler.render(sent);
    // The record does not have the event's position in the journal, with which the body could be rendered again. So the whole body is kept.
    const recorded = rendered.body ? { text: maskSecrets(rendered, sent).body?.toString('utf8') ?? '' } : rendered.recorded;
    const delivered = await handler.deliver(sent, {}, { ...rendered, recorded });
    const record = handler.record(delivered, { source: 'test' });
    const log = openReplayLog();
    log.append(record);
    await log.close();
    return record;
  } finally {
    handler.close();
  }
}
