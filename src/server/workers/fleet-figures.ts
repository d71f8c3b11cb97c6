import { sumFigures } from '../../monitor/metric-figures.ts';
import type { ServiceFigures, WorkerSources } from '../../monitor/sources.ts';
import type { Member } from './member.ts';
import type { WorkerFigures } from './protocol.ts';

/** The figures of all workers, those included that ended: what was counted never goes back. */
export class FleetFigures {
  readonly #remains: WorkerFigures = { metrics: [], services: [] };

  /** Keeps what a worker that ended had counted. */
  keep({ metrics, services }: WorkerFigures): void {
    this.#remains.metrics = sumFigures([this.#remains.metrics, metrics]);
    this.#remains.services.push(...services);
  }

  /** The sums of each of the given services. */
  async ofServices(
    wanted: readonly Pick<ServiceFigures, 'service' | 'protocol'>[],
    members: readonly Member[],
    countSessions: (service: string) => number,
  ): Promise<ServiceFigures[]> {
    const sums = new Map<string, ServiceFigures>();
    for (const { service, protocol } of wanted)
      sums.set(service, { service, protocol, connections: 0, receivedBytes: 0, sentBytes: 0, sessions: countSessions(service) });
    const figures = await Promise.all(members.map((member) => member.figures()));
    for (const { services } of [...figures, this.#remains]) {
      for (const { service, connections, receivedBytes, sentBytes } of services) {
        const sum = sums.get(service);
        if (!sum) continue;
        sum.connections += connections;
        sum.receivedBytes += receivedBytes;
        sum.sentBytes += sentBytes;
      }
    }
    return [...sums.values()];
  }

  /** The figures for metrics, of each worker and of all that ended. */
  async metrics(members: readonly Member[]): Promise<WorkerSources['figures']> {
    const figures = await Promise.all(members.map(async (member) => (await member.figures()).metrics));
    return [...figures, this.#remains.metrics];
  }
}
