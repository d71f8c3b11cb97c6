import { CalloutMethod } from '../../auth/callout.ts';
import type { SessionOverview } from '../../auth/sessions.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { EventServer } from '../../events/event.ts';
import { Temporaries } from '../../files/disk/temporaries.ts';
import { newTicketSecret, ticketSecretLastsMs } from '../../http/connection/ticket-keys.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { FairTurns } from '../../lib/turns/fair-turns.ts';
import type { ServiceFigures, WorkerSources } from '../../monitor/sources.ts';
import type { Announce, Listeners, PreparedReload } from '../listeners.ts';
import { type FileServiceOptions, fileServices, protocolOf, type RequestParts } from '../parts.ts';
import { FleetAddresses, isSameAddress } from './fleet-addresses.ts';
import { FleetFigures, type ProcessFigures } from './fleet-figures.ts';
import type { JournalHost } from './journal-host.ts';
import { Member } from './member.ts';
import type { Peer } from './peer.ts';
import type { MethodStates, WorkerSetup } from './protocol.ts';
import type { StateHost } from './state-host.ts';
import type { UploadHost } from './upload-host.ts';
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
  uploads: UploadHost;
  announce: Announce;
  clock: Clock;
  log: Log;
}

/** The workers that answer requests: started together, replaced when they end, reloaded and stopped as one. */
export class WorkerFleet implements Listeners {
  readonly #surroundings: FleetSurroundings;
  readonly #members = new Set<Member>();
  readonly #addresses = new FleetAddresses();
  readonly #figures = new FleetFigures();
  #ticketSecret = newTicketSecret();
  #ticketRenewal: Timer | undefined;
  #parts: RequestParts | undefined;
  #lastNumber = 0;
  #failures = 0;
  #restarts = 0;
  #isStopping = false;
  /** Starts, reloads and replacements come one after the other. */
  readonly #turns = new FairTurns({ atOnce: 1, waitingOfOne: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY });

  constructor(surroundings: FleetSurroundings) {
    this.#surroundings = surroundings;
  }

