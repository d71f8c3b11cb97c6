import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import type { Identity } from './credentials.ts';

/** Maximum number of sessions per account. It is enough for scripts, but too few to fill the memory. One more ends the least recently used. */
export const maxSessionsPerAccount = 1000;

/** An active session. `key` is the hash of its ID; the ID itself is not stored. */
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
  /** The same as in `Session`. Never show it to administrators. */
  readonly key: string;
  readonly identity: Identity;
  /** The client's address at the login; empty when it is not known. */
  readonly address: string;
  /** The name that the client's program sent, for example in `User-Agent`; empty when it sent none. */
  readonly client: string;
  readonly createdMs: number;
  readonly lastUsedMs: number;
  /** The session ends at this time unless it is used before. */
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
   * Begins a session. If the account already has `maxSessionsPerAccount`, its least recently used session times out.
   *
   * @param address network address of the client
   * @param client the name of its program
   * @returns its ID, which the store does not keep
   */
  create(identity: Identity, address?: string, client?: string): Promise<string>;
  /**
   * Begins the session of a connection. The session ends with this process at the latest.
   *
   * @param most maximum number of concurrent sessions of the account
   * @param client the name of its program
   * @returns its ID; undefined when the account already has the maximum
   */
  createForConnection(identity: Identity, address: string, most: number, client?: string): Promise<string | undefined>;
  /** Finds the active session of an ID and records its use. @returns undefined when there is none */
  find(id: string): Promise<Session | undefined> | Session | undefined;
  /** Marks a session as busy with a transfer. It does not become idle until `done` is called. */
  hold(session: Session): { done(): void };
  /** Ends a session. @returns whether it was active; of simultaneous calls on all nodes, only one gets `true` */
  end(session: Session): Promise<boolean>;
  /** Ends all sessions of an account (by UUID) except one. @returns how many ended */
  endAll(accountUuid: string, except?: Session): Promise<number>;
  /** Ends sessions whose login would fail now (`AuthChain.inForce`); sends no time-out events for them. @returns how many ended */
  keepOnly(isInForce: (identity: Identity) => boolean): Promise<number>;
  /** Ends one session as `keepOnly` does, unless its credential was renewed meanwhile. */
  refuse(session: Session): Promise<void>;
  /** Replaces the credential fingerprints that keep a session valid. Call it before the account's password changes. */
  renew(session: Session, fingerprints: readonly string[]): Promise<void>;
  /** Number of active sessions. */
  count(): Promise<number>;
  close(): void;
}

/** Hashes a session ID. The store uses the hash as the key of the session; nobody can log in with the hash. */
export const sessionKey = memoizeForTick((id) => hash('sha256', id, 'base64url'));

/** Creates a random session ID of 256 bits (docs/spec/http.md#sessions). */
export function newSessionId(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Calculates when a session ends unless it is used before.
 *
 * @param lastUsedMs monotonic time; undefined while a transfer keeps the session busy
 * @returns Unix time in milliseconds
 */
export function expiryMs(createdMs: number, lastUsedMs: number | undefined, lifetimes: SessionLifetimes, clock: Clock): number {
  const oldestMs = createdMs + lifetimes.maximumAgeMs;
  return lastUsedMs === undefined ? oldestMs : Math.min(oldestMs, clock.nowMs() - clock.monotonicMs() + lastUsedMs + lifetimes.idleMs);
}

/** Maximum length of the name of a client's program, in characters. A longer name is cut. */
const maxClientLength = 200;

/** Limits the length of the name of a client's program, because the client chooses the name. */
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
