import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import type { Identity } from './credentials.ts';

/** Concurrent sessions of an account: enough for scripts, too few to fill the memory. One more ends the one unused for longest. */
export const maxSessionsPerAccount = 1000;

/** A session in force. `key` is the hash of its ID, which is not kept. */
export interface Session {
  readonly key: string;
  readonly identity: Identity;
  readonly createdMs: number;
}

/** Lifetimes of sessions in milliseconds (docs/spec/http.md#sessions). */
export interface SessionLifetimes {
  idleMs: number;
  maximumAgeMs: number;
}

/** A session as administrators see it; times are Unix times in milliseconds. */
export interface ListedSession {
  /** As in `Session`; not to be shown. */
  readonly key: string;
  readonly identity: Identity;
  /** Of the login; empty when it is not known. */
  readonly address: string;
  /** The name of its program as it told it, such as `User-Agent`; empty when it told none. */
  readonly client: string;
  readonly createdMs: number;
  readonly lastUsedMs: number;
  /** End of the session unless it is used before. */
  readonly expiresMs: number;
}

/** Sessions as administrators list and end them. */
export interface SessionOverview {
  /** The active sessions. */
  list(): Promise<ListedSession[]>;
  /** Ends sessions. When it resolves, no process accepts their IDs. */
  endKeys(keys: readonly string[]): Promise<void>;
}

/** The store of sessions. Implementations: state/memory, and state/redis for nodes. */
export interface SessionStore extends SessionOverview {
  /**
   * Begins a session. Where the account has `maxSessionsPerAccount` already, the one unused for longest times out.
   *
   * @param address of the client
   * @param client the name of its program
   * @returns its ID, which is not kept
   */
  create(identity: Identity, address?: string, client?: string): Promise<string>;
  /**
   * Begins the session of a connection, which ends with its process.
   *
   * @param most concurrent sessions of the account
   * @param client the name of its program
   * @returns its ID; undefined when the account has that many already
   */
  createForConnection(identity: Identity, address: string, most: number, client?: string): Promise<string | undefined>;
  /** The active session of an ID, whose activity is recorded; undefined without one. */
  find(id: string): Promise<Session | undefined> | Session | undefined;
  /** Marks a session as busy with a transfer, which counts as activity until `done`. */
  hold(session: Session): { done(): void };
  end(session: Session): Promise<void>;
  /** Ends all sessions of an account (by UUID), but for one. @returns how many ended */
  endAll(accountUuid: string, except?: Session): Promise<number>;
  /** Ends sessions whose login would fail now (`AuthChain.inForce`), without events of time-outs. @returns how many ended */
  keepOnly(isInForce: (identity: Identity) => boolean): Promise<number>;
  /** Ends one session as `keepOnly` does, unless its credential was renewed meanwhile. */
  refuse(session: Session): Promise<void>;
  /** Replaces the fingerprints that a session holds with, before its account's password changes. */
  renew(session: Session, fingerprints: readonly string[]): Promise<void>;
  /** Number of active sessions. */
  count(): Promise<number>;
  close(): void;
}

/** The key of a session in its store; nobody can log in with it. */
export const sessionKey = memoizeForTick((id) => hash('sha256', id, 'base64url'));

/** A new session ID of 256 bits (docs/spec/http.md#sessions). */
export function newSessionId(): string {
  return randomBytes(32).toString('base64url');
}

/** End of a session unless it is used before, Unix time in milliseconds. @param lastUsedMs monotonic; undefined while a transfer keeps it busy */
export function expiryMs(createdMs: number, lastUsedMs: number | undefined, lifetimes: SessionLifetimes, clock: Clock): number {
  const oldestMs = createdMs + lifetimes.maximumAgeMs;
  return lastUsedMs === undefined ? oldestMs : Math.min(oldestMs, clock.nowMs() - clock.monotonicMs() + lastUsedMs + lifetimes.idleMs);
}

/** Longest name of a client's program that is kept, in characters. */
const maxClientLength = 200;

/** The name of a client's program as sessions keep it: remote text of bounded length. */
export function keptClient(client = ''): string {
  return client.slice(0, maxClientLength);
}

/** A hold on a session, which `done` releases once. */
export function heldUntil(release: () => void): { done(): void } {
  let isHeld = true;
  return {
    done: () => {
      if (isHeld) release();
      isHeld = false;
    },
  };
}
