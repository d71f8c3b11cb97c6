import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import type { Identity } from './credentials.ts';

/** Maximum number of sessions per account. This is enough for scripts, but not enough to fill the memory. */
export const maxSessionsPerAccount = 1000;

/** An active session. Its `key` is the hash of its ID. The ID itself is not stored. */
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

/** A session as administrators see it. All times are Unix times in milliseconds. */
export interface ListedSession {
  /** The key of the `Session`. Never show it to administrators. */
  readonly key: string;
  readonly identity: Identity;
  /** The address of the client at the login; empty if it is not known. */
  readonly address: string;
  /** The name that the client's program sent, for example in `User-Agent`; empty if it sent none. */
  readonly client: string;
  readonly createdMs: number;
  readonly lastUsedMs: number;
  /** The session ends at this time, unless it is used earlier. */
  readonly expiresMs: number;
}

/** Lists and ends sessions for administrators. */
export interface SessionOverview {
  /** Returns the active sessions. */
  list(): Promise<ListedSession[]>;
  /** Ends sessions. When the promise has resolved, no process accepts their IDs. */
  endKeys(keys: readonly string[]): Promise<void>;
}

/** Stores sessions. There is an implementation in state/memory, and one for several nodes in state/redis. */
export interface SessionStore extends SessionOverview {
  /**
   * Begins a session. If the account already has `maxSessionsPerAccount`, its least recently used session times out.
   *
   * @param address network address of the client
   * @param client name of the client's program
   * @returns the ID of the session, which the store does not keep
   */
  create(identity: Identity, address?: string, client?: string): Promise<string>;
  /**
   * Begins the session of a connection. The caller ends the session when the connection ends.
   *
   * @param most maximum number of concurrent sessions of the account
   * @param client name of the client's program
   * @returns the ID of the session; undefined if the account already has the maximum
   */
  createForConnection(identity: Identity, address: string, most: number, client?: string): Promise<string | undefined>;
  /** Finds the active session with an ID, and records its use. @returns undefined if there is none */
  find(id: string): Promise<Session | undefined> | Session | undefined;
  /** Marks a session as busy with a transfer. It does not become idle before `done` is called. */
  hold(session: Session): { done(): void };
  /** Ends a session. @returns whether it was active; if several nodes call this at the same time, only one call returns `true` */
  end(session: Session): Promise<boolean>;
  /** Ends all sessions of an account (by UUID) except one. @returns the number of sessions that ended */
  endAll(accountUuid: string, except?: Session): Promise<number>;
  /**
   * Ends the sessions whose login would fail now (`AuthChain.inForce`). Emits no event about a timeout for them.
   *
   * @returns the number of sessions that ended
   */
  keepOnly(isInForce: (identity: Identity) => boolean): Promise<number>;
  /** Ends one session like `keepOnly`, unless its credential was renewed meanwhile. */
  refuse(session: Session): Promise<void>;
  /** Sets the fingerprints of the credentials that keep a session valid. Call this before the account's password changes. */
  renew(session: Session, fingerprints: readonly string[]): Promise<void>;
  /** Returns the number of active sessions. */
  count(): Promise<number>;
  close(): void;
}

/** Hashes a session ID. The store uses the hash as the session's key. Nobody can log in with the hash. */
export const sessionKey = memoizeForTick((id) => hash('sha256', id, 'base64url'));

/** Creates a random session ID of 256 bits (docs/spec/http.md#sessions). */
export function newSessionId(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Calculates when a session ends, unless it is used earlier.
 *
 * @param lastUsedMs monotonic time in milliseconds; undefined while a transfer keeps the session busy
 * @returns Unix time in milliseconds
 */
export function expiryMs(createdMs: number, lastUsedMs: number | undefined, lifetimes: SessionLifetimes, clock: Clock): number {
  const oldestMs = createdMs + lifetimes.maximumAgeMs;
  return lastUsedMs === undefined ? oldestMs : Math.min(oldestMs, clock.nowMs() - clock.monotonicMs() + lastUsedMs + lifetimes.idleMs);
}

/** Maximum length of the name of a client's program, in characters. A longer name is truncated. */
const maxClientLength = 200;

/** Truncates the name of a client's program to the maximum length, because the client chooses the name. */
export function keptClient(client = ''): string {
  return client.slice(0, maxClientLength);
}

/** Creates a hold on a session. The first call of `done` calls `release`; later calls do nothing. */
export function heldUntil(release: () => void): { done(): void } {
  let isHeld = true;
  return {
    done: () => {
      if (isHeld) release();
      isHeld = false;
    },
  };
}
