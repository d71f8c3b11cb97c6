import type { LoggedEvent } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { DeliverySignals } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WaitingRetry } from '../retries.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** An operator's order for a handler, on every node. */
export interface HandlerOrder {
  state: 'paused' | 'running';
  /** For events and people. */
  reason: string;
  /** Unix time in milliseconds; larger than that of the order before. */
  atMs: number;
}

/** The progress of a handler on the node that owns it. */
export interface HandlerProgress {
  /** Everything before it is done. */
  position: LogPosition;
  deliveriesPerMinute: number;
  /** Why it stopped; undefined while it runs. */
  stopped?: string | undefined;
}

/** The progress with which the next owner continues. */
export interface KeptProgress extends HandlerProgress {
  waiting: readonly WaitingRetry[];
}

/** A handler in the store, on any node. */
export interface KnownHandler extends HandlerProgress {
  /** Whether any node delivers for it. */
  isOwned: boolean;
  /** The server of that node, with several nodes. */
  node?: string | undefined;
}

/** The number of all handlers, and of those that this node delivers for. */
export interface NodeShare {
  all: number;
  owned: number;
}

/** Whether the delivery that an upload waits for was made, or a promise of that. */
export type AwaitedOutcome = { isMade: boolean } | { willBeMade: Promise<boolean> };

/** The deliveries of one handler for which uploads wait. */
export interface AwaitedDeliveries {
  awaitOutcome(logged: LoggedEvent): Promise<AwaitedOutcome>;
}

/** The right to deliver for a handler. */
export interface Ownership {
  /** Position to continue at. */
  readonly position: LogPosition;
  /** Aborts when the right is lost; another node then delivers the running requests. */
  readonly lost: AbortSignal;
  readonly uploads: AwaitedDeliveries;
  /** Deliveries that waited for a retry when the previous owner ended. */
  readonly waiting: readonly WaitingRetry[];
  /** Called before each request, if the right can be lost. */
  readonly mayRequest?: DeliverySignals['mayRequest'];
  /** Records a delivery, and everything before `position` as done. Never throws. */
  record(record: DeliveryRecord, position: LogPosition): void;
  /**
   * Keeps the right, and stores the progress.
   *
   * @param all number of handlers that the nodes share
   * @returns how many handlers this node may own: with more, it hands this one over; undefined when it keeps it anyway
   * @throws ServiceError `unavailable`
   */
  keep(progress: KeptProgress, all: number): Promise<number | undefined>;
  /** Gives up the right; the next owner continues with this progress, unless the right was lost. @throws ServiceError `unavailable` */
  release(progress: Pick<KeptProgress, 'position' | 'waiting'>): Promise<void>;
}

/** Stores positions, records, orders and owners of handlers: in files of one process, or in Redis for nodes. Contract: test/contracts/delivery-store.ts. */
export interface DeliveryStore {
  /** Whether other nodes continue where this one ends. */
  readonly isShared: boolean;
  /**
   * Declares the handlers before they run; new ones begin at the current end of the journal.
   *
   * @param known all handlers of the configuration, disabled ones too: their positions stay
   * @returns resolves once the begin of new ones is stored
   */
  declare(handlers: readonly string[], known: readonly string[]): Promise<void>;
  /** @returns undefined while another node owns the handler. @throws ServiceError `unavailable` */
  acquire(handler: WebhookHandler, share: NodeShare): Promise<Ownership | undefined>;
  /** The order for a handler at the last `refresh`. */
  order(handler: string): HandlerOrder | undefined;
  /** Reads all orders again. @throws ServiceError `unavailable` */
  refresh(): Promise<void>;
  /** @param by name of the operator. @throws ServiceError `unavailable`, `storage-full` or `internal` when it cannot be stored */
  give(handler: string, order: Omit<HandlerOrder, 'atMs'>, by: string): Promise<void>;
  /** @throws ServiceError `unavailable` */
  states(handlers: readonly string[]): Promise<Map<string, KnownHandler>>;
  /** Records a delivery that an upload waited for. Never throws. */
  record(record: DeliveryRecord): void;
  /** Reports that the delivery for a waiting upload was made and recorded, or will not be made while it waits. Never throws. */
  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void;
  /** Called every two seconds: saves positions, or sends other nodes a heartbeat. @throws ServiceError `unavailable` */
  beat(): Promise<void>;
  /** Takes no more handlers. Never throws. */
  leave(): Promise<void>;
  /** Writes pending data. */
  close(): Promise<void>;
}
