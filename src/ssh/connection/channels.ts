import type { EventEmitter } from 'node:events';
import type Server from 'ssh2/lib/server.js';
import { eventIds } from '../../events/event-ids.ts';
import { catching } from '../../lib/catching.ts';
import { PendingWork } from '../../lib/concurrency/pending-work.ts';
import { answerCommand } from '../exec.ts';
import { serveSftp } from '../sftp/session.ts';
import type { SshClient } from '../ssh-client.ts';

/** Accepts the channel of a session; returns undefined if the session already has a channel or has ended. */
type Take = () => Server.Channel | undefined;
/** Refuses a request. It is undefined if the client wants no answer. */
type Refuse = (() => void) | undefined;

/** The channels of one connection. Serves the `sftp` subsystem and answers commands. */
export class Channels {
  readonly #client: SshClient;
  readonly #onFault: (error: unknown) => void;
  /** Number of open channels, including those that are not served yet. */
  count = 0;
  /** The served channels. A channel stays here until the ends of its transfers have been reported. */
  readonly underWay = new PendingWork();
  /** Called when the last channel has closed. */
  onEmpty: () => void = () => {};

  constructor(client: SshClient, onFault: (error: unknown) => void) {
    this.#client = client;
    this.#onFault = onFault;
  }

  /** Opens a channel, unless the connection has too many. */
  open(accept: () => Server.Session, reject: () => void): void {
    if (this.count >= this.#client.options.maximum_channels) {
      reject();
      return;
    }
    const session = accept();
    this.count++;
    let isServed = false;
    // The client may close the channel while replies are still waiting to be sent.
    const closed = new AbortController();
    const close = () => closed.abort();
    this.#client.ended.addEventListener('abort', close);
    // Inherit the members instead of copying them, because their values change with the configuration.
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
    // The service must not wait for idle channels when it stops.
    this.#client.leaving.addEventListener('abort', end);
    const serve = (serving: Promise<void>) => {
      isServed = true;
      this.underWay.add(
        serving.finally(() => {
          isServed = false;
          end();
        }),
      );
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
    const { events, context, software: client_version, algorithms, clock } = client;
    const beganMs = clock.monotonicMs();
    try {
      events.emit({ id: eventIds.sftpSessionStarted, context, data: { client_version, algorithms } });
      await serveSftp(quiet(channel), client);
      const duration = Math.round(clock.monotonicMs() - beganMs) / 1000;
      events.emit({ id: eventIds.sftpSessionEnded, context, data: { client_version, duration } });
    } catch (error) {
      this.#onFault(error);
    }
  }

  #on<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: (...args: Args) => void): void {
    listenTo(emitter, event, listener, this.#onFault);
  }
}

/** Adds a listener. If it throws, the error goes to `onFault`; otherwise it would end the process. */
export function listenTo<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  listener: (...args: Args) => void,
  onFault: (error: unknown) => void,
): void {
  emitter.on(event, catching(listener as (...args: unknown[]) => void, onFault));
}

/** Ignores errors of a channel. The end of the channel already reports that it broke. */
function quiet(channel: Server.Channel): Server.Channel {
  return channel.on('error', () => {});
}
