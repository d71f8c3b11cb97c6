import { type AddressInfo, createServer } from 'node:net';
import { CalloutMethod } from '../../auth/callout.ts';
import type { SessionOverview } from '../../auth/sessions.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { EventComponent, EventServer } from '../../events/event.ts';
import { Temporaries } from '../../files/disk/temporaries.ts';
import { readTlsContext, type TlsContext } from '../../http/connection/tls-context.ts';
import type { HttpServiceOptions } from '../../http/options.ts';
import type { Clock } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { sumFigures } from '../../monitor/metric-figures.ts';
import type { ServiceFigures, WorkerSources } from '../../monitor/sources.ts';
import { type Announce, componentOf, type Listeners, type PreparedReload, startData } from '../listeners.ts';
import { httpServices, type RequestParts } from '../parts.ts';
import type { JournalHost } from './journal-host.ts';
import { Member } from './member.ts';
import type { Peer } from './peer.ts';
import type { MethodStates, WorkerFigures, WorkerSetup } from './protocol.ts';
import type { StateHost } from './state-host.ts';
import type { Fork } from './worker-process.ts';

/** A worker that ended this soon after its start counts as one that cannot start. */
const earlyEndMs = 5000;

/** Longest pause before a worker that ends again and again is replaced. */
const longestPauseMs = 10_000;

/** With no worker left, and so many failed starts in a row, there is nothing to wait for. */
const giveUpAfter = 6;

/** How often another free port is tried when somebody took the one before. */
const portAttempts = 5;

/** What the one who starts the server says of its workers. */
export interface FleetOptions {
  workers: number;
  fork: Fork;
  log: WorkerSetup['log'];
  /** Told when no worker can be started any more. */
  onGivenUp: (reason: string) => void;
}

/** What the fleet has of the server. */
export interface FleetSurroundings {
  options: FleetOptions;
  server: EventServer;
  dataFolderPath: string;
  state: StateHost;
  journal: JournalHost;
  announce: Announce;
  clock: Clock;
  log: Log;
}

