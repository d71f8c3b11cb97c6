import type { Config } from '../config/schema/schema.ts';
import { eventCatalogue } from '../events/catalogue.ts';
import type { ServiceEvent } from '../events/event.ts';
import type { RequestObserver } from '../http/request/request-trace.ts';
import type { Log } from '../lib/log.ts';
import type { RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { Metrics } from '../monitor/metrics.ts';
import type { MonitorServer } from '../monitor/monitor-server.ts';
import type { MetricFigures, MonitorSources } from '../monitor/sources.ts';
import type { SshObserver } from '../ssh/ssh-service.ts';
import type { DeliveryRecord } from '../webhooks/records/delivery-record.ts';

/** Errors that are remembered. */
export const maxErrors = 20;

/** An event of the group `failure`, as consoles show it. */
export interface RecentError {
  time: string;
  id: string;
  uuid: string;
  message: string;
  /** The name of the server. */
  node: string;
}

/** Counts of one process since its start. */
export interface TallyFigures {
  events: number;
  failures: number;
  deliveries: number;
  failedDeliveries: number;
  /** The newest last. */
  errors: RecentError[];
}

const failures = new Set(eventCatalogue.filter(({ groups }) => groups.includes('failure')).map(({ id }) => String(id)));

/** Counts what consoles show; cheap enough to be done always. */
class Tally {
  readonly figures: TallyFigures = { events: 0, failures: 0, deliveries: 0, failedDeliveries: 0, errors: [] };

  event(event: ServiceEvent): void {
    this.figures.events++;
    if (!failures.has(event.id)) return;
    this.figures.failures++;
    const { errors } = this.figures;
    errors.push(recentError(event));
    if (errors.length > maxErrors) errors.shift();
  }

  delivery({ outcome }: { outcome: string }): void {
    this.figures.deliveries++;
    if (outcome === 'failed') this.figures.failedDeliveries++;
  }
}

/** An event of a failure, as overviews list it. */
export function recentError({ id, uuid, message, timestamp, server }: ServiceEvent): RecentError {
  return { time: new Date(Number(timestamp.timestamp) * 1000).toISOString(), id, uuid, message, node: server.name };
}

/** The newest of several lists, each once; the newest last, those of one moment in the order of their list. */
export function newestErrors(lists: readonly (readonly RecentError[])[]): RecentError[] {
  const all = new Map(lists.flat().map((error) => [error.uuid, error]));
  return [...all.values()].sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time)).slice(-maxErrors);
}

/** The `monitor` services of a server and the figures they show. Without such a service their figures are not counted. */
export class Monitoring {
  readonly #log: Log;
  readonly #sources: MonitorSources;
  readonly #running = new Map<string, MonitorServer>();
  readonly #process: string | undefined;
  readonly tally = new Tally();
  #metrics: Metrics | undefined;
  #countsRequests = false;

  /**
   * @param sources asked by `/ready` and at each scrape
   * @param process names this process where there are several
   */
  constructor(sources: MonitorSources, log: Log, process?: string) {
    this.#sources = sources;
    this.#log = log;
    this.#process = process;
  }

  /**
   * Starts the services of a configuration that do not run yet, and ends those that it does not have.
   *
   * @throws ServiceError `unavailable` when one cannot listen
   */
  async apply(config: Config): Promise<void> {
    const wanted = monitorServices(config);
    this.#countsRequests = wanted.length > 0;
    const stays = (uuid: string) => {
      const options = this.#running.get(uuid)?.options;
      const next = config.services[uuid];
      return options !== undefined && next?.enabled === true && next.address === options.address && next.port === options.port;
    };
    for (const [uuid, server] of [...this.#running]) {
      if (stays(uuid)) continue;
      this.#running.delete(uuid);
      await server.close();
    }
    for (const [uuid, options] of wanted) {
      if (this.#running.has(uuid) || options.type !== 'monitor') continue;
      // Loaded only where it is wanted: other commands and servers start without it.
      const { MonitorServer } = await import('../monitor/monitor-server.ts');
      const server = new MonitorServer(options, this.#sources, await this.#makeMetrics(), this.#log);
      await server.listen();
      this.#running.set(uuid, server);
    }
  }

  /** Counts, when a configuration has a service that shows it; `apply` lets it be shown. */
  async count(config: Config): Promise<void> {
    this.#countsRequests = monitorServices(config).length > 0;
    if (this.#countsRequests) await this.#makeMetrics();
  }

  /** Its figures, for another process that shows them. */
  async figures(): Promise<MetricFigures> {
    return (await this.#metrics?.figures()) ?? [];
  }

  listening(): { uuid: string; name: string; url: string }[] {
    return [...this.#running].map(([uuid, { url, options }]) => ({ uuid, name: options.name || uuid, url }));
  }

  /** Counts and logs the requests of a service; undefined where neither is wanted. */
  requestObserver(service: string, config: Config): RequestObserver | undefined {
    if (!this.#log.isDebug && monitorServices(config).length === 0) return undefined;
    return (facts, { id }) => {
      if (this.#countsRequests) this.#metrics?.request(service, facts);
      const { method, style, status, durationMs } = facts;
      this.#log.debug('request', { request_id: id, service, method, style, status, duration_ms: Math.round(durationMs * 10) / 10 });
    };
  }

  /** Counts for an SSH service; undefined where no monitor shows it. */
  sshObserver(service: string, config: Config): SshObserver | undefined {
    if (monitorServices(config).length === 0) return undefined;
    const counts = () => (this.#countsRequests ? this.#metrics : undefined);
    return {
      handshake: (outcome) => counts()?.sshHandshake(service, outcome),
      login: () => counts()?.sshLogin(service),
      request: (request, status) => counts()?.sftpRequest(service, request, status),
    };
  }

  event(event: ServiceEvent): void {
    this.tally.event(event);
    this.#metrics?.event(event);
  }

  callout(method: string, result: RemoteResult): void {
    const outcome = result.kind === 'reply' ? `${Math.floor(result.status / 100)}xx` : result.kind;
    this.#metrics?.callout(method, outcome, result.durationMs);
  }

  inspection(inspection: string, verdict: string, durationMs: number): void {
    this.#metrics?.inspection(inspection, verdict, durationMs);
  }

  delivery(record: DeliveryRecord): void {
    this.tally.delivery(record);
    this.#metrics?.delivery(record);
  }

  async #makeMetrics(): Promise<Metrics> {
    if (!this.#metrics) {
      const { Metrics } = await import('../monitor/metrics.ts');
      this.#metrics = new Metrics(this.#sources, SVC_VERSION, this.#process);
    }
    return this.#metrics;
  }

  async stop(): Promise<void> {
    for (const server of this.#running.values()) await server.close();
    this.#running.clear();
  }
}

function monitorServices(config: Config) {
  return Object.entries(config.services).filter(([, service]) => service.enabled && service.type === 'monitor');
}
