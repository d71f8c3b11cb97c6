import { createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type Server from 'ssh2/lib/server.js';
import { eventIds } from '../../events/event-ids.ts';
import { catching } from '../../lib/catching.ts';
import { PendingWork } from '../../lib/concurrency/pending-work.ts';
import { readContent } from '../sftp/extensions.ts';
import { OpenFile } from '../sftp/open-file.ts';
import { requestedPath } from '../sftp/request-operations.ts';
import { serveSftp } from '../sftp/session.ts';
import { toStatus } from '../sftp/status.ts';
import type { SshChannel, SshClient } from '../ssh-client.ts';

/** Accepts the channel of a session; returns undefined if the session already has a channel or has ended. */
type Take = () => Server.Channel | undefined;
/** Refuses a request; undefined if the client wants no answer. */
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
    // Work for a channel must also end if the client closes the channel while replies still wait to be sent.
    const closed = new AbortController();
    const close = () => closed.abort();
    this.#client.ended.addEventListener('abort', close);
    // The members are inherited, not copied, because their values change with the configuration.
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

/** Adds a listener. If the listener throws, the error is passed to `onFault`, because it would otherwise end the process. */
export function listenTo<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  listener: (...args: Args) => void,
  onFault: (error: unknown) => void,
): void {
  emitter.on(event, catching(listener as (...args: unknown[]) => void, onFault));
}

/** Ignores errors of a channel. The end of the channel already reports that the channel broke. */
function quiet(channel: Server.Channel): Server.Channel {
  return channel.on('error', () => {});
}

const hashes: Readonly<Record<string, string>> = { md5sum: 'md5', sha1sum: 'sha1', sha256sum: 'sha256' };

/** The command with which rclone detects the shell. A Unix shell would give the same answer. */
const shellQuestion = ['echo', '${ShellId}%ComSpec%'];
const shellAnswer = '%ComSpec%\n';

/**
 * Answers a command. If `checksum_commands` is set, returns the checksum of one file in the format of coreutils, and answers
 * `shellQuestion`. Refuses any other command with exit status 1. Never rejects.
 *
 * @param command undefined if the client requests a shell
 */
async function answerCommand(channel: SshChannel, client: SshClient, command: string | undefined): Promise<void> {
  const { status, text } = await answer(client, command);
  (status === 0 ? channel : channel.stderr).write(text);
  channel.exit(status);
  channel.end();
}

async function answer(client: SshClient, command: string | undefined): Promise<{ status: number; text: string }> {
  const words = command === undefined || !client.options.checksum_commands ? undefined : shellWords(command);
  if (words?.join(' ') === shellQuestion.join(' ')) return { status: 0, text: shellAnswer };
  const [name = '', ...paths] = words ?? [];
  const algorithm = hashes[name];
  if (algorithm === undefined || paths.length > 1) return { status: 1, text: refusal(client) };
  try {
    return { status: 0, text: await checksumLine(client, algorithm, paths[0]) };
  } catch (error) {
    return { status: 1, text: `${name}: ${toStatus(error, client).message}\n` };
  }
}

function refusal({ options }: SshClient): string {
  const others = options.checksum_commands ? ` The only exceptions are ${Object.keys(hashes).join(', ')} of one file.` : '';
  return `This service offers no commands, only SFTP. In OpenSSH 9 or newer, scp uses SFTP; in older versions, use scp -s.${others}\r\n`;
}

/** Returns the checksum of a file. Without a path, returns the checksum of empty content, by which rclone detects the command. */
async function checksumLine(client: SshClient, algorithm: string, path: string | undefined): Promise<string> {
  const hash = createHash(algorithm);
  if (path === undefined) return `${hash.digest('hex')}  -\n`;
  const file = new OpenFile(client.files.forRequest({ requested_path: path, mode: 'read' }), requestedPath(path));
  try {
    for await (const piece of readContent(file, 0, 0, client.ended)) {
      client.noteActivity();
      hash.update(piece);
    }
  } finally {
    await (client.ended.aborted ? file.lose() : file.close());
  }
  // coreutils puts a backslash before a line in which it escaped characters of the name.
  const name = path.replace(/[\\\n\r]/g, (character) => ({ '\\': '\\\\', '\n': '\\n' })[character] ?? '\\r');
  return `${name === path ? '' : '\\'}${hash.digest('hex')}  ${name}\n`;
}

/**
 * Splits a command into words as a Unix shell does. It handles `'`, `"` and backslashes, but expands nothing.
 *
 * @returns undefined if a quotation is not closed, or if a shell would do more than run one command
 */
export function shellWords(command: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  const pattern = /'([^']*)'|"((?:[^"\\`]|\\[\s\S])*)"|\\([\s\S])|([^\S\n]+)|([^\s'"\\;&|<>()`\n*?[\]])/gy;
  while (pattern.lastIndex < command.length) {
    const match = pattern.exec(command);
    if (!match) return undefined;
    const [, single, double, escaped, space, plain] = match;
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '');
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
