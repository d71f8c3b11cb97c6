import type { LoggedEvent } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { DeliverySignals } from '../delivery.ts';
import type { DeliveryRecord } from '../records/delivery-record.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** An operator's wish for a handler, on every node. */
export interface HandlerOrder {
  state: 'paused' | 'running';
  /** For events and people. */
  reason: string;
  /** When it was given, Unix time in milliseconds; larger than of the order before. */
  atMs: number;
}

/** How a handler gets on where it is delivered for. */
export interface HandlerProgress {
  /** Everything before it is done with. */
  position: LogPosition;
  deliveriesPerMinute: number;
  /** Why it stopped; undefined while it runs. */
  stopped?: string | undefined;
}

/** A handler as the store knows it, whichever node delivers for it. */
export interface KnownHandler extends HandlerProgress {
  /** Whether any node delivers for it. */
  isOwned: boolean;
  /** The data folder's server of that node, where there are several. */
  node?: string | undefined;
}

/** How many handlers there are, and how many of them this node delivers for. */
export interface NodeShare {
  all: number;
  owned: number;
}

/** The outcome of the delivery that an upload waits for: whether it was made, or a promise of that. */
export type AwaitedOutcome = { isMade: boolean } | { willBeMade: Promise<boolean> };

/** The deliveries of one handler that uploads wait for. */
export interface AwaitedDeliveries {
  /** What came, or will come, of the delivery of an event. */
  awaitOutcome(logged: LoggedEvent): Promise<AwaitedOutcome>;
}

/** The right to deliver for a handler. */
export interface Ownership {
  /** Where to go on. */
  readonly position: LogPosition;
  /** Aborts when the right is lost: what is under way is another node's to deliver. */
  readonly lost: AbortSignal;
  readonly uploads: AwaitedDeliveries;
  /** Asked before each request, where the right can be lost. */
  readonly mayRequest?: DeliverySignals['mayRequest'];
  /** Records a delivery, and everything before `position` as done with. Never throws. */
  record(record: DeliveryRecord, position: LogPosition): void;
  /**
   * Keeps the right, and remembers how far the handler is.
   *
   * @returns whether the handler is to be handed over to a node that has fewer. @throws ServiceError `unavailable`
   */
  keep(progress: HandlerProgress, share: NodeShare): Promise<boolean>;
  /** Gives the right up; the next owner goes on at `position`, unless the right was lost. @throws ServiceError `unavailable` */
  release(position: LogPosition): Promise<void>;
}

/**
 * What the delivery engine remembers: positions, records, orders, and who delivers for which handler.
 * Implementations: files of one process, and Redis for nodes. Contract: test/contracts/delivery-store.ts.
 */
export interface DeliveryStore {
  /** Whether other nodes go on where this one ends. */
  readonly isShared: boolean;
  /**
   * Names the handlers that are to run, before they do; new ones begin at the journal's present end.
   *
   * @param known all handlers of the configuration, disabled ones too: their positions stay
   * @returns resolves once it is remembered where new ones begin
   */
  declare(handlers: readonly string[], known: readonly string[]): Promise<void>;
  /** @returns undefined while the handler is another node's. @throws ServiceError `unavailable` */
  acquire(handler: WebhookHandler, share: NodeShare): Promise<Ownership | undefined>;
  /** The order for a handler as it was at the last `refresh`. */
  order(handler: string): HandlerOrder | undefined;
  /** Asks for all orders anew. @throws ServiceError `unavailable` */
  refresh(): Promise<void>;
  /** @param by who wants it. @throws ServiceError `unavailable`, `storage-full` or `internal` when it cannot be remembered */
  give(handler: string, order: Omit<HandlerOrder, 'atMs'>, by: string): Promise<void>;
  /** @throws ServiceError `unavailable` */
  states(handlers: readonly string[]): Promise<Map<string, KnownHandler>>;
  /** Records a delivery that an upload waited for. Never throws. */
  record(record: DeliveryRecord): void;
  /** The delivery that an upload waits for was made and recorded, or will not be made while it waits. Never throws. */
  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void;
  /** Called every two seconds: saves positions, or tells other nodes that this one lives. @throws ServiceError `unavailable` */
  beat(): Promise<void>;
  /** Takes no more handlers. Never throws. */
  leave(): Promise<void>;
  /** Writes what waits to be written. */
  close(): Promise<void>;
}
