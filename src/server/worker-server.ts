import { PasswordVerifier } from '../accounts/passwords.ts';
import { ApplicationMethod } from '../auth/application.ts';
import { CalloutMethod } from '../auth/callout.ts';
import type { Config } from '../config/schema/schema.ts';
import { FileCache } from '../files/disk/file-cache.ts';
import { MissingFolders } from '../files/disk/missing-folders.ts';
import { Temporaries } from '../files/disk/temporaries.ts';
import { Quotas } from '../files/quota.ts';
import { Transfers } from '../files/transfers.ts';
import { TicketKeys } from '../http/connection/ticket-keys.ts';
import { Channel } from '../lib/channel.ts';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { MonitorSources } from '../monitor/sources.ts';
import type { PreparedReload } from './listeners.ts';
import { Monitoring } from './monitoring.ts';
import { OwnListeners } from './own-listeners.ts';
import { enabledMethods, makeParts, methodFaults, type RequestParts } from './parts.ts';
import { bookOf, turnsOf } from './workers/files-client.ts';
import { JournalClient, WorkerDispatcher } from './workers/journal-client.ts';
import type { MethodStates, PrimaryApi, WorkerApi, WorkerSetup } from './workers/protocol.ts';
import { StateClient } from './workers/state-client.ts';
import { UploadClient } from './workers/upload-client.ts';

/** What a worker has of the process that it is. */
export interface WorkerSurroundings {
  clock: Clock;
  /** Makes the log that a setup asks for. */
  makeLog: (options: WorkerSetup['log'], worker: number) => Log;
  /** Gives a message to the primary process. */
  send: (message: unknown[]) => void;
  /** Gives up what only root may, once all addresses are bound. */
  dropPrivileges: (server: Config['server'], log: Log) => void;
}

/** A process that answers requests for a primary process, which holds the state and the journal. */
export class Worker {
  readonly #channel: Channel<WorkerApi, PrimaryApi>;
  #running: RunningWorker | undefined;

  constructor(surroundings: WorkerSurroundings) {
    const running = () => {
      if (!this.#running) throw new ServiceError('unavailable', 'The worker has not started.');
      return this.#running;
    };
    this.#channel = new Channel<WorkerApi, PrimaryApi>(
      surroundings.send,
      {
        start: async (setup) => {
          this.#running = new RunningWorker(setup, this.#channel, surroundings);
          await this.#running.start();
        },
        prepare: (config) => running().prepare(config),
        commit: (methods) => running().commit(methods),
        abort: () => running().abort(),
        leave: () => running().listeners.leave(),
        stop: (timeoutMs) => running().stop(timeoutMs),
        figures: async () => ({
          metrics: await running().monitoring.counted(),
          services: running().listeners.traffic(),
          tally: running().monitoring.tally.figures,
          transfers: running().transfers.look(),
          methodFaults: running().methodFaults,
          memoryBytes: process.memoryUsage.rss(),
        }),
        adoptMethods: (states) => running().adopt(states),
        endSessionsHere: (service, keys) => running().state.endSessions(service, keys),
        reportSessions: (service, keys) => running().state.reportSessions(service, keys),
        noteBans: (notes) => running().state.bans.note(notes),
        renewTickets: (secret) => running().tickets.renew(secret),
        journalState: (fault) => running().journal.noteState(fault),
        lookAtAccounts: () => running().lookAtAccounts(),
        wantUpload: (hold) => running().uploads.want(hold),
        uploadGone: (number) => running().uploads.gone(number),
      },
      (error) => this.#running?.log.error('a message of the primary process could not be dealt with', { reason: error }),
    );
  }

  /** Gives the primary process all events so far, before a fault ends this one. */
  flush(): void {
    this.#running?.journal.flush();
  }

  /** Takes a message of the primary process. */
  receive(message: unknown): void {
    this.#channel.receive(message);
  }
}

class RunningWorker {
  readonly log: Log;
  readonly state: StateClient;
  readonly journal: JournalClient;
  readonly uploads: UploadClient;
  readonly listeners: OwnListeners;
  readonly monitoring: Monitoring;
  readonly tickets: TicketKeys;
  readonly transfers: Transfers;
  readonly #setup: WorkerSetup;
  readonly #surroundings: WorkerSurroundings;
  readonly #temporaries: Temporaries;
  readonly #fileCache: FileCache;
  readonly #makeParts: (config: Config) => RequestParts;
  #parts: RequestParts;
  #next: { parts: RequestParts; prepared: PreparedReload } | undefined;
  #failedService: string | undefined;

