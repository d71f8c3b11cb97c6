import { text } from '../language.ts';
import { reasonFor, reasonOf, send } from '../server.ts';
import { previewText } from './preview-text.ts';

/** Why a file cannot be read, for people. */
export class Refusal extends Error {}

/** A file of the service, read in parts: all of them of the file that it was when it was opened. */
export class RemoteFile {
  readonly name: string;
  /** Its URL, with which pages may show it. */
  readonly url: string;
  readonly sizeBytes: number;
  readonly #etag: string | null;
  readonly #signal: AbortSignal;

  private constructor(name: string, url: string, reply: Response, signal: AbortSignal) {
    this.name = name;
    this.url = url;
    this.sizeBytes = Number(reply.headers.get('content-length'));
    this.#etag = reply.headers.get('etag');
    this.#signal = signal;
  }

  /**
   * Asks for a file, and for the password when the session has ended.
   *
   * @param path of its URL
   * @param signal ends all that is read of it
   * @throws Refusal
   */
  static async open(name: string, path: string, signal: AbortSignal): Promise<RemoteFile> {
    const url = `${path}?inline`;
    const reply = await answered(send('HEAD', url));
    if (!reply.ok) throw new Refusal(reply.status === 404 ? text('gone') : reasonFor(reply.status, undefined));
    return new RemoteFile(name, url, reply, signal);
  }

  /**
   * The bytes from `start` on, as they come.
   *
   * @throws Refusal, also when the file is another one by now or the connection breaks
   */
  async *stream(start: number, length: number): AsyncGenerator<Uint8Array> {
    if (length === 0) return;
    const reply = await answered(send('GET', this.url, { headers: { range: `bytes=${start}-${start + length - 1}` } }));
    if (!reply.ok) throw new Refusal(await reasonOf(reply));
    const reader = reply.body?.getReader();
    const stop = () => void reader?.cancel();
    this.#signal.addEventListener('abort', stop);
    let doneBytes = 0;
    try {
      if (reply.status !== 206 || reply.headers.get('etag') !== this.#etag) throw new Refusal(previewText('changedMeanwhile'));
      for (;;) {
        const { value } = (await answered(reader?.read())) ?? {};
        this.#signal.throwIfAborted();
        if (value === undefined) break;
        doneBytes += value.length;
        yield value;
      }
    } finally {
      this.#signal.removeEventListener('abort', stop);
      stop();
    }
    if (doneBytes !== length) throw new Refusal(previewText('changedMeanwhile'));
  }

  /** The bytes from `start` on, all together. @throws as `stream` does */
  async read(start: number, length: number): Promise<Uint8Array> {
    const whole = new Uint8Array(length);
    let at = 0;
    for await (const piece of this.stream(start, length)) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}

async function answered<T>(answer: Promise<T> | undefined): Promise<T> {
  try {
    return (await answer) as T;
  } catch {
    throw new Refusal(text('noConnection'));
  }
}
