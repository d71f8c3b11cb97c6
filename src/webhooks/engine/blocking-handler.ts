import type { BackendDelivery, BlockingHandler } from '../../events/dispatcher.ts';
import type { Log } from '../../lib/log.ts';
import { DeliveryInterrupted } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { HandlerStatus } from './handler-status.ts';
import type { AwaitedDeliveries } from './upload-deliveries.ts';

export interface BlockingSurroundings {
  /** Gives up what is under way. */
  abort: AbortSignal;
  settle: AwaitedDeliveries['settle'];
  /** Told of an event whose delivery ended without an outcome. */
  onInterrupted?: (eventUuid: string) => void;
  record: (record: DeliveryRecord) => void;
  log: Log;
}

/**
 * Delivers single events while uploads wait (docs/spec/delivery.md#upload-back-end).
 *
 * @param status told of the outcomes; nothing is delivered once the handler has stopped
 */
export function blockingHandler(status: HandlerStatus, surroundings: BlockingSurroundings): BlockingHandler {
  const { handler } = status;
  const { abort, settle, onInterrupted, record, log } = surroundings;
  return {
    async deliver(event, marks, position): Promise<BackendDelivery> {
      if (!handler.wants(event, marks.group) || status.state !== 'running') {
        settle(event.uuid, false, position);
        return { outcome: 'unavailable' };
      }
      try {
        const sent = { event, raw: Buffer.from(JSON.stringify(event)), ...(position && { position }) };
        const delivered = await handler.deliver([sent], { abort });
        record(handler.record(delivered, { source: 'upload' }));
        settle(event.uuid, true, position);
        status.tell(delivered);
        status.count(delivered);
        const { result } = delivered;
        return { outcome: result.outcome, headers: result.headers, ...(result.status !== undefined && { status: result.status }) };
      } catch (error) {
        onInterrupted?.(event.uuid);
        if (!(error instanceof DeliveryInterrupted))
          log.error('a delivery that an upload waits for failed', { handler: handler.uuid, reason: error });
        return { outcome: 'failed' };
      }
    },
    abandon: (event) => settle(event.uuid, false),
  };
}