  constructor(setup: WorkerSetup, primary: Channel<WorkerApi, PrimaryApi>, surroundings: WorkerSurroundings) {
    const { clock } = surroundings;
    const { server, dataFolderPath, worker } = setup;
    this.#setup = setup;
    this.#surroundings = surroundings;
    this.log = surroundings.makeLog(setup.log, worker);
    const { log } = this;
    this.state = new StateClient(primary, clock, () => this.#parts.config.server.security_policy, setup.acceptedKey);
    const { state } = this;
    state.bans.note(setup.bans);
    this.journal = new JournalClient(primary, setup.journal);
    this.uploads = new UploadClient(primary);
    this.monitoring = new Monitoring(noSources, log, `worker-${worker}`);
    const { monitoring } = this;
    const events = new WorkerDispatcher(this.journal, primary, server, clock);
    events.observe((event) => monitoring.event(event));
    this.tickets = new TicketKeys(setup.ticketSecret);
    this.transfers = new Transfers(clock, worker);
    this.#temporaries = new Temporaries(dataFolderPath, log, worker);
    this.#fileCache = new FileCache(clock, this.#shareOfCache(setup.config));
    const passwords = new PasswordVerifier();
    this.#makeParts = (config) =>
      makeParts(config, {
        dataFolderPath,
        serverUuid: server.uuid,
        passwords,
        events,
        urlHealth: (scope) => state.urlHealth(scope),
        accepted: (method, lifetimeMs) => state.accepted(method, lifetimeMs),
        clock,
        log,
        onCallout: (method, result) => monitoring.callout(method, result),
        onAccountsWritten: () => primary.call('accountsChanged'),
      });
    this.#parts = this.#makeParts(setup.config);
    this.listeners = new OwnListeners({
      events,
      files: {
        events,
        clock,
        temporaries: this.#temporaries,
        quotas: new Quotas(bookOf(primary)),
        turns: turnsOf(primary),
        locks: state.locks,
        fileCache: this.#fileCache,
        uploads: this.uploads,
        transfers: this.transfers,
        missingFolders: new MissingFolders(log),
        excludedPaths: [dataFolderPath],
      },
      state,
      monitoring,
      // The primary process emits these events, once for all workers.
      announce: (id, _, component) => {
        if (id === 20077) this.#failedService = component.uuid;
      },
      recentChanges: (accountUuid) => primary.call('recentChanges', accountUuid),
      clock,
      log,
      dataFolderPath,
      hostKeys: setup.hostKeys,
      tickets: this.tickets,
      sharing: {
        processes: setup.workers,
        congestion: () => this.journal.congestion(),
        tlsContext: (service) => setup.tls[service],
      },
    });
  }

  /** What of the methods in force fails here. */
  get methodFaults(): Record<string, string> {
    return methodFaults(this.#parts);
  }

  async start(): Promise<void> {
    const { config, methods } = this.#setup;
    await this.monitoring.countOnly(config);
    await this.#startMethods(this.#parts, methods);
    await this.#named(this.listeners.start(this.#parts));
    this.#surroundings.dropPrivileges(config.server, this.log);
  }

  async prepare(config: Config): Promise<void> {
    const parts = this.#makeParts(config);
    this.#next = { parts, prepared: await this.#named(this.listeners.prepare(parts)) };
  }

  async commit(methods: MethodStates): Promise<void> {
    if (!this.#next) throw new Error('No configuration was prepared.');
    const { parts, prepared } = this.#next;
    const before = this.#parts;
    this.#next = undefined;
    await this.#startMethods(parts, methods);
    this.#parts = parts;
    this.#fileCache.resize(this.#shareOfCache(parts.config));
    await prepared.commit();
    await this.monitoring.countOnly(parts.config);
    for (const method of before.methods.values()) await method.stop();
  }

  async abort(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    await next?.prepared.abort();
  }

  async stop(timeoutMs: number): Promise<boolean> {
    const inTime = await this.listeners.stop(timeoutMs);
    // What was cut off still has to say so.
    if (!inTime) await this.#surroundings.clock.sleep(100);
    this.#temporaries.close();
    this.journal.flush();
    return inTime;
  }

  // The processes keep their own, and together no more than one would.
  #shareOfCache({ server }: Config): number {
    return Math.floor(server.file_cache_size / this.#setup.workers);
  }

  adopt(states: MethodStates): void {
    for (const method of this.#parts.methods.values()) {
      const state = states[method.uuid];
      if (method instanceof CalloutMethod && state !== undefined) method.adopt(state);
    }
  }

  lookAtAccounts(): void {
    for (const { methods } of [this.#parts, ...(this.#next ? [this.#next.parts] : [])])
      for (const method of methods.values()) if (method instanceof ApplicationMethod) method.accounts.lookAgain();
  }

  // Endpoints are tested by the primary process alone.
  async #startMethods(parts: RequestParts, states: MethodStates): Promise<void> {
    for (const method of enabledMethods(parts)) {
      if (method instanceof CalloutMethod) method.adopt(states[method.uuid] ?? 'stopped');
      else await method.start();
    }
  }

  /** Says which service it was that failed. */
  async #named<T>(started: Promise<T>): Promise<T> {
    this.#failedService = undefined;
    try {
      return await started;
    } catch (error) {
      const { code, message } = error instanceof ServiceError ? error : { code: 'unavailable' as const, message: (error as Error).message };
      throw new ServiceError(code, message, { cause: error, details: { service: this.#failedService } });
    }
  }
}

/** A worker shows no figures itself. */
const noSources: MonitorSources = {
  checks: async () => ({}),
  services: async () => [],
  handlers: async () => [],
  suspendedUrls: async () => [],
  journalBytes: async () => 0,
  configHash: () => '',
  shared: async () => undefined,
};
