import type { RequiredCredentials } from '../accounts/credential-kinds.ts';
import type { AuthChain } from '../auth/auth-chain.ts';
import type { AddressBans } from '../auth/ban-list.ts';
import type { LoginAttempts } from '../auth/login-attempts.ts';
import type { SessionStore } from '../auth/sessions.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent } from '../events/event.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import type { HandleShares } from '../files/handle-shares.ts';
import type { Clock } from '../lib/clock.ts';
import type { Slots } from '../lib/concurrency/slots.ts';
import type { Log } from '../lib/log.ts';
import type { HostKey } from './host-keys.ts';
import type { SshServiceOptions } from './options.ts';
import type { SshObserver } from './ssh-observer.ts';

/**
 * One SSH service: what all its connections share. Replaced as a whole at a reload; connections keep the one that they began with, but for who
 * may be in and what may be done by then.
 */
export interface SshService {
  readonly uuid: string;
  readonly options: SshServiceOptions;
  readonly component: EventComponent;
  readonly chain: AuthChain;
  readonly sessions: SessionStore;
  readonly bans: AddressBans;
  readonly attempts: LoginAttempts;
  /** What the groups ask of their accounts. */
  readonly requiredCredentials: ReadonlySet<RequiredCredentials>;
  readonly hostKeys: readonly HostKey[];
  /** Whether an address is that of a proxy that is believed. */
  readonly isProxy: (address: string) => boolean;
  readonly files: FilesEnvironment;
  /** Those of the whole process. */
  readonly handles: HandleShares;
  readonly observe: SshObserver | undefined;
  readonly events: EventDispatcher;
  readonly clock: Clock;
  readonly log: Log;
  /** Those of the connections of all processes. */
  readonly places: Slots;
}
