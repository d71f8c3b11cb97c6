import { finished } from 'node:stream';
import { eventIds } from '../../events/event-ids.ts';
import { compileExpression } from '../../lib/expression.ts';
import type { SshChannel, SshClient } from '../ssh-client.ts';
import { announcedExtensions, isKnown, maxTransferBytes } from './extensions.ts';
import { BrokenFraming, PacketSplitter } from './packets/packet-splitter.ts';
import { statusCodes } from './packets/packets.ts';
import { MalformedFields, readRequest, type SftpRequest } from './packets/read-request.ts';
import { dataHeadBytes, giveBuffer, putDataHead, statusIn, statusReply, takeBuffer, versionReply } from './packets/replies.ts';
import { SftpRequests } from './requests.ts';
import { toStatus } from './status.ts';

/** Maximum number of running requests, and of bytes that they write. */
const maxRequests = 64;
const maxWriteBytes = 8 * 1024 * 1024;

/**
 * Limits for the number of bytes in unsent replies, including the replies that running READ requests will make. Once the number exceeds the
 * high mark, no request begins until the number is below the low mark.
 */
const highMarkBytes = 4 * 1024 * 1024;
const lowMarkBytes = 2 * 1024 * 1024;

/** Counts the running requests of one session, and decides whether more may begin. */
class Workload {
  requests = 0;
  writeBytes = 0;
  /** Maximum number of bytes that the running READ requests will return. */
  readBytes = 0;
  #isHeld = false;

  /** Returns whether one more request may begin. @param unsentBytes size of the unsent replies */
  hasRoom(unsentBytes: number): boolean {
    if (this.requests >= maxRequests || this.writeBytes >= maxWriteBytes) return false;
    const waitingBytes = unsentBytes + this.readBytes;
    if (waitingBytes > highMarkBytes) this.#isHeld = true;
    else if (waitingBytes < lowMarkBytes) this.#isHeld = false;
    return !this.#isHeld;
  }
}

/** Matches the eight random characters that rclone adds before `.partial`. */
const rclonePart = /\.[0-9a-z]{8}(?=\.partial$)/;

