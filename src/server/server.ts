import { PasswordVerifier } from '../accounts/passwords.ts';
import { ApplicationMethod } from '../auth/application.ts';
import { changesBetween, needsRestart } from '../config/changes.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { ReloadReport } from '../config/reload-report-schema.ts';
import type { Config } from '../config/schema/schema.ts';
import type { Collections } from '../control/collection.ts';
import { ControlServer } from '../control/control-server.ts';
import type { EventComponent } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { recentChanges } from '../events/recent-changes.ts';
import { uploadLimits } from '../files/uploads/options.ts';
import type { UploadLimits } from '../files/uploads/upload-store.ts';
import { TicketKeys } from '../http/connection/ticket-keys.ts';
import type { Clock } from '../lib/clock.ts';
import { type DataFolder, openDataFolder } from '../lib/disk/data-folder.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { MetricFigures } from '../monitor/node-figures.ts';
import type { WebhookHandler } from '../webhooks/webhook-handler.ts';
import type { ConsoleServices } from './console/console-services.ts';
import { makeConsoles } from './console/consoles.ts';
import { controlledCollections } from './control.ts';
import { Core } from './core.ts';
import { bothReloads, type PreparedReload } from './listeners.ts';
import { monitorSources, type ServerView } from './monitor-sources.ts';
import { Monitoring } from './monitoring.ts';
import { OwnListeners } from './own-listeners.ts';
import { makeParts, type RequestParts, startMethods } from './parts.ts';
import { type ConfigFile, type Reloaded, ServerFile } from './server-file.ts';
import { memoryState, type State } from './state.ts';
import type { NodeSetup, SupervisorApi } from './supervisor/protocol.ts';
import { shareOfNode } from './supervisor/share-of-node.ts';

/** What one configuration makes, without listeners. */
interface Parts extends RequestParts {
  handlers: Map<string, WebhookHandler>;
}

/** What a server is started with, beside its configuration. */
export interface ServerSurroundings {
  clock: Clock;
  log: Log;
  /** What the configuration was read from. */
  file?: ConfigFile;
  /** The supervisor that started this process as one of several nodes. */
  supervisor?: NodeSupervisor;
}

/** What a node has of the supervisor that started it beside others. */
export interface NodeSupervisor extends SupervisorApi {
  setup: NodeSetup;
}

/** A server: everything that one configuration starts. Joins its parts, as the only place that knows them all. */
export class Server {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #verifier = new PasswordVerifier();
  readonly #supervisor: NodeSupervisor | undefined;
  readonly #tickets: TicketKeys;
  #loaded: LoadedConfig;
  /** What of it is for this process. */
  #config: Config;
  #dataFolder: DataFolder | undefined;
  #core: Core | undefined;
  #parts: Parts | undefined;
  #state: State | undefined;
  #listeners: OwnListeners | undefined;
  #control: ControlServer | undefined;
  #consoles: ConsoleServices | undefined;
  readonly #monitoring: Monitoring;
  readonly #file: ServerFile;
  readonly #uploadLimits = (): UploadLimits => uploadLimits(this.#config.server.uploads);
  #phase: 'starting' | 'ready' | 'stopping' = 'starting';
  readonly #hurry = new AbortController();
  #started: Promise<void> | undefined;
  #stopped: Promise<boolean> | undefined;

  /** @param loaded a valid configuration */
  constructor(loaded: LoadedConfig, { clock, log, file, supervisor }: ServerSurroundings) {
    this.#supervisor = supervisor;
    this.#tickets = new TicketKeys(supervisor?.setup.ticketSecret);
    this.#loaded = loaded;
    this.#config = this.#ownShare(loaded.config);
    this.#clock = clock;
    this.#log = log;
    this.#monitoring = new Monitoring(
      monitorSources(() => this.#view(), clock, supervisor && (() => supervisor.figures())),
      log,
      supervisor && `node-${supervisor.setup.number}`,
    );
    const [running, apply, byAnother] = [() => this.#loaded, (next: LoadedConfig) => this.reload(next), supervisor?.reload];
    this.#file = new ServerFile({ file, running, apply, byAnother, clock, log });
  }

  /** What of a configuration is for this process. */
  #ownShare(config: Config): Config {
    const setup = this.#supervisor?.setup;
    return setup ? shareOfNode(config, setup.dataFolderPath, setup.number, setup.nodes) : config;
  }

