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

/** Identifies the connection in which an event happened. */
export interface ConnectionOrigin {
  readonly service: SshService;
  readonly peer: EventPeer;
  /** The ID of the connection in events and in the log. */
  readonly trace: RequestTrace;
}

/** Returns the context of a connection's event. @param account undefined before the login */
export function eventContext({ service, peer, trace }: ConnectionOrigin, account?: Account): EventContext {
  const from = { component: service.component, request: trace };
  return account
    ? { account: eventAccount(account, peer), ...from, group: account.groupUuid, ...account.grant }
    : { account: peerAccount(peer), ...from };
}

/** Observes an SSH service for the metrics. */
export interface SshObserver {
  /** Called when the first key exchange of a connection succeeded or failed. */
  handshake(outcome: 'done' | 'failed'): void;
  /** Called when a client has logged in. */
  login(): void;
  /**
   * Called when an SFTP request was answered.
   *
   * @param request name of the request in the protocol, or name of the extension
   * @param status status of the reply; 0 for replies of other types
   */
  request(request: string, status: number): void;
}

/**
 * One SSH service, shared by its connections. A reload replaces the whole object. Existing connections keep the old object, but use the
 * accounts, rights and options of the new object.
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
  readonly isProxy: (address: string) => boolean;
  readonly files: FilesEnvironment;
  /** Limits how many files and folders each account may have open in this process. */
  readonly handles: HandleShares;
  readonly observe: SshObserver | undefined;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** Slots of connections, which count only the connections of this process. */
  readonly slots: Slots;
}
