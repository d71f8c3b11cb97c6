import type { Config } from '../config/schema/schema.ts';
import type { ServiceEvent } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { eventOutcomes, messagePattern } from '../events/journal/search/event-selection.ts';
import { clientGoneDetails } from '../files/operations/file-download.ts';
import type { RequestObserver } from '../http/request/request-trace.ts';
import type { Log } from '../lib/log.ts';
import type { RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { Metrics } from '../monitor/metrics.ts';
import type { MonitorServer } from '../monitor/monitor-server.ts';
import type { MetricFigures, MonitorSources } from '../monitor/sources.ts';
import type { SshObserver } from '../ssh/ssh-service.ts';
import type { DeliveryRecord } from '../webhooks/records/delivery-record.ts';

/** Maximum number of kinds of errors that are kept. */
const maxErrors = 20;

/**
 * A kind of error, as consoles show it: events in group `failure` that differ only in names and numbers. The members from `time` to
 * `node` are those of the newest event.
 */
export interface RecentError {
  /** A key that all errors of one kind share. */
  kind: string;
  time: string;
  id: string;
  uuid: string;
  message: string;
  /** The name of the server. */
  node: string;
  count: number;
  /** Time of the first event of this kind. */
  first: string;
  /** Due time that the message contains; empty if it contains none. */
  due: string;
  /** UUID of the component that caused the events. */
  component: string;
}

/** Counts of one process since its start. */
export interface TallyFigures {
  events: number;
  failures: number;
  deliveries: number;
  failedDeliveries: number;
  /** Recent errors; the newest is last. */
  errors: RecentError[];
}

/** Keeps the most recent kinds of errors, each with the number of its events. */
export class ErrorKinds {
  /** Errors by kind; the kind of the newest error is last. */
  readonly #kinds = new Map<string, RecentError>();

  /**
   * Adds an event that is a failure, unless a client itself ended a download. Events must be added in the order of their times.
   */
  add(event: ServiceEvent): void {
    if (isEndedByReader(event)) return;
    const { id, uuid, message, timestamp, server, data, component } = event;
    const kind = errorKind(event);
    const time = new Date(Number(timestamp.timestamp) * 1000).toISOString();
    const due = typeof data.due === 'string' ? data.due : '';
    const { count = 0, first = time } = this.#kinds.get(kind) ?? {};
    this.#kinds.delete(kind);
    this.#kinds.set(kind, { kind, time, id, uuid, message, node: server.name, count: count + 1, first, due, component: component.uuid });
    if (this.#kinds.size > maxErrors) this.#kinds.delete(this.#kinds.keys().next().value as string);
  }

  list(): RecentError[] {
    return [...this.#kinds.values()];
  }
}

/** Whether a client ended a download, as browsers do when they have read enough of a video for its thumbnail. */
function isEndedByReader({ id, data }: ServiceEvent): boolean {
  return data.total_read !== undefined && (id === String(eventIds.clientWentAway) || data.details === clientGoneDetails);
}

/** Returns the kind of an error. Errors of one kind have the same ID and component, and differ only in quoted names and in numbers. */
function errorKind({ id, message, component }: ServiceEvent): string {
  return `${id} ${component.uuid} ${messagePattern(message)}`;
}

/** Counts events and deliveries for consoles. It counts even without a console, because counting is cheap. */
class Tally {
  readonly #counts = { events: 0, failures: 0, deliveries: 0, failedDeliveries: 0 };
  readonly #errors = new ErrorKinds();

  get figures(): TallyFigures {
    return { ...this.#counts, errors: this.#errors.list() };
  }

  event(event: ServiceEvent): void {
    this.#counts.events++;
    if (!eventOutcomes(event).includes('failure')) return;
    this.#counts.failures++;
    this.#errors.add(event);
  }

  delivery({ outcome }: { outcome: string }): void {
    this.#counts.deliveries++;
    if (outcome === 'failed') this.#counts.failedDeliveries++;
  }
}

/**
 * Merges lists of errors, adding up the errors of each kind. Returns the newest kinds, the newest last. Errors with the same time keep the
 * order of the lists.
 */
export function newestErrors(lists: readonly (readonly RecentError[])[]): RecentError[] {
  const kinds = new Map<string, RecentError>();
  for (const error of lists.flat().sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time))) {
    // Nodes of older versions report single errors, without a kind.
    const key = error.kind || error.uuid;
    const { count = 0, first = error.first } = kinds.get(key) ?? {};
    kinds.delete(key);
    kinds.set(key, { ...error, count: count + error.count, first: first < error.first ? first : error.first });
  }
  return [...kinds.values()].slice(-maxErrors);
}

/** Runs the `monitor` services of a server, and counts the figures that they show. `tally` counts even without such a service. */
export class Monitoring {
  readonly #log: Log;
  readonly #sources: MonitorSources;
  readonly #running = new Map<string, MonitorServer>();
  readonly #process: string | undefined;
  readonly tally = new Tally();
  #metrics: Metrics | undefined;
  #countsRequests = false;

  /**
   * @param sources queried at each request for `/ready` and at each scrape
   * @param process name of this process, if there are several
   */
  constructor(sources: MonitorSources, log: Log, process?: string) {
    this.#sources = sources;
    this.#log = log;
    this.#process = process;
  }

  /**
   * Starts the configured services that do not run yet, and stops those that are no longer configured.
   *
   * @throws ServiceError `unavailable` if a service cannot listen
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
      // Imported only if needed, so that commands and servers without a monitor start faster.
      const { MonitorServer } = await import('../monitor/monitor-server.ts');
      const server = new MonitorServer(options, this.#sources, await this.#makeMetrics(), this.#log);
      await server.listen();
      this.#running.set(uuid, server);
    }
  }

  /** Starts to count figures if the configuration has a `monitor` service. Starts no service; `apply` does that. */
  async count(config: Config): Promise<void> {
    this.#countsRequests = monitorServices(config).length > 0;
    if (this.#countsRequests) await this.#makeMetrics();
  }

  /** Returns the figures of this process, for another process that shows them. */
  async figures(): Promise<MetricFigures> {
    return (await this.#metrics?.figures()) ?? [];
  }

  listening(): { uuid: string; name: string; url: string }[] {
    return [...this.#running].map(([uuid, { url, options }]) => ({ uuid, name: options.name || uuid, url }));
  }

  /** Returns an observer that counts and logs the requests of a service; undefined if neither is needed. */
  requestObserver(service: string, config: Config): RequestObserver | undefined {
    if (!this.#log.isDebug && monitorServices(config).length === 0) return undefined;
    return (facts, { id }) => {
      if (this.#countsRequests) this.#metrics?.request(service, facts);
      const { method, style, status, durationMs } = facts;
      this.#log.debug('request', { request_id: id, service, method, style, status, duration_ms: Math.round(durationMs * 10) / 10 });
    };
  }

  /** Returns an observer that counts handshakes, logins and requests of an SSH service; undefined without a `monitor` service. */
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

  inspection(inspection: string, verdict: string, durationMs: number | undefined): void {
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
