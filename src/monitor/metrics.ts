import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, type PrometheusContentType, Registry } from 'prom-client';
import { eventIds } from '../events/event-ids.ts';
import type { MetricFigures, MonitorSources } from './sources.ts';

/** Joins the figures of several processes. The `aggregator` of each metric says how. */
function joinFigures(processes: readonly MetricFigures[]): Registry<PrometheusContentType> {
  // Metrics about a process have a label for the process, and are not summed.
  const isOfProcess = (name: string) => /^(process|nodejs)_/.test(name);
  return AggregatorRegistry.aggregate(
    processes.map((figures) => figures.map((metric) => (isOfProcess(metric.name) ? { ...metric, aggregator: 'first' } : metric))),
  );
}

/** Returns only the counters and histograms. They must not be lost when the processes have ended. */
export async function countedFigures(processes: readonly MetricFigures[]): Promise<MetricFigures> {
  const isCounted = ({ name, type }: MetricFigures[number]) => name.startsWith('svc_') && /^(counter|histogram)$/.test(String(type));
  return joinFigures(processes.map((figures) => figures.filter(isCounted))).getMetricsAsJSON();
}

/**
 * Returns the figures about nodes that were started together.
 *
 * @param running number of nodes that answer requests
 * @param restarts number of nodes that replaced an ended node
 */
export function nodeFigures(running: number, restarts: number): Promise<MetricFigures> {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({ name: 'svc_workers', help: 'Nodes of `--workers` that answer requests.', registers }).set(running);
  const help = 'Nodes of `--workers` that were started to replace another one.';
  new Gauge({ name: 'svc_worker_restarts_total', help, registers }).set(restarts);
  return registry.getMetricsAsJSON();
}

