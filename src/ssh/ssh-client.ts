import type Server from 'ssh2/lib/server.js';
import type { Account } from '../accounts/account.ts';
import type { EventContext } from '../events/event.ts';
import { AccountFiles } from '../files/account-files.ts';
import { LockGuard } from '../files/locks/lock-guard.ts';
import { ServiceError } from '../lib/errors.ts';
import { ThrottledCount } from '../lib/rate-meter.ts';
import type { SshService } from './ssh-service.ts';
import { type ConnectionOrigin, eventContext } from './ssh-service.ts';

/** Events about requests that cannot be read come at most this often: they would fill the journal. */
const badRequestsEveryMs = 1000;

/** The negotiated algorithms, by the names of the protocol; mostly the same in both directions. */
export interface NegotiatedAlgorithms {
  readonly kex: string;
  readonly host_key: string;
  /** From the client to us, and from us to it. */
  readonly cipher_in: string;
  readonly cipher_out: string;
  /** Empty where the cipher authenticates by itself. */
  readonly mac_in: string;
  readonly mac_out: string;
}

/** The part of a client that only its connection knows. */
interface ConnectionState {
  readonly algorithms: NegotiatedAlgorithms;
  /** How the client names itself, such as `OpenSSH_9.2p1 Debian-2`. */
  readonly software: string;
  /** Aborted once the connection or the served channel is gone, so that nothing can be sent. */
  readonly ended: AbortSignal;
  /** Aborted when the service is about to stop: a channel ends as soon as no file is open in it. */
  readonly leaving: AbortSignal;
  /** Bytes waiting to be sent, on all channels together; infinite during a key exchange, when nothing is sent. */
  heldBytes(): number;
  /** Calls the listener each time that all of them were sent. @returns a function that ends this */
  onDrain(listener: () => void): () => void;
  /** The client did something: the connection is not idle. */
  noteActivity(): void;
  /** A request of SFTP was answered. */
  countRequest(): void;
}

/** A logged-in client, as its channels see it. Account, files and options are those of the running configuration. */
export interface SshClient extends ConnectionState, Pick<SshService, 'events' | 'options' | 'observe' | 'clock' | 'log' | 'handles'> {
  /** Names the connection in events and in the log. */
  readonly connectionId: string;
  /** @throws ServiceError `unauthorized` once the account has lost access, as `files` does */
  readonly account: Account;
  /** The account's files, with the events of this client; one object for all channels while the account stays the same. */
  readonly files: AccountFiles;
  /** For events that are about no file. */
  readonly context: EventContext;
  /** Limits the events about requests that cannot be read. */
  readonly badRequests: ThrottledCount;
}

/**
 * A channel as the transport gives it: reads return bytes from the client, writes go to it, `drain` means that they fit into the channel's
 * window. The client may send more only after its bytes are read, so a channel without a reader stands still.
 */
export type SshChannel = Server.Channel;

/** Read again at each use: both change with the configuration. */
interface Dependencies {
  current: () => SshService;
  accountInForce: () => Account | undefined;
}

/** The client that has logged in on a connection. @param accountAtLogin its account at that time */
export function makeClient(
  connection: ConnectionOrigin,
  accountAtLogin: Account,
  { current, accountInForce, ...state }: ConnectionState & Dependencies,
): SshClient {
  const { service, trace } = connection;
  const { events, observe, clock, log, handles } = service;
  const known = (account: Account) => {
    const context = eventContext(connection, account);
    return {
      account,
      context,
      files: new AccountFiles(account, service.files, context, new LockGuard(service.files.locks, account.uuid)),
    };
  };
  let latest = known(accountAtLogin);
  const present = () => {
    const account = accountInForce();
    if (!account) throw new ServiceError('unauthorized', 'The account was removed, disabled or changed.');
    if (account !== latest.account) {
      current().chain.welcome(account, connection.peer, trace);
      latest = known(account);
    }
    return latest;
  };
  return {
    connectionId: trace.id,
    get account() {
      return present().account;
    },
    get files() {
      return present().files;
    },
    // Events of an account that is gone are reported, too.
    get context() {
      return latest.context;
    },
    get options() {
      return current().options;
    },
    events,
    observe,
    clock,
    log,
    handles,
    badRequests: new ThrottledCount(clock, badRequestsEveryMs),
    ...state,
  };
}
