import { AuthChain } from '../auth/auth-chain.ts';
import type { LoginAttempts } from '../auth/login-attempts.ts';
import type { SessionStore } from '../auth/sessions.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent } from '../events/event.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import type { HandleShares } from '../files/handle-shares.ts';
import type { TicketKeys } from '../http/connection/ticket-keys.ts';
import type { HttpServiceOptions } from '../http/options.ts';
import type { HttpService } from '../http/request/exchange.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { SshServiceOptions } from '../ssh/options.ts';
import { requiredByGroups } from '../ssh/required-credentials.ts';
import type { SshService } from '../ssh/ssh-service.ts';
import { type Announce, componentOf } from './listeners.ts';
import type { Monitoring } from './monitoring.ts';
import { type FileServiceOptions, methodsOf, type RequestParts } from './parts.ts';
import type { State } from './state.ts';

/** What the services of one process share. */
export interface ListenerDependencies {
  events: EventDispatcher;
  files: FilesEnvironment;
  state: State;
  monitoring: Monitoring;
  announce: Announce;
  recentChanges: HttpService['recentChanges'];
  clock: Clock;
  log: Log;
  /** Keys of TLS session tickets. */
  tickets: TicketKeys;
  /** Whether this process renews them, and no supervisor. */
  renewsTickets: boolean;
  /** For host keys of SSH services. */
  dataFolderPath: string;
}

/** What a service is made of, beside its options. */
export interface ServiceSetup {
  uuid: string;
  parts: RequestParts;
  sessions: SessionStore;
  attempts: LoginAttempts;
  handles: HandleShares;
  endSessions: HttpService['endSessions'];
}

/** An HTTP or HTTPS service as its options want it. */
export function httpService(dependencies: ListenerDependencies, setup: ServiceSetup): HttpService {
  const { uuid, parts, endSessions } = setup;
  const options = parts.config.services[uuid] as HttpServiceOptions;
  return {
    ...ofEveryKind(dependencies, setup, options),
    options,
    endSessions,
    recentChanges: dependencies.recentChanges,
    tickets: dependencies.tickets,
    proxies: {
      header: options.client_forwarded_header,
      // Node.js 20 takes as long to prepare its expression of IPv6 addresses as for most of a listener.
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

/** An SSH service as its options want it. @throws ServiceError `unavailable` when its host keys cannot be used */
export async function sshService(dependencies: ListenerDependencies, setup: ServiceSetup): Promise<SshService> {
  const { uuid, parts } = setup;
  const options = parts.config.services[uuid] as SshServiceOptions;
  // Loaded only where it is wanted: other servers start without it.
  const { loadHostKeys: hostKeysOf } = await import('../ssh/host-keys.ts');
  return {
    ...ofEveryKind(dependencies, setup, options),
    options,
    requiredCredentials: requiredByGroups(parts.groups.values()),
    hostKeys: await hostKeysOf(options.host_key_paths, dependencies.dataFolderPath),
    isProxy: compileAddressRanges(options.trusted_proxies),
    handles: setup.handles,
    observe: dependencies.monitoring.sshObserver(uuid, parts.config),
    slots: dependencies.state.places,
  };
}

/** The methods that a service asks who its clients are. */
export function chainOf(events: EventDispatcher, parts: RequestParts, options: FileServiceOptions, component: EventComponent): AuthChain {
  return new AuthChain(methodsOf(parts, options), parts.groups, events, component);
}

function ofEveryKind(
  { events, files, state, clock, log }: ListenerDependencies,
  { uuid, parts, sessions, attempts }: ServiceSetup,
  options: FileServiceOptions,
) {
  const component = componentOf(uuid, options);
  const chain = chainOf(events, parts, options, component);
  return { uuid, component, chain, sessions, attempts, bans: state.bans, files, events, clock, log };
}
