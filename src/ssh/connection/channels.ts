import type { EventEmitter } from 'node:events';
import type Server from 'ssh2/lib/server.js';
import { eventIds } from '../../events/event-ids.ts';
import { catching } from '../../lib/catching.ts';
import { PendingWork } from '../../lib/concurrency/pending-work.ts';
import { answerCommand } from '../exec.ts';
import { serveSftp } from '../sftp/session.ts';
import type { SshClient } from '../ssh-client.ts';

/** Takes a session's channel; undefined when it has one already, or has ended. */
type Take = () => Server.Channel | undefined;
/** Absent where the client wants no answer. */
type Refuse = (() => void) | undefined;

/** The channels of one connection: the `sftp` subsystem is served, and commands are answered. */
export class Channels {
  readonly #client: SshClient;
  readonly #onFault: (error: unknown) => void;
  /** Channels that are open, served or not. */
  count = 0;
  /** What is served on them, until the ends of all transfers are told. */
  readonly underWay = new PendingWork();
  /** Told when the last one has ended. */
  onEmpty: () => void = () => {};

  constructor(client: SshClient, onFault: (error: unknown) => void) {
    this.#client = client;
    this.#onFault = onFault;
  }

  /** Opens a channel, as long as the connection has not too many. */
  open(accept: () => Server.Session, reject: () => void): void {
    if (this.count >= this.#client.options.maximum_channels) {
      reject();
      return;
    }
    const session = accept();
    this.count++;
    let isServed = false;
    // The client may close it while replies wait to be sent: nobody will read on.
    const closed = new AbortController();
    const close = () => closed.abort();
    this.#client.ended.addEventListener('abort', close);
    // Not a copy: what it has changes with the configuration.
    const client: SshClient = Object.create(this.#client, { ended: { value: closed.signal } });
    let isClosed = false;
    let isCounted = true;
    const end = () => {
      if (!isCounted || isServed || !(isClosed || this.#client.leaving.aborted)) return;
      isCounted = false;
      this.#client.ended.removeEventListener('abort', close);
      this.#client.leaving.removeEventListener('abort', end);
      if (--this.count === 0) this.onEmpty();
    };
    // The service stops: a channel that nothing runs on is not waited for.
    this.#client.leaving.addEventListener('abort', end);
    const serve = (serving: Promise<void>) => {
      isServed = true;
      const ended = serving.finally(() => {
        isServed = false;
        end();
      });
      this.underWay.add(ended);
    };
    const answerOn = (channel: Server.Channel | undefined, refuse: Refuse, command: string | undefined) => {
      if (!channel) return refuse?.();
      serve(answerCommand(quiet(channel), client, command).catch((error) => this.#onFault(error)));
    };
    this.#on(session, 'subsystem', (take: Take, refuse: Refuse, { name }: { name: string }) => {
      const channel = name === 'sftp' ? take() : undefined;
      if (!channel) return refuse?.();
      serve(this.#serve(channel, client));
    });
    this.#on(session, 'exec', (take: Take, refuse: Refuse, { command }: { command: string }) => answerOn(take(), refuse, command));
    this.#on(session, 'shell', (take: Take, refuse: Refuse) => answerOn(take(), refuse, undefined));
    this.#on(session, 'close', () => {
      isClosed = true;
      close();
      end();
    });
  }

  async #serve(channel: Server.Channel, client: SshClient): Promise<void> {
    const { events, context, software, algorithms, clock } = client;
    const beganMs = clock.monotonicMs();
    try {
      events.emit({ id: eventIds.sftpSessionStarted, context, data: { client_version: software, algorithms } });
      await serveSftp(quiet(channel), client);
      events.emit({
        id: eventIds.sftpSessionEnded,
        context,
        data: { client_version: software, duration: Math.round(clock.monotonicMs() - beganMs) / 1000 },
      });
    } catch (error) {
      this.#onFault(error);
    }
  }

  #on<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: (...args: Args) => void): void {
    emitter.on(
      event,
      catching(listener as (...args: unknown[]) => void, (error) => this.#onFault(error)),
    );
  }
}

/** What breaks a channel is told by its end. */
function quiet(channel: Server.Channel): Server.Channel {
  return channel.on('error', () => {});
}