  async start(parts: RequestParts): Promise<void> {
    this.#parts = parts;
    const { announce, clock, options } = this.#surroundings;
    this.#ticketRenewal = clock.every(ticketSecretLastsMs, () => this.#renewTickets());
    await this.#addresses.readHostKeys(parts.config, this.#surroundings.dataFolderPath);
    await this.#startFirst(parts);
    await Promise.all(Array.from({ length: options.workers - 1 }, () => this.#launch()));
    for (const uuid of fileServices(parts.config)) announce(20076, ...this.#addresses.described(uuid, parts.config));
  }

  listening() {
    const config = this.#ready().length > 0 ? this.#parts?.config : undefined;
    return config ? this.#addresses.listening(config) : [];
  }

  async prepare(parts: RequestParts): Promise<PreparedReload> {
    const release = await this.#turns.take('');
    const members = this.#ready();
    const before = (this.#parts as RequestParts).config;
    const abort = async () => {
      await Promise.all(members.map((member) => member.channel.call('abort').catch(() => {})));
      release();
    };
    try {
      await this.#addresses.readHostKeys(parts.config, this.#surroundings.dataFolderPath);
      await this.#addresses.choosePorts(parts.config);
      this.#addresses.readTls(parts.config);
      const config = this.#addresses.inConfig(parts.config);
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
      const isNew = (uuid: string) => !isSameAddress(before, parts.config, uuid);
      for (const uuid of fileServices(parts.config).filter(isNew))
        this.#surroundings.announce(20076, ...this.#addresses.described(uuid, parts.config));
      release();
    };
    return { commit, abort };
  }

  figures(): Promise<ServiceFigures[]> {
    const config = this.#parts?.config;
    const wanted = config
      ? fileServices(config).map((service) => ({ service, protocol: protocolOf(config.services[service] as FileServiceOptions) }))
      : [];
    return this.#figures.ofServices(wanted, this.#ready(), (service) => this.#surroundings.state.countSessions(service));
  }

  sessions(): ReadonlyMap<string, SessionOverview> {
    return this.#surroundings.state.sessions();
  }

  /** What is shown of the workers. */
  async sources(): Promise<WorkerSources> {
    const ready = this.#ready();
    return { running: ready.length, restarts: this.#restarts, figures: await this.#figures.metrics(ready) };
  }

  /** What consoles show of the workers. */
  processes(): Promise<ProcessFigures> {
    return this.#figures.processes(this.#ready());
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
    this.#ticketRenewal?.cancel();
    const wereRunning = this.#ready();
    for (const member of this.#members) if (!member.isReady) member.kill('the server stops');
    const finished = await Promise.all(wereRunning.map((member) => member.stop(timeoutMs)));
    await Promise.all([...this.#members].map((member) => member.ended));
    if (wereRunning.length > 0 && this.#parts) {
      for (const uuid of fileServices(this.#parts.config)) {
        const [{ name, type }, component] = this.#addresses.described(uuid, this.#parts.config);
        this.#surroundings.announce(20078, { name, type, reason: 'the server stops' }, component);
      }
    }
    return finished.every(Boolean);
  }

  #renewTickets(): void {
    this.#ticketSecret = newTicketSecret();
    for (const member of this.#ready()) member.channel.tell('renewTickets', this.#ticketSecret);
  }

  #ready(): Member[] {
    return [...this.#members].filter((member) => member.isReady);
  }

  // The first alone: what hinders one hinders all, and is told once.
  async #startFirst({ config }: RequestParts): Promise<void> {
    this.#addresses.readTls(config);
    for (let attempt = 1; ; attempt++) {
      await this.#addresses.choosePorts(config);
      try {
        await this.#launch();
        return;
      } catch (error) {
        const chosen = this.#failedService(error);
        const isChosen = chosen !== undefined && (config.services[chosen] as FileServiceOptions | undefined)?.port === 0;
        if (isChosen && attempt < portAttempts) {
          this.#addresses.giveUp(chosen);
          continue;
        }
        this.#announceFailure(error, config);
        throw error;
      }
    }
  }

  async #launch(): Promise<void> {
    if (this.#isStopping) throw new ServiceError('unavailable', 'The server stops.');
    const { options, state, journal, uploads, server, dataFolderPath, clock, log } = this.#surroundings;
    const { config } = this.#parts as RequestParts;
    const apiFor = (peer: Peer) => ({ ...state.apiFor(peer), ...journal.api, ...uploads.apiFor(peer) });
    const member = new Member(++this.#lastNumber, options.fork(), apiFor, clock, log);
    this.#members.add(member);
    void member.ended.then((how) => this.#lose(member, how));
    const setup: WorkerSetup = {
      worker: member.number,
      workers: options.workers,
      config: this.#addresses.inConfig(config),
      server,
      dataFolderPath,
      log: options.log,
      methods: this.#methodStates(),
      bans: state.bans.notes(),
      journal: journal.fault,
      acceptedKey: state.acceptedKey,
      ticketSecret: this.#ticketSecret,
      tls: this.#addresses.tls,
      hostKeys: this.#addresses.hostKeys,
    };
    const started = member.start(setup);
    // From now on it is told of changes, behind the start.
    state.peers.add(member);
    await started;
    // These may have changed while it started.
    member.channel.tell('adoptMethods', this.#methodStates());
    member.channel.tell('journalState', journal.fault);
    member.channel.tell('renewTickets', this.#ticketSecret);
    log.debug('worker started', { worker: member.number, pid: member.pid });
  }

  #lose(member: Member, how: string): void {
    const { state, uploads, clock, log, dataFolderPath } = this.#surroundings;
    this.#members.delete(member);
    state.lose(member);
    uploads.lose(member);
    this.#figures.keep(member.remains);
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
    const release = await this.#turns.take('');
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
    const [data, component] = this.#addresses.described(uuid, config);
    this.#surroundings.announce(20077, { ...data, reason: (error as Error).message }, component);
  }
}
