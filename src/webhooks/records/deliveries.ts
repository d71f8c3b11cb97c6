import type { Backlog } from '../../events/journal/event-log.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import type { Suspension } from '../../lib/remote/url-health.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { WebhookHandler } from '../webhook-handler.ts';

/** One handler as it stands, for figures. */
export interface HandlerState {
  handler: string;
  /** `stopped` after too many failures or by a fault of ours, `paused` by somebody. */
  state: 'running' | 'stopped' | 'paused';
  /** Why it does not run. */
  reason?: string | undefined;
  /** Requests in the last minute, with their retries; those that uploads wait for included. */
  deliveriesPerMinute: number;
  /** The data folder's server whose process delivers for it, where several nodes share the handlers and one has it. */
  node?: string | undefined;
  /** Whether this node has its lease, where several nodes share the handlers. */
  hasLease?: boolean;
  /** Everything before it is done with. */
  position: LogPosition;
  suspendedUrls: number;
  /** What waits for it, and the age of all this in milliseconds, where several nodes share the handlers: while Redis is away the last known. */
  shared?: { waiting: Backlog; ageMs: number };
}

/** Delivers the journal to all event handlers. */
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
  /**
   * Lets a handler rest: what is under way ends, nothing more is sent, and its position stays, over restarts and reloads. Events `componentStopped`. Of
   * nodes all follow within a few seconds.
   *
   * @param by who wants it
   * @throws ServiceError `not-found` for a handler that does not run in this configuration, `unavailable`, `storage-full` or `internal` when
   * it cannot be remembered
   */
  pause(handler: string, by: string): Promise<void>;
  /** Lets a paused handler go on where it stands: `componentStarted`. @throws as `pause` */
  resume(handler: string, by: string): Promise<void>;
  /** Lets a handler that stopped go on where it stands: `componentStarted`. @throws as `pause` */
  start(handler: string, by: string): Promise<void>;
  /** URLs of a handler that are left alone. @throws as `pause` */
  suspendedUrls(handler: string): Promise<Suspension[]>;
  /** Lets a URL be asked again at once. @returns whether it was suspended. @throws as `pause` */
  liftSuspension(handler: string, url: string): Promise<boolean>;
  /** How the handlers are; while that cannot be found out, how they were last. */
  figures(): Promise<HandlerState[]>;
  /** Ends. @returns whether all that was under way ended in time */
  stop(timeoutMs: number): Promise<boolean>;
}
