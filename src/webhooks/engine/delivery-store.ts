import type { LoggedEvent } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { DeliverySignals } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WaitingRetry } from '../retries.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** An operator's request to pause or run a handler. It applies to all nodes. */
export interface HandlerOrder {
  state: 'paused' | 'running';
  reason: string;
  /** Time of the request, Unix time in milliseconds. It is always later than the time of the previous request. */
  atMs: number;
}

export interface HandlerProgress {
  /** All events before this position were handled. */
  position: LogPosition;
  deliveriesPerMinute: number;
  /** The reason why the handler stopped; undefined while it runs. */
  stopped?: string | undefined;
}

/** The progress with which the next owner continues. */
export interface KeptProgress extends HandlerProgress {
  waiting: readonly WaitingRetry[];
}

export interface KnownHandler extends HandlerProgress {
  isOwned: boolean;
  /** With several nodes: the node that delivers for the handler. */
  node?: string | undefined;
}

/** The number of all handlers, and of those that this node owns. */
export interface NodeShare {
  all: number;
  owned: number;
}

/**
 * The outcome of a delivery for which an upload waits. `isMade` says whether the delivery was made. If that is not known yet, the promise
 * `willBeMade` resolves to it later.
 */
export type AwaitedOutcome = { isMade: boolean } | { willBeMade: Promise<boolean> };

export interface AwaitedDeliveries {
  awaitOutcome(logged: LoggedEvent): Promise<AwaitedOutcome>;
}

/** The right to deliver for a handler. */
export interface Ownership {
  /** Position at which to continue. */
  readonly position: LogPosition;
  /** Aborted when the right is lost. Another node then sends the running requests again. */
  readonly lost: AbortSignal;
  readonly uploads: AwaitedDeliveries;
  /** Deliveries that waited for a retry when the previous owner ended. */
  readonly waiting: readonly WaitingRetry[];
  /** Called before each request. Set only if the right can be lost. */
  readonly mayRequest?: DeliverySignals['mayRequest'];
  /** Records a delivery, and stores that all events before `position` were handled. Never throws. */
  record(record: DeliveryRecord, position: LogPosition): void;
  /**
   * Keeps the right, and stores the progress.
   *
   * @param all number of handlers that the nodes share
   * @returns the number of handlers that this node may own. If the node owns more, it should hand this handler over. Undefined if the node
   *   should keep this handler in any case
   * @throws ServiceError `unavailable`
   */
  keep(progress: KeptProgress, all: number): Promise<number | undefined>;
  /** Releases the right. The next owner continues with this progress, unless the right was lost. @throws ServiceError `unavailable` */
  release(progress: Pick<KeptProgress, 'position' | 'waiting'>): Promise<void>;
}

/**
 * Stores the positions, delivery records and owners of handlers, and operators' requests to pause or run them. One implementation uses
 * files for one process, and another one uses Redis for several nodes. Both pass test/contracts/delivery-store.ts.
 */
export interface DeliveryStore {
  /** Whether other nodes continue the deliveries when this node stops. */
  readonly isShared: boolean;
  /**
   * Declares the handlers before they run. New handlers begin at the current end of the journal.
   *
   * @param known all handlers of the configuration, including disabled ones. The positions of all of them are kept
   * @returns a promise that resolves when the start positions of new handlers are stored
   */
  declare(handlers: readonly string[], known: readonly string[]): Promise<void>;
  /** @returns undefined while another node owns the handler. @throws ServiceError `unavailable` */
  acquire(handler: WebhookHandler, share: NodeShare): Promise<Ownership | undefined>;
  /** Returns the newest request of an operator for a handler, as the last `refresh` read it; undefined if there is none. */
  order(handler: string): HandlerOrder | undefined;
  /** Reads the requests for all handlers again. @throws ServiceError `unavailable` */
  refresh(): Promise<void>;
  /** Stores a request. @param by name of the operator @throws ServiceError `unavailable`, `storage-full` or `internal` */
  give(handler: string, order: Omit<HandlerOrder, 'atMs'>, by: string): Promise<void>;
  /** @throws ServiceError `unavailable` */
  states(handlers: readonly string[]): Promise<Map<string, KnownHandler>>;
  /** Records a delivery for which an upload waited. Never throws. */
  record(record: DeliveryRecord): void;
  /**
   * Tells the owner of a handler the outcome of a delivery for which an upload waited. Never throws. @param isMade whether the delivery was
   * made; if not, the owner makes it in the background
   */
  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void;
  /** Saves positions, or sends a heartbeat to other nodes. Called every two seconds. @throws ServiceError `unavailable` */
  beat(): Promise<void>;
  /** Stops acquiring handlers. Never throws. */
  leave(): Promise<void>;
  close(): Promise<void>;
}
