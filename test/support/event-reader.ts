import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';

/** Reads Server-Sent Events. */
export class EventReader {
  readonly #incoming: IncomingMessage;
  readonly #events: { name: string; data: unknown }[] = [];
  #text = '';
  #wake: () => void = () => {};
  isEnded = false;

  static open(url: string, headers: Record<string, string>): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { headers, agent: false }, (incoming) => {
        assert.equal(incoming.statusCode, 200);
        resolve(new EventReader(incoming));
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
    incoming.setEncoding('utf8');
    incoming.on('data', (chunk: string) => this.#take(chunk));
    incoming.on('error', () => {});
    incoming.on('close', () => {
      this.isEnded = true;
      this.#wake();
    });
  }

  /** Returns the data of the next event with this name. */
  next(name: string): Promise<unknown> {
    return this.nextWhere(name, () => true);
  }

  /** Returns the data of the next event that has this name, and for whose data `isSuch` returns true. Skips other events. */
  async nextWhere(name: string, isSuch: (data: unknown) => boolean): Promise<unknown> {
    for (;;) {
      for (let event = this.#events.shift(); event; event = this.#events.shift())
        if (event.name === name && isSuch(event.data)) return event.data;
      assert.ok(!this.isEnded, `the stream ended before the event ${name}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#incoming.destroy();
  }

  #take(chunk: string): void {
    this.#text += chunk;
    const parts = this.#text.split('\n\n');
    this.#text = parts.pop() ?? '';
    for (const part of parts) {
      const fields = new Map(part.split(/[\n\r]/).map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
      const data = fields.get('data');
      if (data !== undefined) this.#events.push({ name: fields.get('event') ?? 'message', data: JSON.parse(data) });
    }
    this.#wake();
  }
}
