import { AuthChain } from '../auth/auth-chain.ts';
import type { Grants } from '../auth/grants/grants.ts';
import { LoginAttempts } from '../auth/login-attempts.ts';
import type { Session, SessionStore } from '../auth/sessions.ts';
import type { Config } from '../config/schema/schema.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import { droppedFiles } from '../events/dropped-files.ts';
import type { EventComponent } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import type { NewestFirstJournal } from '../events/journal/event-log.ts';
import { recentChanges } from '../events/recent-changes.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import { HandleShares } from '../files/handle-shares.ts';
import { HttpServer } from '../http/connection/http-server.ts';
import type { HttpServiceOptions } from '../http/options.ts';
import type { HttpService } from '../http/request/exchange.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { PendingWork } from '../lib/concurrency/pending-work.ts';
import { maxDescriptors } from '../lib/disk/descriptors.ts';
import type { Log } from '../lib/log.ts';
import { type TicketKeys, ticketSecretLastsMs } from '../lib/ticket-keys.ts';
import type { ServiceFigures } from '../monitor/sources.ts';
import type { SshServer } from '../ssh/listener.ts';
import type { SshServiceOptions } from '../ssh/options.ts';
import { requiredByGroups } from '../ssh/required-credentials.ts';
import type { SshService } from '../ssh/ssh-service.ts';
import {
  type Announce,
  type CertificateEnd,
  type Ended,
  type PreparedReload,
  serviceComponent,
  sessionLifetimes,
  startData,
  timeoutEvent,
} from './listeners.ts';
import type { Monitoring } from './monitoring.ts';
import { type FileServiceOptions, fileServices, type RequestParts, serviceMethods, serviceProtocol } from './parts.ts';
import type { State } from './state.ts';

interface ListenerDependencies {
  events: EventDispatcher;
  files: FilesEnvironment;
  grants: Grants;
  state: State;
  monitoring: Monitoring;
  announce: Announce;
  journal: NewestFirstJournal;
  tlsChallenge: (config: Config) => HttpService['tlsChallenge'];
  expectations: HttpService['expectations'];
  clock: Clock;
  log: Log;
  /** Keys that encrypt TLS session tickets. */
  tickets: TicketKeys;
  /** Whether this process renews the keys itself; otherwise its supervisor does. */
  renewsTickets: boolean;
  dataFolderPath: string;
}

interface ServiceSetup extends Pick<HttpService, 'uuid' | 'sessions' | 'attempts' | 'endSessions'> {
  parts: RequestParts;
  handles: HandleShares;
}

/** Creates an HTTP or HTTPS service from its options. */
function makeHttpService(dependencies: ListenerDependencies, setup: ServiceSetup): HttpService {
  const { uuid, parts, endSessions } = setup;
  const options = parts.config.services[uuid] as HttpServiceOptions;
  return {
    ...commonParts(dependencies, setup, options),
    options,
    fileServices: fileServices(parts.config).map((other) => ({ uuid: other, name: parts.config.services[other]?.name || other })),
    endSessions,
    grants: dependencies.grants,
    recentChanges: (accountUuid) => recentChanges(dependencies.journal, accountUuid),
    droppedFiles: (wanted) => droppedFiles(dependencies.journal, wanted),
    expectations: dependencies.expectations,
    tickets: dependencies.tickets,
    tlsChallenge: options.type === 'https' ? dependencies.tlsChallenge(parts.config) : undefined,
    proxies: {
      header: options.client_forwarded_header,
      // Without the header, no ranges are compiled. For the first range, Node.js 20 compiles its regular expression for IPv6 addresses,
      // which takes about as long as creating the rest of a service.
      isProxy: options.client_forwarded_header === '' ? () => false : compileAddressRanges(options.trusted_proxies),
    },
    passwords: parts.passwords,
    securityContact: parts.config.server.security_contact,
    observe: dependencies.monitoring.requestObserver(uuid, parts.config),
    baseHeaders: {
      server: options.announce_version ? `svc/${SVC_VERSION}` : 'svc',
      ...Object.fromEntries(options.headers.map(([name, value]) => [name.toLowerCase(), value])),
    },
  };
}

