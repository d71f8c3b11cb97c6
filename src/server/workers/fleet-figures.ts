import { joinTransfers } from '../../files/transfers.ts';
import { sumFigures } from '../../monitor/metric-figures.ts';
import type { ServiceFigures, WorkerSources } from '../../monitor/sources.ts';
import { joinFaults } from '../parts.ts';
import { sumTallies } from '../tally.ts';
import { type Member, noFigures } from './member.ts';
import type { WorkerFigures } from './protocol.ts';

/** What consoles show of one process, or of several. */
export type ProcessFigures = Omit<WorkerFigures, 'metrics' | 'services'>;

/** The figures of all workers, those included that ended: what was counted never goes back. */
export class FleetFigures {
  readonly #remains: WorkerFigures = noFigures();

  /** Keeps what a worker that ended had counted. */
  keep({ metrics, services, tally }: WorkerFigures): void {
    this.#remains.metrics = sumFigures([this.#remains.metrics, metrics]);
    this.#remains.services.push(...services);
    this.#remains.tally = sumTallies([this.#remains.tally, tally]);
  }

  /** The sums of each of the given services. */
  async ofServices(
    wanted: readonly Pick<ServiceFigures, 'service' | 'protocol'>[],
    members: readonly Member[],
    countSessions: (service: string) => number,
  ): Promise<ServiceFigures[]> {
    const sums = new Map<string, ServiceFigures>();
    for (const { service, protocol } of wanted)
      sums.set(service, {
        service,
        protocol,
        connections: 0,
        receivedBytes: 0,
        sentBytes: 0,
        requests: 0,
        sessions: countSessions(service),
      });
    const figures = await Promise.all(members.map((member) => member.figures()));
    for (const { services } of [...figures, this.#remains]) {
      for (const { service, connections, receivedBytes, sentBytes, requests } of services) {
        const sum = sums.get(service);
        if (!sum) continue;
        sum.connections += connections;
        sum.receivedBytes += receivedBytes;
        sum.sentBytes += sentBytes;
        sum.requests += requests;
      }
    }
    return [...sums.values()];
  }

  /** What all workers counted, what is under way, and the memory that they take. */
  async processes(members: readonly Member[]): Promise<ProcessFigures> {
    const figures = await Promise.all(members.map((member) => member.figures()));
    return {
      tally: sumTallies([...figures.map(({ tally }) => tally), this.#remains.tally]),
      transfers: joinTransfers(figures.map(({ transfers }) => transfers)),
      methodFaults: joinFaults(figures.map(({ methodFaults }) => methodFaults)),
      memoryBytes: figures.reduce((sum, worker) => sum + worker.memoryBytes, 0),
    };
  }

  /** The figures for metrics, of each worker and of all that ended. */
  async metrics(members: readonly Member[]): Promise<WorkerSources['figures']> {
    const figures = await Promise.all(members.map(async (member) => (await member.figures()).metrics));
    return [...figures, this.#remains.metrics];
  }
}
