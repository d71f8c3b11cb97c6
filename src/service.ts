import { defaultGroupUuid, type GroupConfiguration } from './accounts/account.ts';
import { groupOptions } from './accounts/options.ts';
import { PasswordVerifier } from './accounts/passwords.ts';
import { AuthChain, accountOfEvents } from './auth/auth-chain.ts';
import type { AuthMethod } from './auth/auth-method.ts';
import { CalloutMethod } from './auth/callout.ts';
import { createAuthMethod } from './auth/create-method.ts';
import { LocalPasswords } from './auth/local-passwords.ts';
import { changesBetween } from './config/changes.ts';
import type { LoadedConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import type { EventComponent } from './events/event.ts';
import { processAccount } from './events/event-factory.ts';
import type { HttpService } from './http/exchange.ts';
import { HttpServer } from './http/http-server.ts';
import type { HttpServiceOptions } from './http/options.ts';
import type { SessionStore } from './http/sessions.ts';
import type { Clock } from './lib/clock.ts';
import { type DataFolder, openDataFolder } from './lib/data-folder.ts';
import { ServiceError } from './lib/errors.ts';
import type { Log } from './lib/log.ts';
import type { RemoteResult } from './lib/remote-endpoint.ts';
import type { MonitorSources } from './monitor/sources.ts';
import { Core } from './service-core.ts';
import { Monitoring } from './service-monitor.ts';
import { memoryState, type SharedState } from './service-state.ts';
import type { WebhookHandler } from './webhooks/webhook-handler.ts';

/** A server: everything that one configuration starts. */
export interface Service {
  /** Starts everything; throws ServiceError `unavailable` when something cannot run, with nothing left running. */
  start(): Promise<void>;
  /** One line for each listening service. */
  listening(): { uuid: string; name: string; url: string }[];
  /**
   * Takes over a new configuration, all or nothing; sessions and running transfers survive.
   *
   * @returns paths of the options that changed
   */
  reload(next: LoadedConfig): Promise<string[]>;
  /** Stops accepting, lets transfers finish within `shutdown_timeout`, flushes the journal. @returns whether all finished */
  stop(): Promise<boolean>;
}

/** A running HTTP service with what outlives a reload. */
interface Running {
  server: HttpServer;
  sessions: SessionStore;
}

/** What one configuration makes, without listeners. */
interface Parts {
  config: Config;
  methods: Map<string, AuthMethod>;
  groups: Map<string, GroupConfiguration>;
  passwords: LocalPasswords;
  handlers: Map<string, WebhookHandler>;
}

/**
 * Joins the parts of the server; the only place that knows them all.
 *
 * @param loaded a valid configuration
 * @param surroundings clock and log
 */
export function createService(loaded: LoadedConfig, surroundings: { clock: Clock; log: Log }): Service {
  return new ServerRuntime(loaded, surroundings.clock, surroundings.log);
}

class ServerRuntime implements Service {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #verifier = new PasswordVerifier();
  readonly #running = new Map<string, Running>();
  #config: Config;
  #dataFolder: DataFolder | undefined;
  #core: Core | undefined;
  #parts: Parts | undefined;
  #state: SharedState | undefined;
  readonly #monitoring: Monitoring;
  #phase: 'starting' | 'ready' | 'stopping' = 'starting';

  constructor(loaded: LoadedConfig, clock: Clock, log: Log) {
    this.#config = loaded.config;
    this.#clock = clock;
    this.#log = log;
    this.#monitoring = new Monitoring(this.#monitorSources(), log);
  }

  async start(): Promise<void> {
    const { server } = this.#config;
    this.#dataFolder = openDataFolder(server.data_folder_path);
    try {
      this.#state = await this.#openState();
      this.#core = await Core.open(this.#config, this.#dataFolder, this.#clock, this.#log, this.#monitoring, this.#state);
      const { events } = this.#core;
      await this.#monitoring.apply(this.#config);
      this.#emit(20001, { version: SVC_VERSION });
      this.#parts = this.#makeParts(this.#config);
      await this.#core.deliveries.apply(this.#parts.handlers, Object.keys(this.#config.event_handlers));
      await this.#startMethods(this.#parts);
      for (const uuid of httpServices(this.#config)) await this.#startHttp(uuid, this.#parts);
      this.#emit(20181, { version: SVC_VERSION });
      events.assertWritable();
      this.#phase = 'ready';
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  listening() {
    const files = [...this.#running].map(([uuid, { server }]) => ({ uuid, name: server.service.component.name, url: server.url }));
    return [...files, ...this.#monitoring.listening()];
  }

  async reload(next: LoadedConfig): Promise<string[]> {
    const { config } = next;
    const before = this.#config;
    const changes = changesBetween(before, config);
    if (changes.some((path) => path.startsWith('server.data_folder_path') || path.startsWith('server.state') || path === 'server.uuid')) {
      throw new ServiceError('unavailable', 'data_folder_path, state and uuid of the server only change with a restart.');
    }
    const parts = this.#makeParts(config);
    const added: string[] = [];
    try {
      for (const uuid of httpServices(config)) {
        if (this.#keepsAddress(uuid, config)) continue;
        // The old listener of a moved service goes on until the new one stands; a port that cannot be had keeps the old.
        await this.#startHttp(uuid, parts, `${uuid}/next`);
        added.push(uuid);
      }
    } catch (error) {
      for (const uuid of added) await this.#stopHttp(`${uuid}/next`, 'the reload failed', 0);
      throw error;
    }
    await this.#core?.deliveries.apply(parts.handlers, Object.keys(config.event_handlers));
    await this.#startMethods(parts);
    this.#config = config;
    for (const uuid of httpServices(config)) {
      if (added.includes(uuid)) continue;
      const running = this.#running.get(uuid) as Running;
      running.server.replace(this.#httpService(uuid, parts, running.sessions));
    }
    await this.#monitoring.apply(config);
    await this.#retire(before, config, added);
    const old = this.#parts;
    this.#parts = parts;
    for (const method of old?.methods.values() ?? []) await method.stop();
    await this.#core?.events.emitDurable({ id: 20012, context: this.#context(), data: { changes } });
    return changes;
  }

  async stop(): Promise<boolean> {
    const timeoutMs = this.#config.server.shutdown_timeout * 1000;
    const startedMs = this.#clock.monotonicMs();
    if (this.#core && this.#running.size > 0) this.#emit(20002);
    await this.#leave();
    const finished = await Promise.all([...this.#running.keys()].map((uuid) => this.#stopHttp(uuid, 'the server stops', timeoutMs)));
    for (const method of this.#parts?.methods.values() ?? []) await method.stop();
    const delivered = (await this.#core?.close(timeoutMs - (this.#clock.monotonicMs() - startedMs))) ?? true;
    await this.#monitoring.stop();
    await this.#state?.close();
    this.#dataFolder?.release();
    this.#core = undefined;
    this.#dataFolder = undefined;
    return finished.every(Boolean) && delivered;
  }

  async #openState(): Promise<SharedState> {
    const policy = () => this.#config.server.security_policy;
    const { state } = this.#config.server;
    if (state.type === 'memory') return memoryState(this.#clock, policy);
    // Loaded only where it is wanted: other commands and servers start without it.
    const { openRedisState } = await import('./service-state-redis.ts');
    return openRedisState(state, { clock: this.#clock, log: this.#log, policy });
  }

  // `/ready` says so first; what sends requests here has `shutdown_delay` to notice.
  async #leave(): Promise<void> {
    const wasReady = this.#phase === 'ready';
    this.#phase = 'stopping';
    for (const { server } of this.#running.values()) server.leave();
    if (wasReady) await this.#clock.sleep(this.#config.server.shutdown_delay * 1000);
  }

  #monitorSources(): MonitorSources {
    const core = () => this.#core as Core;
    return {
      checks: async () => ({
        server: this.#phase === 'ready' || this.#phase,
        journal: core().journalCheck(),
        state: this.#state?.check() ?? 'not opened',
      }),
      services: () =>
        Promise.all(
          [...this.#running].map(async ([service, { server, sessions }]) => ({
            service,
            ...server.traffic,
            sessions: await sessions.count().catch(() => Number.NaN),
          })),
        ),
      handlers: () => core().handlerFigures(this.#clock.nowMs()),
      suspendedUrls: async () => [
        ...[...(this.#parts?.methods.values() ?? [])].flatMap((method) =>
          method instanceof CalloutMethod ? [{ kind: 'authentication' as const, uuid: method.uuid, count: method.suspendedUrls }] : [],
        ),
        ...(await core().deliveries.figures()).map(({ handler, suspendedUrls }) => ({
          kind: 'event-handler' as const,
          uuid: handler,
          count: suspendedUrls,
        })),
      ],
      journalBytes: () => core().journal.sizeBytes(),
    };
  }

  #keepsAddress(uuid: string, config: Config): boolean {
    const before = this.#running.get(uuid)?.server.service.options;
    const after = config.services[uuid] as HttpServiceOptions;
    return before !== undefined && before.type === after.type && before.address === after.address && before.port === after.port;
  }

  // Services that are gone, and the former listeners of those that moved.
  async #retire(before: Config, after: Config, moved: readonly string[]): Promise<void> {
    const staying = httpServices(after);
    for (const uuid of httpServices(before)) {
      const running = this.#running.get(uuid);
      if (!running || (staying.includes(uuid) && !moved.includes(uuid))) continue;
      this.#running.delete(uuid);
      void running.server.drain(after.server.shutdown_timeout * 1000).then(() => {
        if (!moved.includes(uuid)) running.sessions.close();
      });
    }
    for (const uuid of moved) {
      this.#running.set(uuid, this.#running.get(`${uuid}/next`) as Running);
      this.#running.delete(`${uuid}/next`);
    }
  }

  #makeParts(config: Config): Parts {
    const core = this.#core as Core;
    const state = this.#state as SharedState;
    const groups = new Map<string, GroupConfiguration>(Object.entries(config.groups));
    if (!groups.has(defaultGroupUuid)) groups.set(defaultGroupUuid, groupOptions.parse({}));
    const entries = Object.entries(config.authentications);
    const configured: typeof entries =
      entries.length > 0
        ? entries
        : [['application', { type: 'application', enabled: true, name: '', description: '', accounts_file_path: '' }]];
    const dependencies = {
      accounts: config.accounts,
      groupUuids: new Set(groups.keys()),
      dataFolderPath: (this.#dataFolder as DataFolder).path,
      serverUuid: core.server.uuid,
      passwords: this.#verifier,
      events: core.events,
      urlHealth: state.urlHealth,
      accepted: state.accepted,
      clock: this.#clock,
      log: this.#log,
      onCallout: (method: string, result: RemoteResult) => this.#monitoring.callout(method, result),
    };
    const methods = new Map(configured.map(([uuid, options]) => [uuid, createAuthMethod(uuid, options, dependencies)]));
    return {
      config,
      groups,
      methods,
      passwords: new LocalPasswords([...methods.values()], this.#verifier, config.server.password_policy),
      handlers: core.deliveries.prepare(config.event_handlers),
    };
  }

  // A method that fails to start is in state `failed`, tells so itself, and rejects what reaches it (decisions.md 1).
  async #startMethods({ methods, config }: Parts): Promise<void> {
    const started = [...methods.values()].filter((method) => config.authentications[method.uuid]?.enabled ?? true);
    await Promise.all(started.map((method) => method.start()));
  }

  async #startHttp(uuid: string, parts: Parts, key = uuid): Promise<void> {
    const options = parts.config.services[uuid] as HttpServiceOptions;
    const sessions = this.#running.get(uuid)?.sessions ?? this.#makeSessions(uuid);
    const service = this.#httpService(uuid, parts, sessions);
    const data = { name: service.component.name, type: options.type, address: options.address, port: options.port };
    try {
      const server = new HttpServer(service);
      await server.listen();
      this.#running.set(key, { server, sessions });
      this.#emit(20076, { ...data, port: Number(new URL(server.url).port || (options.type === 'https' ? 443 : 80)) }, service.component);
    } catch (error) {
      if (!this.#running.has(uuid)) sessions.close();
      this.#emit(20077, { ...data, reason: (error as Error).message }, service.component);
      throw error;
    }
  }

  async #stopHttp(key: string, reason: string, timeoutMs: number): Promise<boolean> {
    const running = this.#running.get(key);
    if (!running) return true;
    const inTime = await running.server.drain(timeoutMs);
    this.#running.delete(key);
    if (![...this.#running.values()].some((other) => other.sessions === running.sessions)) running.sessions.close();
    const { component, options } = running.server.service;
    this.#emit(20078, { name: component.name, type: options.type, reason }, component);
    return inTime;
  }

  #makeSessions(uuid: string): SessionStore {
    const lifetimes = () => {
      const options = this.#config.services[uuid] as HttpServiceOptions | undefined;
      return { idleMs: (options?.idle_connection_timeout ?? 0) * 1000, maximumAgeMs: (options?.session_maximum_age ?? 0) * 1000 };
    };
    return (this.#state as SharedState).sessions(uuid, lifetimes, (timedOut) => {
      const account = accountOfEvents(timedOut, processAccount().peer);
      const component = this.#running.get(uuid)?.server.service.component ?? this.#component();
      this.#core?.events.emit({ id: 40015, context: { account, component, group: timedOut.groupUuid } });
    });
  }

  #httpService(uuid: string, parts: Parts, sessions: SessionStore): HttpService {
    const core = this.#core as Core;
    const options = parts.config.services[uuid] as HttpServiceOptions;
    const component: EventComponent = { uuid, type: options.type, name: options.name || uuid };
    const order =
      options.authentications ?? [...parts.methods.keys()].filter((method) => parts.config.authentications[method]?.enabled ?? true);
    const methods = order.flatMap((method) => parts.methods.get(method) ?? []);
    return {
      uuid,
      options,
      component,
      chain: new AuthChain(methods, parts.groups, core.events, component),
      sessions,
      bans: (this.#state as SharedState).bans,
      passwords: parts.passwords,
      files: core.files,
      events: core.events,
      clock: this.#clock,
      log: this.#log,
      observe: this.#monitoring.requestObserver(uuid, parts.config),
      baseHeaders: {
        server: options.announce_version ? `svc/${SVC_VERSION}` : 'svc',
        ...Object.fromEntries(options.headers.map(([name, value]) => [name.toLowerCase(), value])),
      },
    };
  }

  #component(): EventComponent {
    const { uuid, name } = (this.#core as Core).server;
    return { uuid, type: 'server', name };
  }

  #context(component = this.#component()) {
    return { account: processAccount(), component };
  }

  #emit(id: number, data: Record<string, unknown> = {}, component?: EventComponent): void {
    this.#core?.events.emit({ id, context: this.#context(component), data });
  }
}

function httpServices(config: Config): string[] {
  return Object.entries(config.services).flatMap(([uuid, service]) => (service.enabled && service.type !== 'monitor' ? [uuid] : []));
}