/** Creates an SSH service from its options. @throws ServiceError `unavailable` if its host keys cannot be used */
async function makeSshService(dependencies: ListenerDependencies, setup: ServiceSetup): Promise<SshService> {
  const { uuid, parts } = setup;
  const options = parts.config.services[uuid] as SshServiceOptions;
  // Loaded on demand, so that a server without SSH starts faster.
  const { loadHostKeys } = await import('../ssh/host-keys.ts');
  return {
    ...commonParts(dependencies, setup, options),
    options,
    requiredCredentials: requiredByGroups(parts.groups.values()),
    hostKeys: await loadHostKeys(options.host_key_paths, dependencies.dataFolderPath),
    isProxy: compileAddressRanges(options.trusted_proxies),
    handles: setup.handles,
    observe: dependencies.monitoring.sshObserver(uuid, parts.config),
    slots: dependencies.state.places,
  };
}

function makeChain(
  { events, grants }: Pick<ListenerDependencies, 'events' | 'grants'>,
  parts: RequestParts,
  options: FileServiceOptions,
  component: EventComponent,
): AuthChain {
  return new AuthChain(serviceMethods(parts, options), parts.groups, events, component, grants);
}

function commonParts(dependencies: ListenerDependencies, { uuid, parts, sessions, attempts }: ServiceSetup, options: FileServiceOptions) {
  const component = serviceComponent(uuid, options);
  const { events, files, state, clock, log } = dependencies;
  const chain = makeChain(dependencies, parts, options, component);
  return { uuid, component, chain, sessions, attempts, bans: state.bans, files, events, clock, log };
}

/** Share of the process's file descriptors that SFTP clients may use for files and folders. An upload can need two of them. */
const shareOfHandles = 1 / 4;

/** A running service, and its sessions, which survive a reload. */
interface Running {
  server: HttpServer | SshServer;
  sessions: SessionStore;
}

/** The file transfer services that run in this process. */
export class OwnListeners {
  readonly #dependencies: ListenerDependencies;
  readonly #running = new Map<string, Running>();
  /** Services that a reload removed or moved to another address. Their old listeners still answer requests. */
  readonly #retired = new Set<Running>();
  readonly #attempts: LoginAttempts;
  readonly #handles = new HandleShares(Math.floor(maxDescriptors() * shareOfHandles));
  /** The drains of the retired services. */
  readonly #retiring = new PendingWork();
  /** Aborted when transfers must end immediately. */
  readonly #hurry = new AbortController();
  #ticketRenewal: Timer | undefined;
  #parts: RequestParts | undefined;

  constructor(dependencies: ListenerDependencies) {
    this.#dependencies = dependencies;
    this.#attempts = new LoginAttempts(dependencies.state.bans, dependencies.clock, dependencies.log);
    dependencies.grants.store.onEnded(() => void this.endOthers());
  }

  /** Starts all services. @throws ServiceError `unavailable` if a service cannot listen. Services that already listen run until `stop` */
  async start(parts: RequestParts): Promise<void> {
    this.#parts = parts;
    const { clock, tickets, renewsTickets } = this.#dependencies;
    if (renewsTickets) this.#ticketRenewal = clock.every(ticketSecretLastsMs, () => tickets.renew());
    for (const uuid of fileServices(parts.config)) await this.#start(uuid, parts);
  }

  listening() {
    return [...this.#running].map(([uuid, { server }]) => ({ uuid, name: server.service.component.name, url: server.url }));
  }

  /**
   * Prepares another configuration. It performs every step that can fail, but does not change running services yet.
   *
   * @throws ServiceError `unavailable` if an address, a TLS file or a host key cannot be used
   */
  async prepare(parts: RequestParts): Promise<PreparedReload> {
    const added: string[] = [];
    const sshServices = new Map<string, SshService>();
    const abort = async () => {
      for (const uuid of added) await this.#stop(`${uuid}/next`, 'the reload failed', 0);
    };
    try {
      for (const uuid of fileServices(parts.config)) {
        if (this.#keepsAddress(uuid, parts.config)) {
          const ssh = await this.#checkReplaceable(uuid, parts);
          if (ssh) sshServices.set(uuid, ssh);
          continue;
        }
        // If the address of a service changes, the new listener must listen before the old listener ends. If the new listener cannot listen,
        // the old listener stays.
        await this.#start(uuid, parts, `${uuid}/next`);
        added.push(uuid);
      }
    } catch (error) {
      await abort();
      throw error;
    }
    const commit = () => {
      this.#commit(parts, added, sshServices);
      return this.endOthers();
    };
    return { commit, abort };
  }

  certificateEnds(): CertificateEnd[] {
    return [...this.#running].map(([service, { server }]) => ({ service, endMs: (server as Partial<HttpServer>).certificateEndMs }));
  }

  async figures(): Promise<ServiceFigures[]> {
    return Promise.all(
      [...this.#running].map(async ([service, { server, sessions }]) => ({
        service,
        protocol: serviceProtocol(server.service.options),
        ...server.traffic,
        sessions: await sessions.count().catch(() => Number.NaN),
      })),
    );
  }

