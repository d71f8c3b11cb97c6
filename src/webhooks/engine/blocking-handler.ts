import type { BackendDelivery, BlockingHandler } from '../../events/dispatcher.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { Log } from '../../lib/log.ts';
import { DeliveryInterrupted } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { HandlerStatus } from './handler-status.ts';

export interface BlockingDependencies {
  /** Gives up what is under way. */
  abort: AbortSignal;
  /** Told whether a delivery was made; one that was interrupted was not. */
  settle: (eventUuid: string, isMade: boolean, position?: LogPosition) => void;
  record: (record: DeliveryRecord) => void;
  log: Log;
}

/**
 * Delivers single events while uploads wait (docs/spec/delivery.md#upload-back-end).
 *
 * @param present the status at each delivery: told of the outcome; nothing is delivered once the handler has stopped
 */
export function blockingHandler(present: () => HandlerStatus, dependencies: BlockingDependencies): BlockingHandler {
  const { abort, settle, record, log } = dependencies;
  return {
    async deliver(event, marks, position): Promise<BackendDelivery> {
      const status = present();
      const { handler } = status;
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
        settle(event.uuid, false, position);
        if (!(error instanceof DeliveryInterrupted))
          log.error('a delivery that an upload waits for failed', { handler: handler.uuid, reason: error });
        return { outcome: 'failed' };
      }
    },
    abandon: (event) => settle(event.uuid, false),
  };
}
