import type { ServerResponse } from 'node:http';
import { catching } from '../lib/catching.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Administrator } from './login/administrators.ts';
import type { AdministratorSession } from './login/sessions.ts';

/** How often those who listen hear something, so that neither they nor proxies give up, in milliseconds. */
const beatEveryMs = 15_000;

/** A reader that has taken nothing for so long, or that so many bytes wait for, is cut off. */
const longestBehindMs = 30_000;
const maxWaitingBytes = 1024 * 1024;

/** Who listens, and where. */
interface Reader {
  outgoing: ServerResponse;
  administrator: Administrator;
  session: AdministratorSession | undefined;
}

/** One Server-Sent Event (WHATWG HTML, 9.2). */
interface SentEvent {
  event?: string;
  /** What the browser sends as `Last-Event-ID` when it comes again; without line breaks. */
  id?: string;
  /** Sent as JSON. */
  data: unknown;
}

/** An event as it is sent. */
export function eventText({ event, id, data }: SentEvent): string {
  const lines = [...(event === undefined ? [] : [`event: ${event}`]), ...(id === undefined ? [] : [`id: ${id}`])];
  return [...lines, `data: ${JSON.stringify(data)}`, '', ''].join('\n');
}

/** Server-Sent Events to one reader. Whoever sends looks at what `send` returns: nothing is kept for a reader that is behind. */
export class EventStream {
  /** Aborts when the reader is gone, or may listen no more. */
  readonly signal: AbortSignal;
  readonly reader: Reader;
  readonly #end = new AbortController();
  readonly #outgoing: ServerResponse;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #behindSinceMs: number | undefined;

  constructor(reader: Reader, clock: Clock, head: Record<string, string>) {
    this.reader = reader;
    this.signal = this.#end.signal;
    this.#outgoing = reader.outgoing;
    this.#clock = clock;
    const cut = () => this.end();
    this.#outgoing.once('close', catching(cut, cut));
    this.#outgoing.on(
      'drain',
      catching(() => this.#caughtUp(), cut),
    );
    this.#outgoing.writeHead(200, head);
    this.#outgoing.flushHeaders();
  }

  /** Whether what was sent waits for the reader. */
  get isBehind(): boolean {
    return this.#behindSinceMs !== undefined;
  }

  /** @returns whether the reader takes more; if not, wait for `caughtUp` */
  send(event: SentEvent): boolean {
    return this.write(eventText(event));
  }

  /** Sends events that are written out already. @returns as `send` */
  write(text: string | Buffer): boolean {
    if (this.signal.aborted) return false;
    if (this.#outgoing.write(text)) return true;
    this.#behindSinceMs ??= this.#clock.monotonicMs();
    if (this.#outgoing.writableLength > maxWaitingBytes) this.end();
    return false;
  }

  /** Resolves once the reader has taken everything, or the stream has ended. */
  caughtUp(): Promise<void> {
    if (!this.isBehind || this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Says that there is nothing to say, or gives up a reader that does not read. */
  beat(): void {
    if (this.#behindSinceMs === undefined) this.write(':\n\n');
    else if (this.#clock.monotonicMs() - this.#behindSinceMs > longestBehindMs) this.end();
  }

  end(): void {
    if (this.signal.aborted) return;
    this.#end.abort();
    this.#outgoing.destroy();
    this.#caughtUp();
  }

  #caughtUp(): void {
    this.#behindSinceMs = undefined;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** What streams ask of their console. */
interface Listening {
  /** Told again and again of the sessions whose pages listen; says whether they are in force. */
  onBeat: (session: AdministratorSession) => boolean;
  /** Whether somebody is an administrator as at the login. */
  isInForce: (administrator: Administrator) => boolean;
}

/** The streams of a console that are open. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #listening: Listening;
  readonly #open = new Set<EventStream>();
  #beat: Timer | undefined;

  constructor(clock: Clock, listening: Listening) {
    this.#clock = clock;
    this.#listening = listening;
  }

  /** Begins to answer with events. @param headers of every reply @returns a stream that has ended when the reader is gone already */
  open(reader: Reader, headers: Record<string, string>): EventStream {
    // Proxies such as nginx would keep back what is sent little by little.
    const head = { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
    const stream = new EventStream(reader, this.#clock, head);
    this.#open.add(stream);
    this.#beat ??= this.#clock.every(beatEveryMs, () => this.#beatAll());
    stream.signal.addEventListener('abort', () => this.#forget(stream), { once: true });
    // Who left or lost the right while the password was checked, or was logged out while the journal was asked, is not told of again.
    const isOver = !this.#listening.isInForce(reader.administrator) || (reader.session && !this.#listening.onBeat(reader.session));
    if (reader.outgoing.destroyed || isOver) stream.end();
    return stream;
  }

  /** Ends those of a session that is over. */
  endSession(session: AdministratorSession): void {
    for (const stream of [...this.#open]) if (stream.reader.session === session) stream.end();
  }

  /** Ends those of who is not an administrator as before any more. @returns how many */
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
    this.#beat?.cancel();
    this.#beat = undefined;
  }

  // A page that listens is in use: its session goes on.
  #beatAll(): void {
    for (const stream of [...this.#open]) {
      stream.beat();
      const { session } = stream.reader;
      if (session && !stream.signal.aborted) this.#listening.onBeat(session);
    }
  }
}
