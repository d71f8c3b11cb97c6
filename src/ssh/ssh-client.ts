import type { Duplex, Writable } from 'node:stream';
import type { Account } from '../accounts/account.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventContext } from '../events/event.ts';
import { AccountFiles } from '../files/account-files.ts';
import type { HandleShares } from '../files/handle-shares.ts';
import { LockGuard, noTokens } from '../files/locks/lock-guard.ts';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import { ThrottledCount } from '../lib/rate-meter.ts';
import type { SshServiceOptions } from './options.ts';
import type { SshObserver, SshService } from './ssh-service.ts';
import { type ConnectionOrigin, contextOf } from './ssh-service.ts';

/** Requests that cannot be read are told of at most so often: they would fill the journal. */
const badRequestsEveryMs = 1000;

/** What both sides agreed on, by the names of the protocol; the same in both directions unless the client wanted otherwise. */
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

/** A client that has logged in, for those who serve its channels. */
export interface SshClient {
  /** Names the connection in events and in the log. */
  readonly connectionId: string;
  /** As it is now, like all that follows from it. @throws ServiceError `unauthorized` for who may be in no more */
  readonly account: Account;
  /** The account's files, with the events of this client; the same object for all channels of the connection while the account is the same. */
  readonly files: AccountFiles;
  /** For events that are about no file. */
  readonly context: EventContext;
  readonly events: EventDispatcher;
  /** Options of the service as it is now. */
  readonly options: SshServiceOptions;
  readonly algorithms: NegotiatedAlgorithms;
  /** What the client calls itself, such as `OpenSSH_9.2p1 Debian-2`. */
  readonly software: string;
  readonly observe: SshObserver | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Places for what the account opens. */
  readonly handles: HandleShares;
  /** Requests that cannot be read. */
  readonly badRequests: ThrottledCount;
  /** Aborted once the connection is gone, or the channel that is served: nothing can be sent any more. */
  readonly ended: AbortSignal;
  /** Aborted when the service is about to stop: a channel ends as soon as no file is open in it. */
  readonly leaving: AbortSignal;
  /** Bytes that wait to be sent, of all channels together; infinite while keys are exchanged, when nothing is sent. */
  heldBytes(): number;
  /** Has the listener called each time that all of them were sent. @returns ends that */
  onDrain(listener: () => void): () => void;
  /** The client did something: the connection is not idle. */
  noteActivity(): void;
  /** A request of SFTP was answered. */
  countRequest(): void;
}

/**
 * A channel as the transport gives it: reads are what the client sent, writes go to it, `drain` tells that the channel's window took them.
 * Bytes that are not read are not granted to the client again, so a channel that is not read from stands still.
 */
export interface SshChannel extends Duplex {
  /** What a command says that is not its result. */
  readonly stderr: Writable;
  /** Tells how a command ended; before `end`. */
  exit(status: number): void;
  /** Ends the channel in both directions. */
  close(): void;
}

/** What of a client only its connection knows. */
type OfConnection = Pick<
  SshClient,
  'algorithms' | 'software' | 'ended' | 'leaving' | 'heldBytes' | 'onDrain' | 'noteActivity' | 'countRequest'
>;

/** What changes with the configuration. */
interface Dependencies {
  current: () => SshService;
  accountInForce: () => Account | undefined;
}

/**
 * The client that has logged in on a connection.
 *
 * @param accountAtLogin as it was by then
 */
export function clientOf(
  connection: ConnectionOrigin,
  accountAtLogin: Account,
  { current, accountInForce, ...ofConnection }: OfConnection & Dependencies,
): SshClient {
  const { service, trace } = connection;
  const { events, observe, clock, log, handles } = service;
  const known = (account: Account) => {
    const context = contextOf(connection, account);
    return {
      account,
      context,
      files: new AccountFiles(account, service.files, context, new LockGuard(service.files.locks, account.uuid, noTokens)),
    };
  };
  let latest = known(accountAtLogin);
  const present = () => {
    const account = accountInForce();
    if (!account) throw new ServiceError('unauthorized', 'The account is none any more.');
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
    // Events of who is no more are told, too.
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
    ...ofConnection,
  };
}