/** Creates a function that returns the final name for a temporary name (`a.csv` for `a.csv.part`), and undefined for other names. */
function finalNames(patterns: readonly string[]): (name: string) => string | undefined {
  const known = patterns.map((pattern) => {
    const [, end, begin] = /^\*([^*?,[{|]+)$|^([^*?,[{|/]+)\*$/.exec(pattern) ?? [];
    return { expression: compileExpression(pattern, 'paths'), end, begin };
  });
  return (name) => {
    const found = known.find(({ expression }) => expression.matches(name));
    if (!found) return undefined;
    const { end, begin } = found;
    if (end !== undefined) return name.replace(rclonePart, '').slice(0, -end.length) || name;
    return (begin !== undefined && name.slice(begin.length)) || name;
  };
}

/** Reports an unreadable request with event `sshRequestUnreadable`. One event can stand for many requests. */
function reportBadRequest({ events, context, badRequests }: SshClient, details: string): void {
  const requests = badRequests.record();
  if (requests !== undefined) events.emit({ id: eventIds.sshRequestUnreadable, context, data: { details, requests } });
}

/** Reports an unreadable request. @returns the reply to the request */
function malformedReply(client: SshClient, id: number, reason: string): Buffer {
  reportBadRequest(client, reason);
  return statusReply(id, statusCodes.badMessage, `The request cannot be read: ${reason}.`);
}

function faultReply(client: SshClient, id: number, error: unknown): Buffer {
  if (error instanceof MalformedFields) return malformedReply(client, id, error.message);
  const { code, message } = toStatus(error, client);
  return statusReply(id, code, message);
}

/** A request that runs asynchronously and gets exactly one reply. */
type AnsweredRequest = Exclude<SftpRequest, { kind: 'init' | 'malformed' | 'unknown' }>;

/**
 * Serves the `sftp` subsystem on a channel. Resolves when the channel and all its requests have ended. Aborting `client.ended` ends the
 * channel early. Never throws.
 */
export function serveSftp(channel: SshChannel, client: SshClient): Promise<void> {
  return new SftpSession(channel, client).run();
}

class SftpSession {
  readonly #channel: SshChannel;
  readonly #client: SshClient;
  readonly #requests: SftpRequests;
  readonly #splitter = new PacketSplitter();
  readonly #workload = new Workload();
  /** Called when the last running request has ended. */
  #onIdle: () => void = () => {};
  /**
   * Resolves when the newest READ has its reply. READ replies are sent in order, because OpenSSH's scp silently truncates a file if a later
   * part arrives first.
   */
  #lastRead: Promise<void> | undefined;
  #hasFailed = false;
  /** Continues to handle received bytes; called when there could be room again. */
  #goOn: () => void = () => {};

  constructor(channel: SshChannel, client: SshClient) {
    const { temporary_names } = client.options;
    this.#channel = channel;
    this.#client = client;
    this.#requests = new SftpRequests(client, finalNames(temporary_names));
  }

  async run(): Promise<void> {
    const channel = this.#channel;
    const goOn = () => this.#goOn();
    const end = () => {
      channel.destroy();
      goOn();
    };
    const stopListening = this.#client.onDrain(goOn);
    channel.on('drain', goOn);
    // An error of the channel ends the session, because `#read` rejects with the error. A failed write ends the session, too.
    channel.on('error', goOn);
    channel.on('close', goOn);
    const leave = () => this.#leaveIfIdle();
    this.#client.ended.addEventListener('abort', end);
    this.#client.leaving.addEventListener('abort', leave);
    try {
      leave();
      if (this.#client.ended.aborted) end();
      await this.#read();
    } catch (error) {
      if (error instanceof BrokenFraming) reportBadRequest(this.#client, error.message);
      else if (!this.#isGone) this.#fail(error);
    }
    while (this.#workload.requests > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#requests.lose();
    stopListening();
    this.#client.ended.removeEventListener('abort', end);
    this.#client.leaving.removeEventListener('abort', leave);
    if (this.#isGone) return;
    channel.exit(0);
    channel.close();
  }

  get #isGone(): boolean {
    return this.#hasFailed || this.#client.ended.aborted || this.#channel.destroyed;
  }

  /** Reads the client's bytes in the chunks in which they arrive. The stream's iterator would copy them into one buffer. */
  #read(): Promise<void> {
    return new Promise((resolve, reject) => {
      const goOn = () => {
        try {
          if (this.#isGone) resolve();
          else this.#takeUp();
        } catch (error) {
          this.#goOn = resolve;
          this.#channel.pause();
          reject(error);
        }
      };
      this.#goOn = goOn;
      this.#channel.on('data', (chunk: Buffer) => {
        this.#client.noteActivity();
        this.#splitter.push(chunk);
        this.#goOn();
      });
      // Wait only for the end of the readable side: a client that has stopped sending can still receive replies.
      finished(this.#channel, { writable: false }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Begins requests while there is room. The room is checked before each request, because one chunk may contain a thousand READs. */
  #takeUp(): void {
    while (!this.#isGone) {
      if (!this.#workload.hasRoom(this.#channel.writableLength + this.#client.heldBytes())) {
        this.#channel.pause();
        return;
      }
      const packet = this.#splitter.next();
      if (!packet) {
        if (this.#channel.isPaused()) this.#channel.resume();
        return;
      }
      this.#begin(readRequest(packet));
    }
  }

  // When the service stops, a channel without open files is ended, because this interrupts no transfer. The session acts as if the client
  // had sent EOF. It does not send CHANNEL_CLOSE first, because some clients do not answer that message.
  #leaveIfIdle(): void {
    if (this.#client.leaving.aborted && this.#workload.requests === 0 && !this.#requests.hasOpen) this.#channel.push(null);
  }

  #begin(request: SftpRequest): void {
    switch (request.kind) {
      case 'init':
        this.#send(versionReply(announcedExtensions));
        break;
      case 'malformed':
        // Without an ID, the client could not assign the reply to a request.
        if (request.id === undefined) throw new BrokenFraming(request.reason);
        this.#send(malformedReply(this.#client, request.id, request.reason));
        break;
      case 'unknown':
        this.#send(statusReply(request.id, statusCodes.unsupported, `Requests of type ${request.type} are not supported.`));
        break;
      case 'read':
        this.#beginRead(request);
        break;
      case 'write':
        this.#workload.writeBytes += request.lengthBytes;
        void this.#work(request, () => this.#write(request));
        break;
      case 'close':
      case 'fstat':
      case 'fsetstat':
      case 'readdir':
        void this.#work(request, () => this.#recorded(this.#requests.onHandle(request)));
        break;
      case 'extended':
        void this.#work(request, () => this.#requests.onExtension(request));
        break;
      default:
        void this.#work(request, () => this.#recorded(this.#requests.onPath(request)));
    }
  }

  // The events of a request must be in the journal before the client gets the reply.
  async #recorded(replying: Promise<Buffer>): Promise<Buffer> {
    const reply = await replying;
    const recording = this.#client.events.grouped();
    if (recording) await recording;
    return reply;
  }

  #beginRead(request: Extract<SftpRequest, { kind: 'read' }>): void {
    const { id, handle, offset, length } = request;
    const wanted = Math.min(length, maxTransferBytes);
    this.#workload.readBytes += wanted;
    const before = this.#lastRead;
    const packet = takeBuffer(dataHeadBytes + wanted);
    const action = async () => {
      try {
        const target = packet.subarray(dataHeadBytes, dataHeadBytes + wanted);
        const bytes = await this.#requests.onOpened(handle, (opened) => (Number.isSafeInteger(offset) ? opened.read(offset, target) : 0));
        if (bytes === 0 && wanted > 0) return statusReply(id, statusCodes.eof, 'End of file.');
        putDataHead(packet, id, bytes);
        return packet.subarray(0, dataHeadBytes + bytes);
      } finally {
        await before;
        this.#workload.readBytes -= wanted;
      }
    };
    this.#lastRead = this.#work(request, action, () => giveBuffer(packet));
  }

  async #write({ id, handle, offset, data, lengthBytes }: Extract<SftpRequest, { kind: 'write' }>): Promise<Buffer> {
    try {
      await this.#requests.onOpened(handle, (opened) => opened.write(offset, data));
      return statusReply(id, statusCodes.ok, 'Done.');
    } finally {
      this.#workload.writeBytes -= lengthBytes;
    }
  }

  /** Answers a request with the result of an action, or with the status of its error. */
  async #work(request: AnsweredRequest, action: () => Promise<Buffer>, whenSent?: () => void): Promise<void> {
    this.#workload.requests++;
    try {
      const reply = await this.#replyTo(request.id, action);
      this.#client.countRequest();
      this.#client.observe?.request(requestName(request), statusIn(reply));
      this.#send(reply, whenSent);
    } catch (reason) {
      this.#fail(reason);
    }
    this.#workload.requests--;
    if (this.#workload.requests === 0) this.#onIdle();
    this.#goOn();
    this.#leaveIfIdle();
  }

  async #replyTo(id: number, action: () => Promise<Buffer>): Promise<Buffer> {
    try {
      return await action();
    } catch (error) {
      return faultReply(this.#client, id, error);
    }
  }

  // Ends the channel, because a reply cannot be sent or an event cannot be written.
  #fail(reason: unknown): void {
    const { log, connectionId } = this.#client;
    log.warn('an SFTP channel ended early', { connection: connectionId, reason });
    this.#hasFailed = true;
    this.#channel.destroy();
  }

  #send(reply: Buffer, whenSent?: () => void): void {
    if (this.#isGone) return;
    this.#channel.write(reply, whenSent);
    this.#client.noteActivity();
  }
}

function requestName(request: AnsweredRequest): string {
  // Clients can request any extension, so all unknown extensions share one name.
  return request.kind === 'extended' ? (isKnown(request.name) ? request.name : 'unknown extension') : request.kind;
}
