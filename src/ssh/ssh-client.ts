import type Server from 'ssh2/lib/server.js';
import type { Account } from '../accounts/account.ts';
import type { EventContext } from '../events/event.ts';
import { AccountFiles } from '../files/account-files.ts';
import { LockGuard } from '../files/locks/lock-guard.ts';
import { ServiceError } from '../lib/errors.ts';
import { ThrottledCount } from '../lib/rate-meter.ts';
import { type ConnectionOrigin, eventContext, type SshService } from './ssh-service.ts';

/** Minimum interval, in milliseconds, between events about requests that cannot be read. More frequent events could fill the journal. */
const badRequestsEveryMs = 1000;

/** The negotiated algorithms by the protocol's names. Usually they are the same in both directions. */
export interface NegotiatedAlgorithms {
  readonly kex: string;
  readonly host_key: string;
  /** Ciphers: `in` is from the client to the server, `out` from the server to the client. */
  readonly cipher_in: string;
  readonly cipher_out: string;
  /** Empty if the cipher already authenticates its data. */
  readonly mac_in: string;
  readonly mac_out: string;
}

/** The part of a client's state that only the connection knows. */
interface ConnectionState {
  readonly algorithms: NegotiatedAlgorithms;
  /** The client's software, as it identifies itself, such as `OpenSSH_9.2p1 Debian-2`. */
  readonly software: string;
  /** Aborted when the connection or the served channel has ended. From then on, nothing can be sent. */
  readonly ended: AbortSignal;
  /** Aborted when the service is about to stop. A channel then ends as soon as it has no open file. */
  readonly leaving: AbortSignal;
  /** Number of bytes that wait to be sent, on all channels together. It is infinite during a key exchange, because nothing is sent then. */
  heldBytes(): number;
  /** Calls the listener each time all waiting bytes were sent. @returns a function that removes the listener */
  onDrain(listener: () => void): () => void;
  /** Called when the client did something, so that the connection does not count as idle. */
  noteActivity(): void;
  /** Called when an SFTP request was answered. */
  countRequest(): void;
}

/** A logged-in client, as its channels see it. Account, files and options come from the current configuration. */
export interface SshClient extends ConnectionState, Pick<SshService, 'events' | 'options' | 'observe' | 'clock' | 'log' | 'handles'> {
  /** The ID of the connection in events and in the log. */
  readonly connectionId: string;
  /** @throws ServiceError `unauthorized` if the account has lost access; `files` throws it, too */
  readonly account: Account;
  /** The account's files, which emit the events of this client. All channels use one object while the account stays the same. */
  readonly files: AccountFiles;
  /** The context of events that do not refer to a file. */
  readonly context: EventContext;
  /** Limits how often unreadable requests are reported. */
  readonly badRequests: ThrottledCount;
}

/**
 * A channel of ssh2. Reads return bytes from the client, and writes send bytes to the client. `drain` means that the written bytes fit into
 * the channel's window. The client may send more only after its bytes were read, so a channel without a reader stops.
 */
export type SshChannel = Server.Channel;

/** Functions that return the current state. They are called at each use, because service and account change with the configuration. */
interface Dependencies {
  current: () => SshService;
  accountInForce: () => Account | undefined;
}

/** Creates the client that has logged in on a connection. @param accountAtLogin the client's account at the time of the login */
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
    // Events are still reported after the account has lost access.
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
