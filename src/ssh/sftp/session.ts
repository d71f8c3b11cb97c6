import { finished } from 'node:stream';
import { compileExpression } from '../../lib/expression.ts';
import type { SshChannel, SshClient } from '../ssh-client.ts';
import { announcedExtensions, largestTransferBytes } from './extensions.ts';
import { BrokenFraming, MalformedFields, PacketSplitter, readRequest, type SftpRequest, statusCodes } from './packets.ts';
import { giveBuffer, takeBuffer } from './read-buffers.ts';
import { dataHeadBytes, putDataHead, statusIn, statusReply, versionReply } from './replies.ts';
import { type PathRequest, SftpRequests } from './requests.ts';
import { statusOf } from './status.ts';

/** Requests that are worked on at once, and bytes of their writes. */
const mostRequests = 64;
const mostWriteBytes = 8 * 1024 * 1024;

/** Bytes of replies that wait to be sent or are being made: above the first mark no request is begun until it is below the second. */
const highMarkBytes = 4 * 1024 * 1024;
const lowMarkBytes = 2 * 1024 * 1024;

/** Extensions that take their turn among the requests about paths. */
const extensionsInOrder = new Set(['posix-rename@openssh.com', 'lsetstat@openssh.com']);
/** Others that name a path. */
const extensionsWithPath = new Set(['statvfs@openssh.com', 'expand-path@openssh.com', 'check-file-name']);
const knownExtensions = new Set<string>([...announcedExtensions.map(([name]) => name), ...extensionsWithPath, 'check-file-handle']);
/** Those that read whole files: one after the other, as all at once would keep everybody else waiting. */
const longExtensions = new Set(['check-file', 'check-file-handle', 'check-file-name', 'copy-data']);

/** A request that takes some time, and gets one reply. */
type AnsweredRequest = Exclude<SftpRequest, { kind: 'init' | 'malformed' | 'unknown' }>;

/**
 * Serves the `sftp` subsystem on a channel. Resolves when the channel has ended and nothing of it is under way any more; the channel ends
 * early when `client.ended` is aborted. Never throws.
 */
export async function serveSftp(channel: SshChannel, client: SshClient): Promise<void> {
  const session = new SftpSession(channel, client);
  await session.run();
}

class SftpSession {
  readonly #channel: SshChannel;
  readonly #client: SshClient;
  readonly #requests: SftpRequests;
  readonly #splitter = new PacketSplitter();
  /** Requests about paths, one after the other. */
  #pathQueue: Promise<unknown> = Promise.resolve();
  #lastLong: Promise<unknown> = Promise.resolve();
  readonly #underWay = new Set<Promise<void>>();
  #requestCount = 0;
  #writeBytes = 0;
  /** Bytes that READs under way were promised. */
  #readBytes = 0;
  /** Replies to READs are sent in order: scp of OpenSSH cuts a file where it gets a later part first, and tells nobody. */
  #lastRead: Promise<void> | undefined;
  #isHeld = false;
  #hasFailed = false;
  /** Goes on with what the client has sent; called when there may be room again. */
  #goOn: () => void = () => {};

  constructor(channel: SshChannel, client: SshClient) {
    const names = client.options.temporary_names.map((pattern) => compileExpression(pattern));
    this.#channel = channel;
    this.#client = client;
    this.#requests = new SftpRequests(client, (name) => names.some((expression) => expression.matches(name)));
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
    // What went wrong is told by the reading below; a failure to write ends that as well.
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
      if (error instanceof BrokenFraming) this.#reportBadRequest(error.message);
      else if (!this.#isGone) this.#fail(error);
    }
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
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

  /** Takes in what the client sends, in the pieces that it comes in; a stream's iterator would copy them together. */
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
      // The end of what the client sends is not the end of what it is sent.
      finished(this.#channel, { writable: false }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Begins requests while there is room, in the middle of a chunk too: one chunk may hold a thousand READs. */
  #takeUp(): void {
    while (!this.#isGone) {
      if (!this.#hasRoom()) {
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

  /** Whether one more request may be begun. */
  #hasRoom(): boolean {
    if (this.#requestCount >= mostRequests || this.#writeBytes >= mostWriteBytes) return false;
    const waitingBytes = this.#channel.writableLength + this.#client.heldBytes() + this.#readBytes;
    if (waitingBytes > highMarkBytes) this.#isHeld = true;
    else if (waitingBytes < lowMarkBytes) this.#isHeld = false;
    return !this.#isHeld;
  }

  // The service stops: a client that has nothing open has nothing to lose. Its channel ends here, not all answer CHANNEL_CLOSE.
  #leaveIfIdle(): void {
    if (this.#client.leaving.aborted && this.#requestCount === 0 && !this.#requests.hasOpen) this.#channel.push(null);
  }

  #begin(request: SftpRequest): void {
    switch (request.kind) {
      case 'init':
        this.#send(versionReply(announcedExtensions));
        break;
      case 'malformed':
        // Without an ID there is no reply that the client would understand.
        if (request.id === undefined) throw new BrokenFraming(request.reason);
        this.#send(this.#malformedReply(request.id, request.reason));
        break;
      case 'unknown':
        this.#send(statusReply(request.id, statusCodes.unsupported, `Requests of type ${request.type} are not there.`));
        break;
      case 'read':
        this.#beginRead(request);
        break;
      case 'write':
        this.#writeBytes += request.lengthBytes;
        void this.#work(request, () => this.#write(request));
        break;
      case 'close':
      case 'fstat':
      case 'fsetstat':
      case 'readdir':
        void this.#work(request, () => this.#recorded(this.#requests.onHandle(request)));
        break;
      case 'extended':
        this.#beginExtended(request);
        break;
      default:
        this.#beginOnPath(request);
    }
  }

  #beginOnPath(request: PathRequest): void {
    void this.#work(request, () => this.#recorded(this.#inOrder(() => this.#requests.onPath(request))));
  }

  #beginExtended(request: Extract<SftpRequest, { kind: 'extended' }>): void {
    const { name } = request;
    if (extensionsInOrder.has(name)) void this.#work(request, () => this.#inOrder(() => this.#requests.onExtendedPath(request)));
    else {
      const action = () =>
        extensionsWithPath.has(name) ? this.#requests.onExtendedPath(request) : this.#requests.onExtendedHandle(request);
      void this.#work(request, longExtensions.has(name) ? () => this.#afterLong(action) : action);
    }
  }

  #afterLong<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#lastLong.then(action);
    this.#lastLong = result.catch(() => {});
    return result;
  }

