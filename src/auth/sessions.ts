import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import type { Identity } from './credentials.ts';

/** Bits of a session ID: 256 (docs/spec/http.md#sessions). */
const idBytes = 32;

/**
 * Sessions that an account may have at once: far more than people and scripts need, and few enough that one password cannot fill the
 * memory. One more ends the one that has been unused for longest.
 */
export const maxSessionsPerAccount = 1000;

/** A session in force. The ID itself is kept nowhere; `key` is its hash. */
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

/** A session as those see it who run the service. */
export interface ListedSession {
  /** As in `Session`; not to be shown. */
  readonly key: string;
  /** Name of the account. */
  readonly account: string;
  /** Where the login came from; empty when that is not known. */
  readonly address: string;
  /** Unix time in milliseconds. */
  readonly createdMs: number;
  /** When it ends unless it is used before, Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** What those who run the service may see and do of sessions. */
export interface SessionOverview {
  /** The active sessions. */
  list(): Promise<ListedSession[]>;
  /** Ends sessions; when it resolves, nobody is let in by their IDs any more, whichever process is asked. */
  endKeys(keys: readonly string[]): Promise<void>;
}

/** Where sessions are kept. Implementations: state/memory, and state/redis for nodes. */
export interface SessionStore extends SessionOverview {
  /**
   * Begins a session and returns its ID, the only time that the ID is known to the service. Where the account has
   * `maxSessionsPerAccount` already, the one unused for longest times out.
   *
   * @param address where the login came from, for those who run the service
   */
  create(identity: Identity, address?: string): Promise<string>;
  /**
   * Begins the session of a connection, which does not outlive the process that has it.
   *
   * @param address where the login came from
   * @param most sessions that the account may have at once
   * @returns its ID; undefined when the account has so many already
   */
  createForConnection(identity: Identity, address: string, most: number): Promise<string | undefined>;
  /** The session of an ID while it is active, and notes the activity; undefined otherwise. */
  find(id: string): Promise<Session | undefined> | Session | undefined;
  /** Marks a session as busy with a transfer, which counts as activity until `done`. */
  hold(session: Session): { done(): void };
  end(session: Session): Promise<void>;
  /** Ends all sessions of an account (by UUID), but for one. @returns how many ended */
  endAll(accountUuid: string, except?: Session): Promise<number>;
  /** Ends the sessions of those who are in no more (`AuthChain.inForce`); nobody is told of them as timed out. @returns how many ended */
  keepOnly(isInForce: (identity: Identity) => boolean): Promise<number>;
  /** Ends one that was found, as `keepOnly` does: not if its credential was renewed meanwhile. */
  refuse(session: Session): Promise<void>;
  /**
   * Has a session hold with one more credential, before that is the account's: its own password is about to be changed.
   *
   * @param fingerprints all that it is to hold with
   */
  renew(session: Session, fingerprints: readonly string[]): Promise<void>;
  /** Number of active sessions, for figures. */
  count(): Promise<number>;
  close(): void;
}

/** The hash under which a session is kept: whoever reads the store cannot use it. */
export const sessionKey = memoizeForTick((id) => hash('sha256', id, 'base64url'));

/** A fresh session ID. */
export function newSessionId(): string {
  return randomBytes(idBytes).toString('base64url');
}

/**
 * When a session ends unless it is used before, Unix time in milliseconds.
 *
 * @param lastUsedMs monotonic; undefined while a transfer keeps it busy
 */
export function expiryMs(createdMs: number, lastUsedMs: number | undefined, lifetimes: SessionLifetimes, clock: Clock): number {
  const oldestMs = createdMs + lifetimes.maximumAgeMs;
  return lastUsedMs === undefined ? oldestMs : Math.min(oldestMs, clock.nowMs() - clock.monotonicMs() + lastUsedMs + lifetimes.idleMs);
}

/** A hold on a session, which `done` gives up; a second call does nothing. */
export function heldUntil(giveUp: () => void): { done(): void } {
  let isHeld = true;
  return {
    done: () => {
      if (!isHeld) return;
      isHeld = false;
      giveUp();
    },
  };
}
