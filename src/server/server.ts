import { PasswordVerifier } from '../accounts/passwords.ts';
import { changesBetween, needsRestart } from '../config/changes.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { ReloadReport } from '../config/report-shapes.ts';
import type { Config } from '../config/schema/schema.ts';
import type { Collections } from '../control/collection.ts';
import { openControlSocket } from '../control/control-server.ts';
import type { EventComponent } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import { heldLimits } from '../files/inspections/options.ts';
import { uploadLimits } from '../files/uploads/options.ts';
import type { UploadLimits } from '../files/uploads/upload-store.ts';
import type { Clock } from '../lib/clock.ts';
import { type DataFolder, openDataFolder } from '../lib/disk/data-folder.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { RemoteResult } from '../lib/remote/remote-endpoint.ts';
import { TicketKeys } from '../lib/ticket-keys.ts';
import type { MetricFigures } from '../monitor/sources.ts';
import type { WebhookHandler } from '../webhooks/webhook-handler.ts';
import { Certificates, withCertificatePaths } from './certificates.ts';
import { type ConsoleServices, makeConsoles } from './console/console-services.ts';
import { controlledCollections, controlOrders } from './control.ts';
import { Core, openState } from './core.ts';
import { type Announce, prepareAll } from './listeners.ts';
import { monitorSources, type ServerView } from './monitor-sources.ts';
import { Monitoring } from './monitoring.ts';
import { OwnListeners } from './own-listeners.ts';
import { configuredAccount, longestRetention, makeParts, type RequestParts, startMethods, stopMethods, trashDays } from './parts.ts';
import { type ConfigFile, type Reloaded, ServerFile } from './server-file.ts';
import type { State } from './state.ts';
import { type NodeSetup, nodeConfig } from './supervisor/node-setup.ts';

/** The parts of one configuration, except the listeners. */
interface Parts extends RequestParts {
  handlers: Map<string, WebhookHandler>;
  /** Replaces the inspections of the running server with the inspections of this configuration. */
  applyInspections: () => void;
}

/** Resources that stay open as long as the server runs. */
interface Opened {
  readonly dataFolder: DataFolder;
  /** The folder that all nodes of one supervisor share. */
  readonly commonFolderPath: string;
  readonly state: State;
  readonly core: Core;
  readonly listeners: OwnListeners;
  readonly certificates: Certificates;
}

/** A server and everything that it has opened. This object exists before the server listens. */
interface Running extends Opened {
  readonly consoles: ConsoleServices;
  /** The parts of the current configuration. */
  parts: Parts;
  /** Closes the control socket; undefined if this process has none. */
  control: (() => Promise<void>) | undefined;
}

export interface ServerDependencies {
  clock: Clock;
  log: Log;
  file?: ConfigFile;
  /**
   * The supervisor, if this process is one of several nodes. It collects the figures of all nodes, and reloads all of them or none.
   */
  supervisor?: { setup: NodeSetup; figures: () => Promise<MetricFigures[]>; reload: () => Promise<ReloadReport> };
}

/** A server. It creates and connects all parts that a configuration describes. No other module knows all of them. */
export class Server {
  readonly #verifier = new PasswordVerifier();
  readonly #supervisor: ServerDependencies['supervisor'];
  readonly #tickets: TicketKeys;
  #loaded: LoadedConfig;
  /** The configuration as it applies to this process. */
  #config: Config;
  #running: Running | undefined;
  readonly #monitoring: Monitoring;
  /** Dependencies that all parts need. */
  readonly #common: { clock: Clock; log: Log; monitoring: Monitoring; announce: Announce };
  readonly #file: ServerFile;
  readonly #uploadLimits = (): UploadLimits => uploadLimits(this.#config.server.uploads);
  readonly #heldLimits = (): UploadLimits => heldLimits(this.#config.server.held);
  #phase: 'starting' | 'ready' | 'stopping' = 'starting';
  readonly #hurry = new AbortController();
  #started: Promise<void> | undefined;
  #stopped: Promise<boolean> | undefined;

