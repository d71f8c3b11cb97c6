import type { Counts } from '../../control/shown-node.ts';

/** What one node counted since its start. */
export interface NodeCounts {
  uuid: string;
  /** Tells a process from the one before. */
  started: string;
  counts: Counts;
}

/** What all nodes counted together while they were seen: it never goes back, whatever node comes, goes or begins anew. */
export class SummedCounts {
  readonly #total: Counts = {
    requests: 0,
    failures: 0,
    received_bytes: 0,
    sent_bytes: 0,
    events: 0,
    deliveries: 0,
    failed_deliveries: 0,
  };
  #before = new Map<string, NodeCounts>();

  /** @param nodes those that are seen now; what one counted before it was seen the first time is not of this moment */
  add(nodes: readonly NodeCounts[]): Counts {
    for (const { uuid, started, counts } of nodes) {
      const before = this.#before.get(uuid);
      if (!before) continue;
      for (const name of Object.keys(this.#total) as (keyof Counts)[]) {
        const since = before.started === started ? counts[name] - before.counts[name] : counts[name];
        this.#total[name] += Math.max(since, 0);
      }
    }
    this.#before = new Map(nodes.map((node) => [node.uuid, node]));
    return { ...this.#total };
  }
}
