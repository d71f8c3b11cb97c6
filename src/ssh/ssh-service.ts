import type { Account } from '../accounts/account.ts';
import type { RequiredCredentials } from '../accounts/credential-kinds.ts';
import { type AuthChain, eventAccount } from '../auth/auth-chain.ts';
import type { AddressBans } from '../auth/ban-list.ts';
import type { LoginAttempts } from '../auth/login-attempts.ts';
import type { SessionStore } from '../auth/sessions.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent, EventContext, EventPeer, RequestTrace } from '../events/event.ts';
import { peerAccount } from '../events/event-factory.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import type { HandleShares } from '../files/handle-shares.ts';
import type { Clock } from '../lib/clock.ts';
import type { Slots } from '../lib/concurrency/slots.ts';
import type { Log } from '../lib/log.ts';
import type { HostKey } from './host-keys.ts';
import type { SshServiceOptions } from './options.ts';

/** The origin of a connection's events. */
export interface ConnectionOrigin {
  readonly service: SshService;
  readonly peer: EventPeer;
  /** Names the connection in events and in the log. */
  readonly trace: RequestTrace;
}

/** The context of a connection's event. @param account undefined until the login */
export function eventContext({ service, peer, trace }: ConnectionOrigin, account?: Account): EventContext {
  const from = { component: service.component, request: trace };
  return account
    ? { account: eventAccount(account, peer), ...from, group: account.groupUuid, ...account.grant }
    : { account: peerAccount(peer), ...from };
}

/** Observes an SSH service for the metrics. */
export interface SshObserver {
  /** Keys were exchanged for the first time on a connection, or could not be. */
  handshake(outcome: 'done' | 'failed'): void;
  /** A client has logged in. */
  login(): void;
  /**
   * A request of SFTP was answered.
   *
   * @param request its name as in the protocol, or that of the extension
   * @param status of the reply; 0 for replies of other types
   */
  request(request: string, status: number): void;
}

/**
 * One SSH service, shared by its connections. A reload replaces it as a whole; connections keep theirs, apart from accounts, rights and
 * options.
 */
export interface SshService {
  readonly uuid: string;
  readonly options: SshServiceOptions;
  readonly component: EventComponent;
  readonly chain: AuthChain;
  readonly sessions: SessionStore;
  readonly bans: AddressBans;
  readonly attempts: LoginAttempts;
  readonly requiredCredentials: ReadonlySet<RequiredCredentials>;
  readonly hostKeys: readonly HostKey[];
  /** Whether an address is that of a trusted proxy. */
  readonly isProxy: (address: string) => boolean;
  readonly files: FilesEnvironment;
  /** Those of the whole process. */
  readonly handles: HandleShares;
  readonly observe: SshObserver | undefined;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** Slots of connections, shared by all nodes. */
  readonly slots: Slots;
}
