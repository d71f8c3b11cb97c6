import { countFreshForMs, countValidForMs } from '../files/quota.ts';
import type { Clock } from '../lib/clock.ts';
import type { Peer } from './peer.ts';
import type { QuotaAnswer, QuotaRequest } from './protocol.ts';

interface Usage {
  usedBytes: number;
  countedAtMs: number;
  /** Room taken by uploads that run, by worker. */
  reserved: Map<Peer, number>;
}

/** What folders under a quota hold and what uploads of all workers have taken of them; the workers do the counting on disk. */
export class QuotaLedger {
  readonly #clock: Clock;
  readonly #usages = new Map<string, Usage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes room for an upload, when there is. */
  reserve(peer: Peer, folders: string, { limitBytes, replacedBytes, bytes, countedBytes }: QuotaRequest): QuotaAnswer {
    const usage = this.#usageOf(folders, countedBytes);
    const ageMs = this.#clock.monotonicMs() - usage.countedAtMs;
    if (ageMs > countValidForMs) return 'count';
    if (usage.usedBytes + reservedBytes(usage) + bytes - replacedBytes > limitBytes) return ageMs > countFreshForMs ? 'count' : 'refused';
    usage.reserved.set(peer, (usage.reserved.get(peer) ?? 0) + bytes);
    return 'taken';
  }

  /** Ends an upload's claim. @param changeBytes by how much the folders grew */
  release(peer: Peer, folders: string, takenBytes: number, changeBytes: number): void {
    const usage = this.#usages.get(folders);
    if (!usage) return;
    usage.usedBytes += changeBytes;
    const left = (usage.reserved.get(peer) ?? 0) - takenBytes;
    if (left > 0) usage.reserved.set(peer, left);
    else usage.reserved.delete(peer);
  }

  /** What the folders hold, uploads under way included; undefined when they must be counted first. */
  usedBytes(folders: string, countedBytes: number | undefined): number | undefined {
    const usage = this.#usageOf(folders, countedBytes);
    const isKnown = this.#clock.monotonicMs() - usage.countedAtMs <= countValidForMs;
    return isKnown ? usage.usedBytes + reservedBytes(usage) : undefined;
  }

  /** The next upload counts anew. */
  forget(folders: string): void {
    const usage = this.#usages.get(folders);
    if (usage) usage.countedAtMs = Number.NEGATIVE_INFINITY;
  }

  lose(peer: Peer): void {
    for (const usage of this.#usages.values()) if (usage.reserved.delete(peer)) usage.countedAtMs = Number.NEGATIVE_INFINITY;
  }

  #usageOf(folders: string, countedBytes: number | undefined): Usage {
    let usage = this.#usages.get(folders);
    if (!usage) {
      usage = { usedBytes: 0, countedAtMs: Number.NEGATIVE_INFINITY, reserved: new Map() };
      this.#usages.set(folders, usage);
    }
    if (countedBytes !== undefined) {
      usage.usedBytes = countedBytes;
      usage.countedAtMs = this.#clock.monotonicMs();
    }
    return usage;
  }
}

function reservedBytes({ reserved }: Usage): number {
  return [...reserved.values()].reduce((sum, taken) => sum + taken, 0);
}
