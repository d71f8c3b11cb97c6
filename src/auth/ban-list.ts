import { isIPv6 } from 'node:net';
import type { Clock } from '../lib/clock.ts';

/** `server.security_policy`. */
export interface SecurityPolicy {
  ban_after_failures: number;
  ban_seconds: number;
  ban_window_seconds: number;
}

/** Keeps an address away that guessed too often (decisions.md, "Brute force"). Implementations: memory here, Redis for many nodes. */
export interface AddressBans {
  /** Whether an address is refused, and for how many more seconds. */
  isRefused(address: string): Promise<{ retryAfterS: number } | undefined>;
  /** Counts a failed attempt; the one that reaches the limit bans the address. */
  failed(address: string): Promise<void>;
  /** A success resets the count. */
  succeeded(address: string): Promise<void>;
}

/** Addresses remembered at most; beyond, the oldest are forgotten, so that an attacker with many cannot eat the memory. */
export const mostAddresses = 100_000;

interface Record {
  failuresMs: number[];
  bannedUntilMs: number;
}

/** Failed attempts and bans of one process (decisions.md, "Brute force"). */
export class MemoryBans implements AddressBans {
  readonly #clock: Clock;
  readonly #policy: () => SecurityPolicy;
  readonly #records = new Map<string, Record>();

  /** @param policy asked each time, so that a reload takes effect at once */
  constructor(clock: Clock, policy: () => SecurityPolicy) {
    this.#clock = clock;
    this.#policy = policy;
  }

  async isRefused(address: string): Promise<{ retryAfterS: number } | undefined> {
    const record = this.#records.get(sourceOf(address));
    const leftMs = (record?.bannedUntilMs ?? 0) - this.#clock.monotonicMs();
    return leftMs > 0 ? { retryAfterS: Math.ceil(leftMs / 1000) } : undefined;
  }

  async failed(address: string): Promise<void> {
    const { ban_after_failures, ban_seconds, ban_window_seconds } = this.#policy();
    if (ban_after_failures === 0) return;
    const nowMs = this.#clock.monotonicMs();
    const source = sourceOf(address);
    const record = this.#records.get(source) ?? { failuresMs: [], bannedUntilMs: 0 };
    record.failuresMs = [...record.failuresMs.filter((timeMs) => nowMs - timeMs < ban_window_seconds * 1000), nowMs];
    if (record.failuresMs.length >= ban_after_failures) {
      record.bannedUntilMs = nowMs + ban_seconds * 1000;
      record.failuresMs = [];
    }
    this.#records.delete(source);
    this.#records.set(source, record);
    const [oldest] = this.#records.keys();
    if (this.#records.size > mostAddresses && oldest !== undefined) this.#records.delete(oldest);
  }

  async succeeded(address: string): Promise<void> {
    this.#records.delete(sourceOf(address));
  }

  /** Sources that failed of late, and for how much longer they are banned, in ms; 0 when they are not. */
  known(): [source: string, bannedForMs: number][] {
    return [...this.#records.keys()].map((source) => [source, this.bannedForMs(source)]);
  }

  /** For how much longer a source is banned, in milliseconds; 0 when it is not. */
  bannedForMs(source: string): number {
    return Math.max((this.#records.get(source)?.bannedUntilMs ?? 0) - this.#clock.monotonicMs(), 0);
  }
}

/** What counts as one source: an IPv4 address, or the /64 that an IPv6 customer has to itself. */
export function sourceOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const groups = address.includes('::') ? [...left, ...Array(8 - left.length - right.length).fill('0'), ...right] : left;
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