  /** @param loaded a valid configuration */
  constructor(loaded: LoadedConfig, { clock, log, file, supervisor }: ServerDependencies) {
    this.#supervisor = supervisor;
    this.#tickets = new TicketKeys(supervisor?.setup.ticketSecret);
    this.#loaded = loaded;
    this.#config = this.#ownConfig(loaded.config);
    this.#monitoring = new Monitoring(
      monitorSources(() => this.#view(), clock, supervisor?.figures),
      log,
      supervisor && `node-${supervisor.setup.number}`,
    );
    this.#common = { clock, log, monitoring: this.#monitoring, announce: (...event) => this.#emit(...event) };
    this.#file = new ServerFile({
      file,
      running: () => this.#loaded,
      apply: (next) => this.reload(next),
      byAnother: supervisor?.reload,
      isFolderShared: supervisor !== undefined,
      clock,
      log,
    });
  }

  /** The running server. @throws ServiceError `unavailable` if it is not running */
  get #open(): Running {
    if (!this.#running) throw new ServiceError('unavailable', 'The server is not running.');
    return this.#running;
  }

  /** Starts all parts. @throws ServiceError `unavailable` if a part cannot run. In that case nothing is left running */
  start(): Promise<void> {
    this.#started = this.#start();
    return this.#started;
  }

  /**
   * Stops accepting connections, lets transfers finish within `shutdown_timeout`, and flushes the journal.
   * @returns whether all transfers and deliveries ended in time
   */
  stop(): Promise<boolean> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Ends the grace period of the current or next stop. Transfers are cut, but their events still reach the journal. */
  hurry(): void {
    this.#hurry.abort();
    this.#running?.listeners.hurry();
  }

  async #start(): Promise<void> {
    const running = await this.#openAll();
    const { core, listeners, consoles, certificates, parts } = running;
    try {
      // The monitor of a node starts only when the node serves. Before that, other nodes answer at the same address.
      if (this.#supervisor) await this.#monitoring.count(this.#config);
      else await this.#monitoring.apply(this.#config);
      this.#emit(eventIds.serverStarting, { version: SVC_VERSION });
      core.files.retention.configure(longestRetention(parts));
      core.files.trashes.configure((trash) => trashDays(parts, trash));
      await core.apply(parts.handlers, this.#config);
      await startMethods(parts);
      parts.applyInspections();
      core.files.held.start();
      this.#assertGoesOn();
      const challenges = await certificates.prepare(this.#loaded.config);
      await listeners.start(parts);
      await (await consoles.prepare(this.#config)).commit();
      running.control = await this.#openControl(running);
      this.#assertGoesOn();
      this.#emit(eventIds.serverStarted, { version: SVC_VERSION });
      core.events.assertWritable();
      this.#phase = 'ready';
      if (this.#supervisor) await this.#monitoring.apply(this.#config);
      await challenges.commit();
    } catch (error) {
      await this.#close(running);
      throw error;
    }
  }

  /** Opens everything that requests need, without listening yet. If something cannot be opened, everything is closed again. */
  async #openAll(): Promise<Running> {
    const dataFolder = openDataFolder(this.#config.server.data_folder_path);
    const closeAll: (() => unknown)[] = [() => dataFolder.release()];
    try {
      const { clock, log } = this.#common;
      const limits = { uploadLimits: this.#uploadLimits, heldLimits: this.#heldLimits };
      const state = await openState(() => this.#config, { clock, log, ...limits });
      closeAll.unshift(() => state.close());
      this.#assertGoesOn();
      const commonFolderPath = this.#supervisor?.setup.dataFolderPath ?? dataFolder.path;
      const core = await Core.open(this.#config, dataFolder, {
        ...this.#common,
        state,
        ...limits,
        excludedPath: commonFolderPath,
        findAccount: (name) => this.#running && configuredAccount(this.#running.parts, name),
      });
      closeAll.unshift(() => core.close(0));
      this.#assertGoesOn();
      const certificates = new Certificates({
        ...this.#common,
        dataFolderPath: this.#config.server.data_folder_path,
        store: state.certificates,
        events: core.events,
      });
      const listeners = new OwnListeners({
        ...this.#common,
        events: core.events,
        files: core.files,
        state,
        grants: core.grants,
        journal: core.journal,
        expectations: (account) => core.expectations.ofAccount(account),
        dataFolderPath: commonFolderPath,
        tickets: this.#tickets,
        tlsChallenge: (config) => certificates.tlsChallenge(config),
        renewsTickets: this.#supervisor === undefined,
      });
      const opened = { dataFolder, commonFolderPath, state, core, listeners, certificates };
      const parts = this.#makeParts(this.#config, opened);
      // This must be set in one step, because consoles ask for the running server as soon as they exist.
      this.#running = { ...opened, parts, consoles: this.#makeConsoles(opened), control: undefined };
      return this.#running;
    } catch (error) {
      for (const close of closeAll) await close();
      throw error;
    }
  }

  /** Returns the configuration as this process uses it. */
  #ownConfig(config: Config): Config {
    return withCertificatePaths(nodeConfig(config, this.#supervisor?.setup));
  }

  #assertGoesOn(): void {
    if (this.#phase === 'stopping') throw new ServiceError('unavailable', 'The server was stopped while it started.');
  }

  /** Returns the name and URL of each service that listens. */
  listening(): { uuid: string; name: string; url: string }[] {
    const { listeners, consoles, certificates } = this.#running ?? {};
    return [listeners, this.#monitoring, consoles, certificates].flatMap((part) => part?.listening() ?? []);
  }

  /** Returns a URL that logs an administrator in to the console; undefined without a console. The URL works once, within five minutes. */
  consoleLink(administrator: string): string | undefined {
    return this.#running?.consoles.loginLink(administrator);
  }

  /**
   * Switches to a new configuration, completely or not at all. It waits until the server has started. Sessions and running transfers
   * survive, unless their accounts lost access.
   *
   * @returns paths of the changed options, and the numbers of sessions, connections and transfers that lost access
   * @throws ServiceError `unavailable` if a change needs a restart or a part cannot be started
   */
  async reload(next: LoadedConfig): Promise<Reloaded> {
    const changes = changesBetween(this.#loaded.config, next.config);
    const refusal = needsRestart(changes);
    if (refusal !== undefined) throw new ServiceError('unavailable', refusal);
    await this.#started;
    const running = this.#open;
    const { core } = running;
    const parts = this.#makeParts(this.#ownConfig(next.config), running);
    const prepared = await prepareAll([
      () => running.certificates.prepare(next.config),
      () => running.listeners.prepare(parts),
      () => running.consoles.prepare(parts.config),
    ]);
    try {
      await startMethods(parts);
      await core.apply(parts.handlers, next.config);
    } catch (error) {
      await Promise.all([prepared.abort(), stopMethods(parts)]);
      throw error;
    }
    this.#loaded = next;
    this.#config = parts.config;
    parts.applyInspections();
    core.files.retention.configure(longestRetention(parts));
    core.files.trashes.configure((trash) => trashDays(parts, trash));
    core.files.fileCache.resize(parts.config.server.file_cache_size);
    const ended = await prepared.commit();
    await this.#monitoring.apply(parts.config);
    const old = running.parts;
    running.parts = parts;
    await stopMethods(old);
    await core.events.emitDurable({ id: eventIds.configurationReloaded, context: eventContext(core), data: { changes, ended } });
    return { changes, ended };
  }

  /** Reads the configuration file again and applies it. @returns the result, which is also written to the data folder */
  reloadFile(): Promise<ReloadReport> {
    return this.#file.reload();
  }

  async #stop(): Promise<boolean> {
    const [running, wasReady] = [this.#running, this.#phase === 'ready'];
    this.#phase = 'stopping';
    running?.listeners.leave();
    if (!running || !wasReady) {
      // This makes `#start` fail, and then `#start` closes everything that it has opened.
      await running?.listeners.stop(0);
      if (running) await stopMethods(running.parts);
      await this.#started?.catch(() => {});
      return true;
    }
    // `/ready` already reports that the server is stopping. The delay gives load balancers time to notice that.
    await this.#common.clock.sleep(this.#config.server.shutdown_delay * 1000, this.#hurry.signal).catch(() => {});
    return this.#close(running);
  }

  async #close({ dataFolder, state, core, listeners, consoles, certificates, parts, control }: Running): Promise<boolean> {
    const endMs = this.#common.clock.monotonicMs() + this.#config.server.shutdown_timeout * 1000;
    const leftMs = () => (this.#hurry.signal.aborted ? 0 : endMs - this.#common.clock.monotonicMs());
    if (listeners.listening().length > 0) this.#emit(eventIds.serverStopping);
    const finished = await listeners.stop(leftMs());
    await consoles.stop();
    await certificates.stop();
    await control?.();
    await stopMethods(parts);
    const delivered = await core.close(leftMs());
    await this.#monitoring.stop();
    await state.close();
    dataFolder.release();
    this.#running = undefined;
    return finished && delivered;
  }

  /** From now on, encrypts TLS session tickets with a new secret that all nodes share. */
  renewTickets(secret: Buffer): void {
    this.#tickets.renew(secret);
  }

  figures(): Promise<MetricFigures> {
    return this.#monitoring.figures();
  }

  /** Writes all events so far to disk, before a fault ends the process. @throws any error of the write */
  flushNow(): void {
    this.#running?.core.flushNow();
  }

  // The server also runs without the control socket, because some file systems support no sockets. If there are several nodes, only the
  // first one opens the socket.
  async #openControl(opened: Running): Promise<Running['control']> {
    if (this.#supervisor && this.#supervisor.setup.number > 1) return undefined;
    const orders = controlOrders(opened.core, () => this.#open.parts);
    try {
      return await openControlSocket(opened.commonFolderPath, this.#collections(opened), this.#common.log, orders);
    } catch (error) {
      this.#common.log.warn('commands such as svc sessions, svc bans and svc tokens cannot reach this server', { reason: error });
      return undefined;
    }
  }

  #collections({ state: { locks, bans }, core, listeners }: Pick<Opened, 'state' | 'core' | 'listeners'>): Collections {
    const stores = { sessions: () => listeners.sessions(), locks, bans, files: core.files, context: eventContext(core) };
    return controlledCollections(stores, this.#common.clock);
  }

  #makeConsoles(opened: Opened): ConsoleServices {
    const { dataFolder, core, state } = opened;
    return makeConsoles(() => this.#view(), {
      ...this.#common,
      dataFolder,
      core,
      nodes: state.nodes,
      tally: () => this.#monitoring.tally.figures,
      listening: () => this.listening(),
      collections: this.#collections(opened),
      file: this.#file,
      passwords: this.#verifier,
      bans: state.bans,
    });
  }

  #view(): ServerView {
    return { phase: this.#phase, loaded: this.#loaded, config: this.#config, ...this.#open };
  }

  #makeParts(config: Config, { commonFolderPath, state, core, listeners }: Opened): Parts {
    const parts = makeParts(config, {
      ...this.#common,
      dataFolderPath: commonFolderPath,
      serverUuid: core.server.uuid,
      isAccountsFileShared: config.server.state.type === 'redis',
      passwords: this.#verifier,
      events: core.events,
      urlHealth: state.urlHealth,
      accepted: state.accepted,
      onCallout: (method: string, result: RemoteResult) => this.#monitoring.callout(method, result),
      onAccountsChanged: () => void listeners.accountsChanged(),
    });
    const applyInspections = core.files.held.inspections.prepare({ inspections: config.inspections, held: config.server.held });
    return { ...parts, applyInspections, handlers: core.deliveries.prepare(config.event_handlers) };
  }

  #emit(id: number, data: Record<string, unknown> = {}, component?: EventComponent): void {
    const core = this.#running?.core;
    core?.events.emit({ id, context: eventContext(core, component), data });
  }
}

function eventContext({ server }: Core, component: EventComponent = server) {
  return { account: processAccount(), component };
}