  /** The folder of what all nodes of one supervisor have in common. */
  get #commonFolderPath(): string {
    return this.#supervisor?.setup.dataFolderPath ?? (this.#dataFolder as DataFolder).path;
  }

  /** Starts everything; throws ServiceError `unavailable` when something cannot run, with nothing left running. */
  start(): Promise<void> {
    this.#started = this.#start();
    return this.#started;
  }

  /** Stops accepting, lets transfers finish within `shutdown_timeout`, flushes the journal. @returns whether all finished */
  stop(): Promise<boolean> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Gives a stop that is under way, or to come, no more time: transfers are cut, and have their ends in the journal. */
  hurry(): void {
    this.#hurry.abort();
    this.#listeners?.hurry();
  }

  async #start(): Promise<void> {
    this.#dataFolder = openDataFolder(this.#config.server.data_folder_path);
    try {
      this.#state = await this.#openState();
      this.#assertGoesOn();
      this.#core = await Core.open(this.#config, this.#dataFolder, {
        clock: this.#clock,
        log: this.#log,
        monitoring: this.#monitoring,
        state: this.#state,
        uploadLimits: this.#uploadLimits,
        excludedPath: this.#commonFolderPath,
      });
      this.#assertGoesOn();
      const { events } = this.#core;
      this.#listeners = this.#ownListeners(this.#core, this.#state);
      this.#consoles = this.#makeConsoles(this.#dataFolder, this.#state);
      // Of several nodes that answer at one address none tells of its start while the others serve.
      if (this.#supervisor) await this.#monitoring.count(this.#config);
      else await this.#monitoring.apply(this.#config);
      this.#emit(20001, { version: SVC_VERSION });
      this.#parts = this.#makeParts(this.#config);
      await this.#core.deliveries.apply(this.#parts.handlers, Object.keys(this.#config.event_handlers));
      await startMethods(this.#parts);
      this.#assertGoesOn();
      await this.#listeners.start(this.#parts);
      await (await this.#consoles.prepare(this.#config)).commit();
      await this.#openControl();
      this.#assertGoesOn();
      this.#emit(20181, { version: SVC_VERSION });
      events.assertWritable();
      this.#phase = 'ready';
      if (this.#supervisor) await this.#monitoring.apply(this.#config);
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  #assertGoesOn(): void {
    if (this.#phase === 'stopping') throw new ServiceError('unavailable', 'The server was stopped while it started.');
  }

  /** One line for each listening service. */
  listening(): { uuid: string; name: string; url: string }[] {
    return [...(this.#listeners?.listening() ?? []), ...this.#monitoring.listening(), ...(this.#consoles?.listening() ?? [])];
  }

  /** A URL that logs an administrator (by name) in to the console, once and within five minutes; undefined without a console. */
  consoleLink(administrator: string): string | undefined {
    return this.#consoles?.loginLink(administrator);
  }

  /**
   * Takes over a new configuration, all or nothing; sessions and running transfers survive.
   *
   * @returns paths of the options that changed, and what ended of those who may be in no more
   */
  async reload(next: LoadedConfig): Promise<Reloaded> {
    const { changes, commit } = await this.prepareReload(next);
    return { changes, ended: await commit() };
  }

  /**
   * Makes ready for a new configuration; nothing has changed yet.
   *
   * @throws ServiceError `unavailable` when it needs a restart, or something of it cannot be had
   */
  async prepareReload(next: LoadedConfig): Promise<PreparedReload & { changes: string[] }> {
    const changes = changesBetween(this.#loaded.config, next.config);
    const refusal = needsRestart(changes);
    if (refusal !== undefined) throw new ServiceError('unavailable', refusal);
    const parts = this.#makeParts(this.#ownShare(next.config));
    const prepared = await this.#prepare(parts);
    const commit = async () => {
      try {
        await this.#core?.deliveries.apply(parts.handlers, Object.keys(next.config.event_handlers));
        await startMethods(parts);
      } catch (error) {
        await prepared.abort();
        throw error;
      }
      this.#loaded = next;
      this.#config = parts.config;
      this.#core?.files.fileCache.resize(parts.config.server.file_cache_size);
      const ended = await prepared.commit();
      await this.#monitoring.apply(parts.config);
      const old = this.#parts;
      this.#parts = parts;
      for (const method of old?.methods.values() ?? []) await method.stop();
      await this.#core?.events.emitDurable({ id: 20012, context: this.#context(), data: { changes, ended } });
      return ended;
    };
    return { changes, commit, abort: prepared.abort };
  }

  /** Does so with the file as it stands now. @returns what came of it; it is in the data folder, too */
  reloadFile(): Promise<ReloadReport> {
    return this.#file.reload();
  }

  /** Has everything that listens make ready for a reload, or nothing. */
  async #prepare(parts: Parts): Promise<PreparedReload> {
    const files = await (this.#listeners as OwnListeners).prepare(parts);
    try {
      const consoles = await (this.#consoles as ConsoleServices).prepare(parts.config);
      return bothReloads(files, consoles);
    } catch (error) {
      await files.abort();
      throw error;
    }
  }

  async #stop(): Promise<boolean> {
    const wasReady = this.#phase === 'ready';
    this.#phase = 'stopping';
    this.#listeners?.leave();
    if (!wasReady) {
      // What the start waits for ends; it fails then, and closes what it had opened.
      await this.#listeners?.stop(0);
      for (const method of this.#parts?.methods.values() ?? []) await method.stop();
      await this.#started?.catch(() => {});
      return true;
    }
    // `/ready` says so already; what sends requests here has the time to notice.
    await this.#clock.sleep(this.#config.server.shutdown_delay * 1000, this.#hurry.signal).catch(() => {});
    return this.#close();
  }

  async #close(): Promise<boolean> {
    const endMs = this.#clock.monotonicMs() + this.#config.server.shutdown_timeout * 1000;
    const leftMs = () => (this.#hurry.signal.aborted ? 0 : endMs - this.#clock.monotonicMs());
    if (this.#core && (this.#listeners?.listening().length ?? 0) > 0) this.#emit(20002);
    const finished = (await this.#listeners?.stop(leftMs())) ?? true;
    await this.#consoles?.stop();
    await this.#control?.close();
    for (const method of this.#parts?.methods.values() ?? []) await method.stop();
    const delivered = (await this.#core?.close(leftMs())) ?? true;
    await this.#monitoring.stop();
    await this.#state?.close();
    this.#dataFolder?.release();
    this.#core = undefined;
    this.#dataFolder = undefined;
    return finished && delivered;
  }

  /** What answers commands on the control socket that a supervisor has. */
  get control(): ControlServer | undefined {
    return this.#control;
  }

  /** Another node wrote an accounts file. */
  lookAtAccounts(): void {
    for (const method of this.#parts?.methods.values() ?? []) if (method instanceof ApplicationMethod) method.accounts.lookAgain();
  }

  /** Has the tickets of TLS sessions made with another secret, that all nodes have. */
  renewTickets(secret: Buffer): void {
    this.#tickets.renew(secret);
  }

  /** The figures of this process. */
  figures(): Promise<MetricFigures> {
    return this.#monitoring.figures();
  }

  /** Puts all events so far on disk, before a fault ends the process. @throws what writing throws */
  flushNow(): void {
    this.#core?.flushNow();
  }

  async #openState(): Promise<State> {
    const policy = () => this.#config.server.security_policy;
    const { state } = this.#config.server;
    if (state.type === 'memory') return memoryState(this.#clock, policy);
    // Loaded only where it is wanted: other commands and servers start without it.
    const { openRedisState } = await import('./state-redis.ts');
    return openRedisState(state, { clock: this.#clock, log: this.#log, policy, uploadLimits: this.#uploadLimits });
  }

  // Files are served without it, too: not every file system has sockets.
  async #openControl(): Promise<void> {
    const [{ path }, collections, log] = [this.#dataFolder as DataFolder, this.#collections(), this.#log];
    if (this.#supervisor) this.#control = new ControlServer(collections, log);
    else
      await ControlServer.open(path, collections, log).then(
        (control) => {
          this.#control = control;
        },
        (error) => log.warn('svc sessions, locks and bans will not work', { reason: error }),
      );
  }

  #collections(): Collections {
    const { locks, bans } = this.#state as State;
    const { files } = this.#core as Core;
    const sessions = () => this.#listeners?.sessions() ?? new Map();
    return controlledCollections({ sessions, locks, bans, files }, this.#clock);
  }

  #makeConsoles(dataFolder: DataFolder, { bans, nodes }: State): ConsoleServices {
    return makeConsoles(() => this.#view(), {
      dataFolder,
      nodes,
      tally: () => this.#monitoring.tally.figures,
      listening: () => this.listening(),
      collections: this.#collections(),
      file: this.#file,
      passwords: this.#verifier,
      bans,
      announce: (id, data, component) => this.#emit(id, data, component),
      clock: this.#clock,
      log: this.#log,
    });
  }

  #view(): ServerView {
    return {
      phase: this.#phase,
      loaded: this.#loaded,
      config: this.#config,
      core: this.#core,
      parts: this.#parts,
      state: this.#state,
      listeners: this.#listeners,
    };
  }

  #ownListeners({ events, files, journal }: Core, state: State): OwnListeners {
    return new OwnListeners({
      events,
      files,
      state,
      monitoring: this.#monitoring,
      announce: (id, data, component) => this.#emit(id, data, component),
      recentChanges: (accountUuid) => recentChanges(journal, accountUuid),
      dataFolderPath: this.#commonFolderPath,
      tickets: this.#tickets,
      renewsTickets: this.#supervisor === undefined,
      clock: this.#clock,
      log: this.#log,
    });
  }

  #makeParts(config: Config): Parts {
    const core = this.#core as Core;
    const state = this.#state as State;
    const parts = makeParts(config, {
      dataFolderPath: this.#commonFolderPath,
      serverUuid: core.server.uuid,
      passwords: this.#verifier,
      events: core.events,
      urlHealth: state.urlHealth,
      accepted: state.accepted,
      clock: this.#clock,
      log: this.#log,
      onCallout: (method: string, result: RemoteResult) => this.#monitoring.callout(method, result),
      ...(this.#supervisor && { onAccountsWritten: this.#supervisor.accountsWritten }),
      onAccountsChanged: () => void this.#listeners?.accountsChanged(),
    });
    return { ...parts, handlers: core.deliveries.prepare(config.event_handlers) };
  }

  #context(component: EventComponent = (this.#core as Core).server) {
    return { account: processAccount(), component };
  }

  #emit(id: number, data: Record<string, unknown> = {}, component?: EventComponent): void {
    this.#core?.events.emit({ id, context: this.#context(component), data });
  }
}