  /** Ends transfers, connections and sessions of accounts that are no longer valid (`AuthChain.inForce`). Never rejects. */
  async endOthers(): Promise<Ended> {
    const all = [...this.#running.values(), ...this.#retired];
    // The sessions end first. This step also learns which sessions other nodes have renewed. Requests of these sessions must not be cut.
    const sessions = await Promise.all(all.map((running) => this.#endOtherSessions(running)));
    const cut = all.map(({ server }) => server.cutOthers());
    const ofSsh = all.map(({ server }, index) => (server instanceof HttpServer ? 0 : (cut[index]?.length ?? 0)));
    return {
      sessions: sessions.reduce((sum, ended) => sum + ended, 0),
      connections: ofSsh.reduce((sum, ended) => sum + ended, 0),
      transfers: this.#dependencies.files.transfers.count(new Set(cut.flat())),
    };
  }

  async accountsChanged(): Promise<void> {
    const ended = await this.endOthers();
    if (Object.values(ended).some((count) => count > 0))
      this.#dependencies.log.info('accounts changed; sessions and connections without a valid account were ended', { ...ended });
  }

  // Only HTTP sessions are ended here, because the session of an SSH connection ends with the connection.
  async #endOtherSessions({ server, sessions }: Running): Promise<number> {
    if (!(server instanceof HttpServer)) return 0;
    const { chain } = server.service;
    return sessions
      .keepOnly((identity) => chain.inForce(identity) !== undefined)
      .catch((reason) => {
        this.#dependencies.log.warn(
          'sessions could not be checked against the changed accounts; those without access are refused at their next request',
          { reason },
        );
        return 0;
      });
  }

  /** Returns the sessions of each service. */
  sessions(): ReadonlyMap<string, SessionStore> {
    // During a reload, the key `UUID/next` has the same sessions as the key `UUID`.
    const inForce = [...this.#running].filter(([key]) => !key.includes('/'));
    return new Map(inForce.map(([uuid, { sessions }]) => [uuid, sessions]));
  }

  /** Continues to serve, but closes each connection after its next reply. */
  leave(): void {
    for (const { server } of this.#running.values()) server.leave();
  }

  /** Stops accepting connections and waits for requests, including those of retired services. @returns whether all ended in time */
  async stop(timeoutMs: number): Promise<boolean> {
    this.#ticketRenewal?.cancel();
    // A reload may have given retired services more time than this call allows.
    const deadline = this.#dependencies.clock.after(timeoutMs, () => this.hurry());
    const stopped = [...this.#running.keys()].map((uuid) => this.#stop(uuid, 'the server stops', timeoutMs));
    const finished = await Promise.all(stopped);
    await this.#retiring.ended();
    deadline.cancel();
    return finished.every(Boolean) && !this.#hurry.signal.aborted;
  }

  /** From now on, transfers are cut as soon as their service is stopped. Transfers of services that are already stopping are cut now. */
  hurry(): void {
    this.#hurry.abort();
  }

  #commit(parts: RequestParts, added: readonly string[], sshServices: ReadonlyMap<string, SshService>): void {
    const before = this.#parts as RequestParts;
    this.#parts = parts;
    for (const uuid of fileServices(parts.config)) {
      if (added.includes(uuid)) continue;
      const { server, sessions } = this.#running.get(uuid) as Running;
      if (server instanceof HttpServer) server.replace(makeHttpService(this.#dependencies, this.#setup(uuid, parts, sessions)));
      else server.replace(sshServices.get(uuid) as SshService);
    }
    this.#retire(before.config, parts, added);
  }

  #keepsAddress(uuid: string, config: Config): boolean {
    const before = this.#running.get(uuid)?.server.service.options;
    const after = config.services[uuid] as FileServiceOptions;
    return before !== undefined && before.type === after.type && before.address === after.address && before.port === after.port;
  }

  // Retires removed services, and the old listeners of services whose address changed.
  #retire(before: Config, parts: RequestParts, moved: readonly string[]): void {
    const staying = fileServices(parts.config);
    for (const uuid of fileServices(before)) {
      const running = this.#running.get(uuid);
      if (!running || (staying.includes(uuid) && !moved.includes(uuid))) continue;
      this.#running.delete(uuid);
      this.#retired.add(running);
      // From here on, the new configuration determines which clients of the retired service are still valid.
      const { component, options } = running.server.service;
      running.server.follow(makeChain(this.#dependencies, parts, options, component));
      const draining = running.server.drain(parts.config.server.shutdown_timeout * 1000, this.#hurry.signal).then(() => {
        this.#retired.delete(running);
        if (!moved.includes(uuid)) running.sessions.close();
      });
      this.#retiring.add(draining);
    }
    for (const uuid of moved) {
      this.#running.set(uuid, this.#running.get(`${uuid}/next`) as Running);
      this.#running.delete(`${uuid}/next`);
    }
  }

  async #start(uuid: string, parts: RequestParts, key = uuid): Promise<void> {
    const { announce } = this.#dependencies;
    const options = parts.config.services[uuid] as FileServiceOptions;
    const component = serviceComponent(uuid, options);
    const sessions = this.#running.get(uuid)?.sessions ?? this.#makeSessions(uuid, parts);
    try {
      const server = await this.#makeServer(uuid, parts, sessions);
      await server.listen();
      this.#running.set(key, { server, sessions });
      const port = Number(new URL(server.url).port || (options.type === 'https' ? 443 : 80));
      announce(eventIds.serviceStarted, startData(uuid, options, port), component);
    } catch (error) {
      if (!this.#running.has(uuid)) sessions.close();
      announce(eventIds.serviceStartFailed, { ...startData(uuid, options), reason: (error as Error).message }, component);
      throw error;
    }
  }

  async #stop(key: string, reason: string, timeoutMs: number): Promise<boolean> {
    const running = this.#running.get(key);
    if (!running) return true;
    const inTime = await running.server.drain(timeoutMs, this.#hurry.signal);
    this.#running.delete(key);
    if (![...this.#running.values()].some((other) => other.sessions === running.sessions)) running.sessions.close();
    const { component, options } = running.server.service;
    this.#dependencies.announce(eventIds.serviceStopped, { name: component.name, type: options.type, reason }, component);
    return inTime;
  }

  // While a reload is adding a service, `#parts` does not contain that service yet.
  #makeSessions(uuid: string, parts: RequestParts): SessionStore {
    const { state, events } = this.#dependencies;
    const present = () => (this.#parts?.config.services[uuid] ? this.#parts : parts);
    return state.sessions(
      uuid,
      () => sessionLifetimes(present(), uuid),
      (timedOut) => {
        const account = this.#running.get(uuid)?.server.service.chain.inForce(timedOut);
        events.emit(timeoutEvent(present(), uuid, timedOut, account));
      },
    );
  }

  async #endSessions(accountUuid: string, except: Session | undefined): Promise<void> {
    const stores = new Set([...this.#running.values()].map(({ sessions }) => sessions));
    const outcomes = await Promise.allSettled([...stores].map((store) => store.endAll(accountUuid, except)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #makeServer(uuid: string, parts: RequestParts, sessions: SessionStore): Promise<HttpServer | SshServer> {
    if (parts.config.services[uuid]?.type !== 'ssh')
      return new HttpServer(makeHttpService(this.#dependencies, this.#setup(uuid, parts, sessions)));
    // Loaded on demand, so that a server without SSH starts faster.
    const { SshServer } = await import('../ssh/listener.ts');
    return new SshServer(await makeSshService(this.#dependencies, this.#setup(uuid, parts, sessions)));
  }

  #setup(uuid: string, parts: RequestParts, sessions: SessionStore): ServiceSetup {
    const endSessions = (accountUuid: string, except: Session | undefined) => this.#endSessions(accountUuid, except);
    return { uuid, parts, sessions, attempts: this.#attempts, handles: this.#handles, endSessions };
  }

  /** Checks that a running service can apply new options. @returns the new SSH service; undefined for HTTP @throws `unavailable` */
  async #checkReplaceable(uuid: string, parts: RequestParts): Promise<SshService | undefined> {
    const { server, sessions } = this.#running.get(uuid) as Running;
    if (server instanceof HttpServer) {
      server.checkReplaceable(parts.config.services[uuid] as HttpServiceOptions);
      return undefined;
    }
    const service = await makeSshService(this.#dependencies, this.#setup(uuid, parts, sessions));
    server.checkReplaceable(service);
    return service;
  }
}
