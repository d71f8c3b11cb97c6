import type { LoggedEvent } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { DeliverySignals } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WaitingRetry } from '../retries.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** An operator's request to pause or run a handler, on all nodes. */
export interface HandlerOrder {
  state: 'paused' | 'running';
  reason: string;
  /** Unix time in milliseconds, always later than that of the previous request. */
  atMs: number;
}

export interface HandlerProgress {
  /** All events before this position were handled. */
  position: LogPosition;
  deliveriesPerMinute: number;
  /** The reason; undefined while the handler runs. */
  stopped?: string | undefined;
}

/** The state with which the next owner continues. */
export interface KeptProgress extends HandlerProgress {
  waiting: readonly WaitingRetry[];
}

export interface KnownHandler extends HandlerProgress {
  isOwned: boolean;
  /** With several nodes: the node that delivers. */
  node?: string | undefined;
}

/** Numbers of all handlers, and of those on this node. */
export interface NodeShare {
  all: number;
  owned: number;
}

/** Whether a delivery for which an upload waits was made. `willBeMade` resolves later. */
export type AwaitedOutcome = { isMade: boolean } | { willBeMade: Promise<boolean> };

export interface AwaitedDeliveries {
  awaitOutcome(logged: LoggedEvent): Promise<AwaitedOutcome>;
}

/** The right to deliver for a handler. */
export interface Ownership {
  /** Position at which to continue. */
  readonly position: LogPosition;
  /** Aborted when the right is lost. Another node then repeats the running requests. */
  readonly lost: AbortSignal;
  readonly uploads: AwaitedDeliveries;
  /** Deliveries that waited for a retry when the previous owner ended. */
  readonly waiting: readonly WaitingRetry[];
  /** Called before each request. Set only if the right can be lost. */
  readonly mayRequest?: DeliverySignals['mayRequest'];
  /** Records a delivery, and that all events before `position` were handled. Never throws. */
  record(record: DeliveryRecord, position: LogPosition): void;
  /**
   * Keeps the right, and stores the progress.
   *
   * @param all number of handlers that the nodes share
   * @returns maximum number of handlers for this node. If it owns more, it should hand this one over. Undefined to keep this handler in any
   *   case
   * @throws ServiceError `unavailable`
   */
  keep(progress: KeptProgress, all: number): Promise<number | undefined>;
  /** Releases the right. Unless it was lost, the next owner continues with this progress. @throws ServiceError `unavailable` */
  release(progress: Pick<KeptProgress, 'position' | 'waiting'>): Promise<void>;
}

/**
 * Stores positions, delivery records and owners of handlers, and operators' requests. One implementation uses files, for one process; the
 * other uses Redis, for several nodes.
 */
export interface DeliveryStore {
  /** Whether other nodes continue the deliveries when this node stops. */
  readonly isShared: boolean;
  /**
   * Declares the handlers before they run. New ones begin at the end of the journal.
   *
   * @param known all configured handlers, whose positions are kept
   * @returns a promise that resolves when the start positions of new handlers are stored
   */
  declare(handlers: readonly string[], known: readonly string[]): Promise<void>;
  /** @returns undefined while another node owns the handler. @throws ServiceError `unavailable` */
  acquire(handler: WebhookHandler, share: NodeShare): Promise<Ownership | undefined>;
  /** Returns the newest request for a handler, as of the last `refresh`. */
  order(handler: string): HandlerOrder | undefined;
  /** Reads all requests again. @throws ServiceError `unavailable` */
  refresh(): Promise<void>;
  /** Stores a request. @param by name of the operator @throws ServiceError `unavailable`, `storage-full` or `internal` */
  give(handler: string, order: Omit<HandlerOrder, 'atMs'>, by: string): Promise<void>;
  /** @throws ServiceError `unavailable` */
  states(handlers: readonly string[]): Promise<Map<string, KnownHandler>>;
  /** Records a delivery for which an upload waited. Never throws. */
  record(record: DeliveryRecord): void;
  /**
   * Tells the owner the outcome of a delivery for which an upload waited. Never throws. @param isMade if false, the owner makes the
   * delivery in the background
   */
  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void;
  /** Saves positions, or sends a heartbeat. Called every two seconds. @throws ServiceError `unavailable` */
  beat(): Promise<void>;
  /** Stops acquiring handlers. Never throws. */
  leave(): Promise<void>;
  close(): Promise<void>;
}
