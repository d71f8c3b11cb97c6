import type { ServerResponse } from 'node:http';
import { catching } from '../lib/catching.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Administrator } from './login/administrators.ts';
import type { AdministratorSession } from './login/sessions.ts';

/** Interval of heartbeats in milliseconds. They keep readers and proxies from closing a silent connection. */
const heartbeatMs = 15_000;

/** A reader is cut off if it stays behind for longer than this time in milliseconds, or if more than this number of bytes waits for it. */
const maxBehindMs = 30_000;
const maxWaitingBytes = 1024 * 1024;

interface Reader {
  outgoing: ServerResponse;
  administrator: Administrator;
  session: AdministratorSession | undefined;
}

/** One Server-Sent Event (WHATWG HTML, 9.2). */
interface SentEvent {
  event?: string;
  /** The browser sends this as `Last-Event-ID` when it reconnects. It must not contain line breaks. */
  id?: string;
  data: unknown;
}

/** Returns an event in the form in which it is sent. */
export function eventText({ event, id, data }: SentEvent): string {
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/**
 * A stream of Server-Sent Events to one reader. A slow reader with too many unread bytes is cut off, so senders must check the result of
 * `send`, and wait.
 */
export class EventStream {
  /** Aborted when the reader has disconnected or lost access. */
  readonly signal: AbortSignal;
  readonly reader: Reader;
  readonly #end = new AbortController();
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #behindSinceMs: number | undefined;

  constructor(reader: Reader, clock: Clock, headers: Record<string, string>) {
    this.reader = reader;
    this.signal = this.#end.signal;
    this.#clock = clock;
    const { outgoing } = reader;
    const cut = () => this.end();
    outgoing.once('close', catching(cut, cut));
    outgoing.on(
      'drain',
      catching(() => this.#caughtUp(), cut),
    );
    outgoing.writeHead(200, headers);
    outgoing.flushHeaders();
  }

  get isBehind(): boolean {
    return this.#behindSinceMs !== undefined;
  }

  /** @returns whether the reader keeps up; if it does not, wait for `caughtUp` */
  send(event: SentEvent): boolean {
    return this.write(eventText(event));
  }

  /** Sends events in the form that `eventText` returns. @returns the same as `send` */
  write(text: string | Buffer): boolean {
    const { outgoing } = this.reader;
    if (this.signal.aborted) return false;
    if (outgoing.write(text)) return true;
    this.#behindSinceMs ??= this.#clock.monotonicMs();
    if (outgoing.writableLength > maxWaitingBytes) this.end();
    return false;
  }

  /** Resolves once the reader has received everything, or the stream has ended. */
  caughtUp(): Promise<void> {
    if (!this.isBehind || this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Sends an empty comment, or cuts off a reader that has been behind for too long. */
  beat(): void {
    if (this.#behindSinceMs === undefined) this.write(':\n\n');
    else if (this.#clock.monotonicMs() - this.#behindSinceMs > maxBehindMs) this.end();
  }

  end(): void {
    if (this.signal.aborted) return;
    this.#end.abort();
    this.reader.outgoing.destroy();
    this.#caughtUp();
  }

  #caughtUp(): void {
    this.#behindSinceMs = undefined;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

interface Listening {
  /** Records that a page of this session still listens, so that the session does not expire. @returns whether the session is valid */
  onBeat: (session: AdministratorSession) => boolean;
  /** Returns whether the administrator is unchanged since the login. */
  isInForce: (administrator: Administrator) => boolean;
}

type LongReply = Pick<EventStream, 'reader' | 'end'>;

/** The open streams and downloads of a console. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #listening: Listening;
  readonly #open = new Set<EventStream>();
  readonly #downloads = new Set<LongReply>();
  #heartbeat: Timer | undefined;

  constructor(clock: Clock, listening: Listening) {
    this.#clock = clock;
    this.#listening = listening;
  }

  /**
   * Begins to answer with events.
   *
   * @param headers the headers that every reply has
   * @returns a closed stream if the reader has already disconnected
   */
  open(reader: Reader, headers: Record<string, string>): EventStream {
    // Without the last header, proxies such as nginx would buffer the events.
    const head = { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    const stream = new EventStream(reader, this.#clock, head);
    this.#open.add(stream);
    this.#beginToBeat();
    stream.signal.addEventListener('abort', () => this.#forget(stream), { once: true });
    if (this.#isOver(reader)) stream.end();
    return stream;
  }

  /**
   * Lets a download end when a stream would: when the session of its reader ends, or its administrator is changed or removed.
   *
   * @param gone aborted when the download has ended
   */
  addDownload(reader: Reader, gone: AbortSignal): void {
    const download = { reader, end: () => void reader.outgoing.destroy() };
    if (this.#isOver(reader)) {
      download.end();
      return;
    }
    this.#downloads.add(download);
    this.#beginToBeat();
    const forget = () => {
      this.#downloads.delete(download);
      this.#stopWhenEmpty();
    };
    gone.addEventListener('abort', forget, { once: true });
  }

  /**
   * Returns whether the reader has disconnected, been logged out or lost access. This can happen while the request is checked. At that
   * time, the reply is not yet in the lists of this object, so nothing else would end it.
   */
  #isOver({ outgoing, administrator, session }: Reader): boolean {
    return outgoing.destroyed || !this.#listening.isInForce(administrator) || (!!session && !this.#listening.onBeat(session));
  }

  endSession(session: AdministratorSession): void {
    this.#endThose(({ reader }) => reader.session === session);
  }

  /** Ends the streams and downloads of administrators who were changed or removed. @returns how many were ended */
  keepOnly(): number {
    return this.#endThose(({ reader }) => !this.#listening.isInForce(reader.administrator));
  }

  close(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #endThose(isMeant: (reply: LongReply) => boolean): number {
    const over = [...this.#open, ...this.#downloads].filter(isMeant);
    for (const reply of over) reply.end();
    return over.length;
  }

  #forget(stream: EventStream): void {
    this.#open.delete(stream);
    this.#stopWhenEmpty();
  }

  #beginToBeat(): void {
    this.#heartbeat ??= this.#clock.every(heartbeatMs, () => this.#beatAll());
  }

  #stopWhenEmpty(): void {
    if (this.#open.size + this.#downloads.size > 0) return;
    this.#heartbeat?.cancel();
    this.#heartbeat = undefined;
  }

  #beatAll(): void {
    for (const stream of [...this.#open]) stream.beat();
    for (const { reader } of [...this.#open, ...this.#downloads]) if (reader.session) this.#listening.onBeat(reader.session);
  }
}