/** The workers that answer requests: started together, replaced when they end, reloaded and stopped as one. */
export class WorkerFleet implements Listeners {
  readonly #surroundings: FleetSurroundings;
  readonly #members = new Set<Member>();
  readonly #ports = new Map<string, number>();
  readonly #tls: Record<string, TlsContext> = {};
  readonly #remains: WorkerFigures = { metrics: [], services: [] };
  #parts: RequestParts | undefined;
  #lastNumber = 0;
  #failures = 0;
  #restarts = 0;
  #isStopping = false;
  /** Starts, reloads and replacements come one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(surroundings: FleetSurroundings) {
    this.#surroundings = surroundings;
  }

  async start(parts: RequestParts): Promise<void> {
    this.#parts = parts;
    const { announce, options } = this.#surroundings;
    await this.#startFirst(parts);
    await Promise.all(Array.from({ length: options.workers - 1 }, () => this.#launch()));
    for (const uuid of httpServices(parts.config)) announce(20076, ...this.#described(uuid, parts.config));
  }

  listening() {
    const config = this.#ready().length > 0 ? this.#parts?.config : undefined;
    return (config ? httpServices(config) : []).map((uuid) => {
      const options = this.#withPort(uuid, config as Config);
      const host = options.address.includes(':') ? `[${options.address}]` : options.address;
      return { uuid, name: componentOf(uuid, options).name, url: `${options.type}://${host}:${options.port}` };
    });
  }

  async prepare(parts: RequestParts): Promise<PreparedReload> {
    const release = await this.#acquire();
    const members = this.#ready();
    const before = (this.#parts as RequestParts).config;
    const abort = async () => {
      await Promise.all(members.map((member) => member.channel.call('abort').catch(() => {})));
      release();
    };
    try {
      await this.#choosePorts(parts.config);
      this.#readTls(parts.config);
      const config = this.#workerConfig(parts.config);
      const answers = await Promise.allSettled(members.map((member) => member.channel.call('prepare', config)));
      const failed = answers.find((answer, index) => answer.status === 'rejected' && this.#members.has(members[index] as Member));
      if (failed?.status === 'rejected') throw failed.reason;
    } catch (error) {
      this.#announceFailure(error, parts.config);
      await abort();
      throw error;
    }
    const commit = async () => {
      this.#parts = parts;
      await Promise.all(members.map((member) => this.#commit(member)));
      const isNew = (uuid: string) => !isSameAddress(before.services[uuid] as HttpServiceOptions | undefined, parts.config, uuid);
      for (const uuid of httpServices(parts.config).filter(isNew))
        this.#surroundings.announce(20076, ...this.#described(uuid, parts.config));
      release();
    };
    return { commit, abort };
  }

  async figures(): Promise<ServiceFigures[]> {
    const sums = new Map<string, ServiceFigures>();
    for (const service of this.#parts ? httpServices(this.#parts.config) : []) {
      const sessions = this.#surroundings.state.countSessions(service);
      sums.set(service, { service, connections: 0, receivedBytes: 0, sentBytes: 0, sessions });
    }
    const figures = await Promise.all(this.#ready().map((member) => member.figures()));
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

  sessions(): ReadonlyMap<string, SessionOverview> {
    return this.#surroundings.state.sessions();
  }

  /** What is shown of the workers. */
  async sources(): Promise<WorkerSources> {
    const ready = this.#ready();
    const figures = await Promise.all(ready.map(async (member) => (await member.figures()).metrics));
    return { running: ready.length, restarts: this.#restarts, figures: [...figures, this.#remains.metrics] };
  }

  /** Whether requests are answered, or why not. */
  check(): true | string {
    return this.#ready().length > 0 || 'no worker runs';
  }

  /** Has the workers go by the present states of the authentication methods. */
  tellMethods(): void {
    for (const member of this.#ready()) member.channel.tell('adoptMethods', this.#methodStates());
  }

  leave(): void {
    for (const member of this.#ready()) member.channel.tell('leave');
  }

  async stop(timeoutMs: number): Promise<boolean> {
    this.#isStopping = true;
    const wereRunning = this.#ready();
    for (const member of this.#members) if (!member.isReady) member.kill('the server stops');
    const finished = await Promise.all(wereRunning.map((member) => member.stop(timeoutMs)));
    await Promise.all([...this.#members].map((member) => member.ended));
    if (wereRunning.length > 0 && this.#parts) {
      for (const uuid of httpServices(this.#parts.config)) {
        const [{ name, type }, component] = this.#described(uuid, this.#parts.config);
        this.#surroundings.announce(20078, { name, type, reason: 'the server stops' }, component);
      }
    }
    return finished.every(Boolean);
  }

  #ready(): Member[] {
    return [...this.#members].filter((member) => member.isReady);
  }

  // The first alone: what hinders one hinders all, and is told once.
  async #startFirst({ config }: RequestParts): Promise<void> {
    this.#readTls(config);
    for (let attempt = 1; ; attempt++) {
      await this.#choosePorts(config);
      try {
        await this.#launch();
        return;
      } catch (error) {
        const chosen = this.#failedService(error);
        const isChosen = chosen !== undefined && (config.services[chosen] as HttpServiceOptions | undefined)?.port === 0;
        if (isChosen && attempt < portAttempts) {
          this.#ports.delete(chosen);
          continue;
        }
        this.#announceFailure(error, config);
        throw error;
      }
    }
  }

  async #launch(): Promise<void> {
    const { options, state, journal, server, dataFolderPath, clock, log } = this.#surroundings;
    const { config } = this.#parts as RequestParts;
    const apiFor = (peer: Peer) => ({ ...state.apiFor(peer), ...journal.api });
    const member = new Member(++this.#lastNumber, options.fork(), apiFor, clock, log);
    this.#members.add(member);
    void member.ended.then((how) => this.#lose(member, how));
    const setup: WorkerSetup = {
      worker: member.number,
      workers: options.workers,
      config: this.#workerConfig(config),
      server,
      dataFolderPath,
      log: options.log,
      methods: this.#methodStates(),
      bans: state.bans.notes(),
      journal: journal.fault,
      acceptedKey: state.acceptedKey,
      tls: this.#tls,
    };
    const started = member.start(setup);
    // From now on it is told of changes, behind the start.
    state.peers.add(member);
    await started;
    // Both may have changed while it started.
    member.channel.tell('adoptMethods', this.#methodStates());
    member.channel.tell('journalState', journal.fault);
    log.debug('worker started', { worker: member.number, pid: member.pid });
  }

  #lose(member: Member, how: string): void {
    const { state, clock, log, dataFolderPath } = this.#surroundings;
    this.#members.delete(member);
    state.lose(member);
    const { metrics, services } = member.remains;
    this.#remains.metrics = sumFigures([this.#remains.metrics, metrics]);
    this.#remains.services.push(...services);
    try {
      Temporaries.sweepWorkers(dataFolderPath, log, member.number);
    } catch (error) {
      log.warn('the remains of a worker could not be removed', { worker: member.number, reason: error });
    }
    if (this.#isStopping || !member.isReady) return;
    log.warn('a worker ended and is replaced', { worker: member.number, pid: member.pid, reason: how });
    const endedEarly = clock.monotonicMs() - member.startedMs < earlyEndMs;
    this.#failures = endedEarly ? this.#failures + 1 : 0;
    void this.#replace();
  }

  async #replace(): Promise<void> {
    const { clock, log, options } = this.#surroundings;
    const pauseMs = this.#failures < 2 ? 0 : Math.min(100 * 2 ** this.#failures, longestPauseMs);
    if (pauseMs > 0) await clock.sleep(pauseMs);
    const release = await this.#acquire();
    try {
      if (this.#isStopping) return;
      await this.#launch();
      this.#restarts++;
    } catch (error) {
      if (this.#isStopping) return;
      this.#failures++;
      log.error('a worker could not be started', { reason: error, failures: this.#failures });
      if (this.#failures >= giveUpAfter && this.#ready().length === 0) options.onGivenUp((error as Error).message);
      else void this.#replace();
    } finally {
      release();
    }
  }

  async #commit(member: Member): Promise<void> {
    try {
      await member.channel.call('commit', this.#methodStates());
    } catch (error) {
      if (!this.#members.has(member)) return;
      this.#surroundings.log.error('a worker could not take over the configuration', { worker: member.number, reason: error });
      member.kill('it could not take over the configuration');
    }
  }

  async #acquire(): Promise<() => void> {
    const before = this.#last;
    let release: () => void = () => {};
    this.#last = new Promise<void>((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }

  async #choosePorts(config: Config): Promise<void> {
    for (const uuid of httpServices(config)) {
      const { port, address } = config.services[uuid] as HttpServiceOptions;
      if (port !== 0) this.#ports.delete(uuid);
      else if (!this.#ports.has(uuid)) this.#ports.set(uuid, await chosenPort(address));
    }
  }

  // A worker that comes later may not be allowed to read what the start could.
  #readTls(config: Config): void {
    for (const uuid of httpServices(config)) {
      const options = config.services[uuid] as HttpServiceOptions;
      if (options.type !== 'https') continue;
      try {
        this.#tls[uuid] = readTlsContext(options);
      } catch (error) {
        if (!this.#tls[uuid]) throw error;
      }
    }
  }

  #withPort(uuid: string, config: Config): HttpServiceOptions {
    const options = config.services[uuid] as HttpServiceOptions;
    return { ...options, port: this.#ports.get(uuid) ?? options.port };
  }

  #workerConfig(config: Config): Config {
    const services = { ...config.services };
    for (const uuid of httpServices(config)) services[uuid] = this.#withPort(uuid, config) as never;
    return { ...config, services };
  }

  #described(uuid: string, config: Config): [Record<string, unknown>, EventComponent] {
    const options = this.#withPort(uuid, config);
    return [startData(uuid, options), componentOf(uuid, options)];
  }

  #methodStates(): MethodStates {
    const methods = [...(this.#parts as RequestParts).methods.values()].filter((method) => method instanceof CalloutMethod);
    return Object.fromEntries(methods.map(({ uuid, state }) => [uuid, state]));
  }

  #failedService(error: unknown): string | undefined {
    return isServiceError(error) && typeof error.details.service === 'string' ? error.details.service : undefined;
  }

  #announceFailure(error: unknown, config: Config): void {
    const uuid = this.#failedService(error);
    if (uuid === undefined || !config.services[uuid]) return;
    const [data, component] = this.#described(uuid, config);
    this.#surroundings.announce(20077, { ...data, reason: (error as Error).message }, component);
  }
}

async function chosenPort(address: string): Promise<number> {
  try {
    return await freePort(address);
  } catch (error) {
    throw new ServiceError('unavailable', `No port can be had on ${address}: ${(error as Error).message}.`, { cause: error });
  }
}

function isSameAddress(before: HttpServiceOptions | undefined, config: Config, uuid: string): boolean {
  const after = config.services[uuid] as HttpServiceOptions;
  return before?.enabled === true && before.type === after.type && before.address === after.address && before.port === after.port;
}

/**
 * A port that is free at present. Workers listen on a port that is named, so that one that takes the place of another finds the same.
 *
 * @throws when the address is not one of this machine
 */
function freePort(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: address, port: 0 }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
