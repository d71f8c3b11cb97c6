import type { ServerResponse } from 'node:http';
import { catching } from '../lib/catching.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Administrator } from './login/administrators.ts';
import type { AdministratorSession } from './login/sessions.ts';

/** Interval of heartbeats, so that neither readers nor proxies give up, in milliseconds. */
const heartbeatMs = 15_000;

/** A reader is cut off if it reads nothing for this time, or if this many bytes wait for it. */
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
  /** The browser sends it as `Last-Event-ID` when it connects again; without line breaks. */
  id?: string;
  /** Sent as JSON. */
  data: unknown;
}

/** An event as it is sent. */
export function eventText({ event, id, data }: SentEvent): string {
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Server-Sent Events to one reader. Nothing is queued for a slow reader: senders heed the result of `send`. */
export class EventStream {
  /** Aborts when the reader is gone or has lost its right. */
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

  /** Whether sent events wait for the reader. */
  get isBehind(): boolean {
    return this.#behindSinceMs !== undefined;
  }

  /** @returns whether the reader keeps up; if not, wait for `caughtUp` */
  send(event: SentEvent): boolean {
    return this.write(eventText(event));
  }

  /** Sends events as `eventText` makes them. @returns as `send` */
  write(text: string | Buffer): boolean {
    const { outgoing } = this.reader;
    if (this.signal.aborted) return false;
    if (outgoing.write(text)) return true;
    this.#behindSinceMs ??= this.#clock.monotonicMs();
    if (outgoing.writableLength > maxWaitingBytes) this.end();
    return false;
  }

  /** Resolves once the reader has read everything, or the stream has ended. */
  caughtUp(): Promise<void> {
    if (!this.isBehind || this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Sends an empty comment, or cuts off a reader that does not read. */
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

/** Who may listen, as streams ask their console. */
interface Listening {
  /** Records that the page of a session listens. @returns whether the session is valid */
  onBeat: (session: AdministratorSession) => boolean;
  /** Whether the administrator has not changed since the login. */
  isInForce: (administrator: Administrator) => boolean;
}

/** The open streams of a console. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #listening: Listening;
  readonly #open = new Set<EventStream>();
  #heartbeat: Timer | undefined;

  constructor(clock: Clock, listening: Listening) {
    this.#clock = clock;
    this.#listening = listening;
  }

  /** Begins to answer with events. @param headers of every reply @returns a closed stream if the reader is gone already */
  open(reader: Reader, headers: Record<string, string>): EventStream {
    // Without the last header proxies such as nginx would buffer the events.
    const head = { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    const stream = new EventStream(reader, this.#clock, head);
    this.#open.add(stream);
    this.#heartbeat ??= this.#clock.every(heartbeatMs, () => this.#beatAll());
    stream.signal.addEventListener('abort', () => this.#forget(stream), { once: true });
    // The reader may have left, been logged out or lost its right while the request was checked; no later event reports that.
    const isOver = !this.#listening.isInForce(reader.administrator) || (reader.session && !this.#listening.onBeat(reader.session));
    if (reader.outgoing.destroyed || isOver) stream.end();
    return stream;
  }

  /** Ends the streams of a session that has ended. */
  endSession(session: AdministratorSession): void {
    for (const stream of [...this.#open]) if (stream.reader.session === session) stream.end();
  }

  /** Ends the streams of administrators that were changed or removed. @returns how many */
  keepOnly(): number {
    const over = [...this.#open].filter(({ reader }) => !this.#listening.isInForce(reader.administrator));
    for (const stream of over) stream.end();
    return over.length;
  }

  close(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #forget(stream: EventStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    this.#heartbeat?.cancel();
    this.#heartbeat = undefined;
  }

  // A page that listens counts as activity, so its session continues.
  #beatAll(): void {
    for (const stream of [...this.#open]) {
      stream.beat();
      const { session } = stream.reader;
      if (session && !stream.signal.aborted) this.#listening.onBeat(session);
    }
  }
}