  // What a reply tells of is in the journal before.
  async #recorded(replying: Promise<Buffer>): Promise<Buffer> {
    const reply = await replying;
    await this.#client.events.grouped();
    return reply;
  }

  #inOrder<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#pathQueue.then(action);
    this.#pathQueue = result.catch(() => {});
    return result;
  }

  #beginRead(request: Extract<SftpRequest, { kind: 'read' }>): void {
    const { id, handle, offset, length } = request;
    const wanted = Math.min(length, largestTransferBytes);
    this.#readBytes += wanted;
    const before = this.#lastRead;
    const packet = takeBuffer(dataHeadBytes + wanted);
    const action = async () => {
      try {
        const target = packet.subarray(dataHeadBytes, dataHeadBytes + wanted);
        const reading = Number.isSafeInteger(offset) ? this.#requests.opened(handle).read(offset, target) : 0;
        const bytes = typeof reading === 'number' ? reading : await reading;
        if (bytes === 0 && wanted > 0) return statusReply(id, statusCodes.eof, 'End of file.');
        putDataHead(packet, id, bytes);
        return packet.subarray(0, dataHeadBytes + bytes);
      } finally {
        await before;
        this.#readBytes -= wanted;
      }
    };
    this.#lastRead = this.#work(request, action, () => giveBuffer(packet));
  }

  async #write({ id, handle, offset, data, lengthBytes }: Extract<SftpRequest, { kind: 'write' }>): Promise<Buffer> {
    try {
      await this.#requests.opened(handle).write(offset, data);
      return statusReply(id, statusCodes.ok, 'Done.');
    } finally {
      this.#writeBytes -= lengthBytes;
    }
  }

  /** Answers a request with what an action gives, or with the status of its fault. */
  #work(request: AnsweredRequest, action: () => Promise<Buffer>, whenSent?: () => void): Promise<void> {
    this.#requestCount++;
    const working = this.#replyTo(request.id, action)
      .then((reply) => {
        this.#client.observe?.request(nameOf(request), statusIn(reply));
        this.#send(reply, whenSent);
      })
      .catch((reason) => this.#fail(reason))
      .finally(() => {
        this.#requestCount--;
        this.#underWay.delete(working);
        this.#goOn();
        this.#leaveIfIdle();
      });
    this.#underWay.add(working);
    return working;
  }

  async #replyTo(id: number, action: () => Promise<Buffer>): Promise<Buffer> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof MalformedFields) return this.#malformedReply(id, error.message);
      const { code, message } = statusOf(error, this.#client.log);
      return statusReply(id, code, message);
    }
  }

  #malformedReply(id: number, reason: string): Buffer {
    this.#reportBadRequest(reason);
    return statusReply(id, statusCodes.badMessage, `The request cannot be read: ${reason}.`);
  }

  #reportBadRequest(details: string): void {
    const { events, context, badRequests } = this.#client;
    const requests = badRequests.note();
    if (requests !== undefined) events.emit({ id: 30016, context, data: { details, requests } });
  }

  // A reply that cannot be sent, or an event that cannot be written.
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

function nameOf(request: AnsweredRequest): string {
  if (request.kind !== 'extended') return request.kind;
  // A client may ask for any: those that are not there are one.
  return knownExtensions.has(request.name) ? request.name : 'unknown extension';
}