/** Upper bounds, in seconds, of the histogram buckets for request durations. They suit small and large files. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Upper bounds, in seconds, of the histogram buckets for the durations of calls to other servers. */
const remoteBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Result of an authentication, by the ID of the event about it (docs/spec/events.md#catalogue). */
const authenticationOutcomes: Record<string, string> = {
  [eventIds.authenticationAccepted]: 'accepted',
  [eventIds.authenticationForbidden]: 'forbidden',
  [eventIds.authenticationRejected]: 'rejected',
  [eventIds.credentialsNotAccepted]: 'unknown',
  [eventIds.addressRefused]: 'banned',
};

/** Events that end an SFTP transfer, each with the member that contains the number of bytes (docs/spec/events.md#catalogue). */
const sftpTransfers: Readonly<Record<string, { direction: 'download' | 'upload'; outcome: 'done' | 'failed'; bytes: string }>> = {
  [eventIds.sftpFileDownloaded]: { direction: 'download', outcome: 'done', bytes: 'total_read' },
  [eventIds.sftpDownloadFailed]: { direction: 'download', outcome: 'failed', bytes: 'total_read' },
  [eventIds.sftpFileUploaded]: { direction: 'upload', outcome: 'done', bytes: 'total_write' },
  [eventIds.sftpTemporaryFileUploaded]: { direction: 'upload', outcome: 'done', bytes: 'total_write' },
  [eventIds.sftpUploadFailed]: { direction: 'upload', outcome: 'failed', bytes: 'total_write' },
};

function createMetrics(registry: Registry, version: string) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) => new Counter({ name, help, labelNames, registers });
  // Most gauges have the same value on all nodes, so the maximum is used. Others need the sum or the minimum.
  const gauge = (name: string, help: string, labelNames: string[] = [], aggregator: 'max' | 'min' | 'sum' = 'max') =>
    new Gauge({ name, help, labelNames, registers, aggregator });
  const histogram = (name: string, help: string, labelNames: string[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  gauge('svc_info', 'Always 1; the label is the version.', ['version']).set({ version }, 1);
  const traffic = (protocol: string) => ({
    connections: gauge(`svc_${protocol}_connections`, 'Open connections of a service.', ['service'], 'sum'),
    received: counter(`svc_${protocol}_received_bytes_total`, 'Bytes received on the connections of a service.', ['service']),
    sent: counter(`svc_${protocol}_sent_bytes_total`, 'Bytes sent on the connections of a service.', ['service']),
  });
  return {
    requests: counter('svc_http_requests_total', 'Requests answered.', ['service', 'method', 'style', 'status']),
    durations: histogram(
      'svc_http_request_duration_seconds',
      'Time from the header section of a request to the end of its reply.',
      ['service', 'method', 'style'],
      requestBuckets,
    ),
    traffic: { http: traffic('http'), ssh: traffic('ssh') },
    sshHandshakes: counter('svc_ssh_handshakes_total', 'Connections that exchanged keys, or failed to.', ['service', 'outcome']),
    sshLogins: counter('svc_ssh_logins_total', 'Connections that logged in.', ['service']),
    sftpRequests: counter('svc_sftp_requests_total', 'SFTP requests answered.', ['service', 'request', 'status']),
    sftpTransfers: counter('svc_sftp_transfers_total', 'Transfers over SFTP that ended.', ['service', 'direction', 'outcome']),
    sftpBytes: counter('svc_sftp_transferred_bytes_total', 'Content of files in transfers that ended.', ['service', 'direction']),
    authentications: counter('svc_authentications_total', 'Authentications by outcome and method.', ['outcome', 'method']),
    callouts: histogram(
      'svc_callout_duration_seconds',
      'Time of requests to authentication endpoints.',
      ['method', 'outcome'],
      remoteBuckets,
    ),
    inspections: counter('svc_inspections_total', 'Files that an inspection judged, by verdict.', ['inspection', 'verdict']),
    inspectionDurations: histogram('svc_inspection_duration_seconds', 'Time of single inspections.', ['inspection'], remoteBuckets),
    held: gauge('svc_held_uploads', 'Held uploads; with Redis those of all nodes.', ['state']),
    oldestHeld: gauge('svc_held_oldest_seconds', 'Age of the oldest held upload; 0 without any.'),
    events: counter('svc_events_total', 'Events emitted, by ID.', ['id']),
    internalErrors: counter('svc_internal_errors_total', 'Faults of the program that ended a request or connection.'),
    deliveries: counter('svc_deliveries_total', 'Deliveries by outcome. A delivery is one request with its retries.', [
      'handler',
      'outcome',
    ]),
    deliveredEvents: counter('svc_delivered_events_total', 'Events in deliveries, by outcome of the delivery.', ['handler', 'outcome']),
    attempts: histogram('svc_delivery_attempt_duration_seconds', 'Time of single requests to webhooks.', ['handler'], remoteBuckets),
    sessions: gauge('svc_sessions', 'Valid sessions; with Redis those of all nodes.', ['service']),
    handlers: {
      running: gauge('svc_handler_running', 'Whether an event handler delivers, here or on another node.', ['handler']),
      paused: gauge('svc_handler_paused', 'Whether somebody paused an event handler.', ['handler']),
      leases: gauge('svc_handler_lease_owner', 'Whether this node delivers for an event handler. Only with Redis.', ['handler'], 'sum'),
      waiting: gauge('svc_handler_waiting_events', 'Events that an event handler has not read or delivered yet.', ['handler']),
      oldest: gauge('svc_handler_oldest_waiting_seconds', 'Age of the oldest event that waits for a handler.', ['handler']),
      known: gauge('svc_handler_known_seconds', 'Age of the metrics of an event handler. It grows while Redis cannot be reached.', [
        'handler',
      ]),
    },
    expectations: gauge('svc_expectations', 'Always 1; the label "state" is the state of the newest occurrence of the expectation.', [
      'expectation',
      'state',
    ]),
    overdue: gauge('svc_expectation_overdue_seconds', 'Time since the oldest due time whose files are still missing.', ['expectation']),
    certificates: gauge(
      'svc_certificate_days_left',
      'Days until the certificate in use expires; negative if it has expired.',
      ['service'],
      'min',
    ),
    suspended: gauge('svc_suspended_urls', 'URLs suspended after a failure.', ['kind', 'uuid']),
    journal: gauge('svc_journal_bytes', "Size of this node's journal on disk.", [], 'sum'),
    config: gauge('svc_config_info', 'Always 1; the label identifies the configuration.', ['hash']),
    // A gauge without labels has the sample 0 from the start. This gauge has a label, which is never set, so that without Redis there is no
    // sample.
    redis: gauge('svc_redis_up', 'Whether Redis answers. Only with Redis.', ['state']),
    notForwarded: gauge(
      'svc_events_not_forwarded',
      "Events in this node's files that are not in the shared journal yet.",
      ['state'],
      'sum',
    ),
    stream: gauge('svc_journal_stream_bytes', 'Memory that the shared journal uses in Redis.', ['state']),
    unreadable: gauge('svc_redis_unreadable_values', 'Values in Redis that this process skipped because it could not read them.', [
      'state',
    ]),
  };
}

/** The figures of one process in the Prometheus text format. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #sources: MonitorSources;
  readonly #metrics: ReturnType<typeof createMetrics>;

  /**
   * @param sources asked at each scrape
   * @param version version of the server, for `svc_info`
   * @param process name of this process, if there are several
   */
  constructor(sources: MonitorSources, version: string, process?: string) {
    this.#sources = sources;
    collectDefaultMetrics({ register: this.#registry, ...(process === undefined ? {} : { labels: { process } }) });
    this.#metrics = createMetrics(this.#registry, version);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  request(service: string, facts: { method: string; style: string; status: number; durationMs: number }): void {
    const { method, style, status, durationMs } = facts;
    this.#metrics.requests.inc({ service, method, style, status });
    this.#metrics.durations.observe({ service, method, style }, durationMs / 1000);
  }

  sshHandshake(service: string, outcome: 'done' | 'failed'): void {
    this.#metrics.sshHandshakes.inc({ service, outcome });
  }

  sshLogin(service: string): void {
    this.#metrics.sshLogins.inc({ service });
  }

  /** @param status status of the reply; 0 for replies without a status */
  sftpRequest(service: string, request: string, status: number): void {
    this.#metrics.sftpRequests.inc({ service, request, status });
  }

  event({ id, component, data }: { id: string; component: { uuid: string }; data: Readonly<Record<string, unknown>> }): void {
    this.#metrics.events.inc({ id });
    if (id === String(eventIds.internalError)) this.internalError();
    const method = typeof data.method_uuid === 'string' ? data.method_uuid : '';
    const outcome = authenticationOutcomes[id];
    if (outcome !== undefined) this.#metrics.authentications.inc({ outcome, method });
    const transfer = sftpTransfers[id];
    // An upload with a temporary name has two events. The upload is counted at the first event.
    if (!transfer || (id === String(eventIds.sftpFileUploaded) && data.uploaded_as !== undefined)) return;
    const { direction, bytes } = transfer;
    this.#metrics.sftpTransfers.inc({ service: component.uuid, direction, outcome: transfer.outcome });
    this.#metrics.sftpBytes.inc({ service: component.uuid, direction }, Number(data[bytes]) || 0);
  }

  /** Counts an internal error. The monitor calls this for errors in its own requests, because these errors have no event. */
  internalError(): void {
    this.#metrics.internalErrors.inc();
  }

  /** @param outcome status class of the reply, or the reason why there was none */
  callout(method: string, outcome: string, durationMs: number): void {
    this.#metrics.callouts.observe({ method, outcome }, durationMs / 1000);
  }

  inspection(inspection: string, verdict: string, durationMs: number | undefined): void {
    this.#metrics.inspections.inc({ inspection, verdict });
    if (durationMs !== undefined) this.#metrics.inspectionDurations.observe({ inspection }, durationMs / 1000);
  }

  delivery(record: { handler: string; outcome: string; events: readonly unknown[]; attempts: readonly { duration_ms: number }[] }): void {
    const { handler, outcome, events, attempts } = record;
    this.#metrics.deliveries.inc({ handler, outcome });
    this.#metrics.deliveredEvents.inc({ handler, outcome }, events.length);
    for (const { duration_ms } of attempts) this.#metrics.attempts.observe({ handler }, duration_ms / 1000);
  }

  /** Returns all figures as text. Figures of an unreachable source keep their last value, so that alerts on them can fire. */
  async text(): Promise<string> {
    const { nodes } = this.#sources;
    if (nodes) return joinFigures(await nodes()).metrics();
    await this.#collect();
    return this.#registry.metrics();
  }

  /** Returns all figures, for another process that shows them. */
  async figures(): Promise<MetricFigures> {
    await this.#collect();
    return this.#registry.getMetricsAsJSON();
  }

  async #collect(): Promise<void> {
    this.#collectExpectations();
    this.#metrics.certificates.reset();
    for (const { service, daysLeft } of this.#sources.certificates()) this.#metrics.certificates.set({ service }, daysLeft);
    await Promise.all([
      this.#collectServices(),
      this.#collectHandlers(),
      this.#collectSuspended(),
      this.#collectJournal(),
      this.#collectHeld(),
    ]);
  }

  async #collectHeld(): Promise<void> {
    const held = await this.#sources.held().catch(() => undefined);
    if (!held) return;
    this.#metrics.held.set({ state: 'held' }, held.held);
    this.#metrics.held.set({ state: 'inspecting' }, held.inspecting);
    this.#metrics.oldestHeld.set(held.oldestS);
  }

  async #collectServices(): Promise<void> {
    const services = await this.#sources.services().catch(() => undefined);
    if (!services) return;
    const { sessions: live, traffic } = this.#metrics;
    // If the sessions of a service cannot be counted, their number keeps the last value.
    if (!services.some(({ sessions }) => Number.isNaN(sessions))) live.reset();
    for (const metrics of Object.values(traffic)) for (const metric of Object.values(metrics)) metric.reset();
    for (const { service, protocol, connections, sessions, receivedBytes, sentBytes } of services) {
      if (!Number.isNaN(sessions)) live.set({ service }, sessions);
      traffic[protocol].connections.set({ service }, connections);
      traffic[protocol].received.inc({ service }, receivedBytes);
      traffic[protocol].sent.inc({ service }, sentBytes);
    }
  }

  async #collectHandlers(): Promise<void> {
    const handlers = await this.#sources.handlers().catch(() => undefined);
    if (!handlers) return;
    const metrics = this.#metrics.handlers;
    for (const metric of Object.values(metrics)) metric.reset();
    for (const { handler, isRunning, isPaused, hasLease, waitingEvents, oldestWaitingS, ageS } of handlers) {
      metrics.running.set({ handler }, isRunning ? 1 : 0);
      metrics.paused.set({ handler }, isPaused ? 1 : 0);
      if (hasLease !== undefined) metrics.leases.set({ handler }, hasLease ? 1 : 0);
      metrics.waiting.set({ handler }, waitingEvents);
      metrics.oldest.set({ handler }, oldestWaitingS);
      if (ageS !== undefined) metrics.known.set({ handler }, ageS);
    }
  }

  #collectExpectations(): void {
    const { expectations, overdue } = this.#metrics;
    for (const metric of [expectations, overdue]) metric.reset();
    for (const { expectation, state, overdueS } of this.#sources.expectations()) {
      expectations.set({ expectation, state }, 1);
      overdue.set({ expectation }, overdueS);
    }
  }

  async #collectSuspended(): Promise<void> {
    const urls = await this.#sources.suspendedUrls().catch(() => undefined);
    if (!urls) return;
    this.#metrics.suspended.reset();
    for (const { kind, uuid, count } of urls) this.#metrics.suspended.set({ kind, uuid }, count);
  }

  async #collectJournal(): Promise<void> {
    const { config, journal, redis, notForwarded, unreadable, stream } = this.#metrics;
    config.reset();
    config.set({ hash: this.#sources.configHash() }, 1);
    const bytes = await this.#sources.journalBytes().catch(() => undefined);
    if (bytes !== undefined) journal.set(bytes);
    const shared = await this.#sources.shared().catch(() => undefined);
    if (!shared) return;
    redis.set({}, shared.isUp ? 1 : 0);
    notForwarded.set({}, shared.eventsNotForwarded);
    unreadable.set({}, shared.unreadableValues);
    if (shared.streamBytes !== undefined) stream.set({}, shared.streamBytes);
  }
}
