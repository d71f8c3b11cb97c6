import { text } from '../language.ts';
import { reasonFor, replyReason, send } from '../server.ts';
import { previewText } from './preview-text.ts';

/** Why a file cannot be read, for people. */
export class Refusal extends Error {}

/** A part of a file that is read when it is opened. */
interface Part {
  start: number;
  bytes: Uint8Array;
}

/** A file of the service, read in parts that all belong to the version that was opened. */
export class RemoteFile {
  readonly name: string;
  /** Its URL, with which pages may show it. */
  readonly url: string;
  readonly sizeBytes: number;
  readonly #etag: string | null;
  readonly #part: Part;
  readonly #signal: AbortSignal;

  private constructor(name: string, reply: Response, sizeBytes: number, part: Part, signal: AbortSignal) {
    this.name = name;
    this.url = new URL(reply.url).pathname + new URL(reply.url).search;
    this.sizeBytes = sizeBytes;
    this.#etag = reply.headers.get('etag');
    this.#part = part;
    this.#signal = signal;
  }

  /**
   * Reads a part of a file, which tells its size; asks for the password when the session has ended.
   * @param lengthBytes of the part: from the beginning of the file, or if negative at its end
   * @param signal ends all reading of the file
   * @throws Refusal
   */
  static async open(name: string, path: string, lengthBytes: number, signal: AbortSignal): Promise<RemoteFile> {
    const range = lengthBytes > 0 ? `bytes=0-${lengthBytes - 1}` : `bytes=${lengthBytes}`;
    const reply = await answered(send('GET', `${path}?inline`, { headers: { range }, signal }));
    // Of a file without content there is no part.
    const isEmpty = reply.status === 416 && reply.headers.get('content-range') === 'bytes */0';
    if (!reply.ok && !isEmpty) throw new Refusal(reply.status === 404 ? text('gone') : reasonFor(reply.status, undefined));
    const [, start = '0', size = '0'] = /^bytes (\d+)-\d+\/(\d+)$/.exec(reply.headers.get('content-range') ?? '') ?? [];
    if (!isEmpty && reply.status !== 206) throw new Refusal(previewText('changedMeanwhile'));
    const bytes = isEmpty ? new Uint8Array() : new Uint8Array(await answered(reply.arrayBuffer()));
    return new RemoteFile(name, reply, Number(size), { start: Number(start), bytes }, signal);
  }

  /** The bytes from `start` on. @throws Refusal, also when the file has changed or the connection breaks */
  async *stream(start: number, length: number): AsyncGenerator<Uint8Array> {
    if (length === 0) return;
    const { start: from, bytes } = this.#part;
    if (start >= from && start + length <= from + bytes.length) {
      yield bytes.subarray(start - from, start - from + length);
      return;
    }
    const reply = await answered(send('GET', this.url, { headers: { range: `bytes=${start}-${start + length - 1}` } }));
    if (!reply.ok) throw new Refusal(await replyReason(reply));
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
