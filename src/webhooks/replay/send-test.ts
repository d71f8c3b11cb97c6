import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventServer } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock } from '../../lib/clock.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import { maskSecrets } from './recorded-requests.ts';
import { replayHandler } from './replay-handlers.ts';

/** Longest time for a test, in seconds: somebody waits for it. */
const longestS = 30;

/** What a test needs of its service. */
export interface TestDependencies {
  events: EventDispatcher;
  openReplayLog: () => { append(record: DeliveryRecord): void; close(): Promise<void> };
  server: EventServer;
  clock: Clock;
}

/**
 * Sends a test event (`testEventSent`) to one handler at once, whatever waits for it and whether it runs: one attempt a URL. It stands in the
 * journal and in the record of deliveries made by hand; no handler gets it in the background.
 *
 * @param by who wants it
 * @throws ServiceError `unavailable` when the handler cannot be made, `storage-full` or `internal` when the event cannot be journalled
 */
export async function sendTest(
  uuid: string,
  options: EventHandlerOptions,
  by: string,
  { events, openReplayLog, server, clock }: TestDependencies,
): Promise<DeliveryRecord> {
  const once = { ...options, retry_count: 0, timeout: Math.min(options.timeout, longestS) };
  const handler = replayHandler(uuid, once, server, clock);
  try {
    const context = { account: processAccount(), component: handler.component };
    const event = await events.emitDurable({
      id: eventIds.testEventSent,
      context,
      data: { uuid, name: handler.component.name, administrator: by },
    });
    const sent = [{ event, raw: Buffer.from(JSON.stringify(event)) }];
    const rendered = handler.render(sent);
    // Whole, as the record does not know where the event stands in the journal.
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
