import type { LogPosition } from '../../events/journal/position.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** One handler as it stands, for figures. */
export interface HandlerState {
  handler: string;
  isRunning: boolean;
  /** Whether this node has its lease, where several nodes share the handlers. */
  hasLease?: boolean;
  /** Everything before it is done with. */
  position: LogPosition;
  suspendedUrls: number;
}

/** Delivers the journal to all event handlers. Implementations: of one process, and of nodes that share a Redis. */
export interface Deliveries {
  /**
   * Makes the handlers of a configuration, without starting them.
   *
   * @throws when one cannot be made, for example because its certificate authorities cannot be read
   */
  prepare(options: Readonly<Record<string, EventHandlerOptions>>): Map<string, WebhookHandler>;
  /**
   * Lets these handlers run and no others. One whose options stay goes on undisturbed; one that had stopped goes on.
   *
   * @param known UUIDs of all handlers of the configuration, disabled ones too: their positions stay
   * @returns resolves once it is on disk where new handlers begin: what is journalled after that reaches them
   */
  apply(handlers: ReadonlyMap<string, WebhookHandler>, known: readonly string[]): Promise<void>;
  /** The oldest position of this process's own journal files that is still to be read. */
  neededFrom(): LogPosition | undefined;
  /** @throws ServiceError `unavailable` when it cannot be found out */
  figures(): Promise<HandlerState[]>;
  /** Ends. @returns whether all that was under way ended in time */
  stop(timeoutMs: number): Promise<boolean>;
}
