import { text } from '../language.ts';
import { reasonFor, replyReason, send } from '../server.ts';
import { previewText } from './preview-text.ts';

/** A file that cannot be read. The message is for the user. */
export class Refusal extends Error {}

/** A file that is read in parts, all of the version that was opened. */
export type RemoteFile = Awaited<ReturnType<typeof openFile>>;

/**
 * Opens a file and reads a part of it. Asks the user to sign in again if necessary.
 *
 * @param lengthBytes length of the part; the last bytes if negative
 * @param signal ends all reading of the file
 * @throws Refusal
 */
export async function openFile(name: string, path: string, lengthBytes: number, signal: AbortSignal) {
  const range = lengthBytes > 0 ? `bytes=0-${lengthBytes - 1}` : `bytes=${lengthBytes}`;
  const opened = await answered(send('GET', `${path}?inline`, { headers: { range }, signal }));
  const part = opened.headers.get('content-range') ?? '';
  // The service answers 416 for an empty file.
  const isEmpty = opened.status === 416 && part === 'bytes */0';
  if (!opened.ok && !isEmpty) throw new Refusal(opened.status === 404 ? text('gone') : reasonFor(opened.status, undefined));
  if (!isEmpty && opened.status !== 206) throw new Refusal(previewText('changedMeanwhile'));
  const [from = 0, sizeBytes = 0] = /^bytes (\d+)-\d+\/(\d+)$/.exec(part)?.slice(1).map(Number) ?? [];
  const bytes = isEmpty ? new Uint8Array() : new Uint8Array(await answered(opened.arrayBuffer()));
  const { pathname, search } = new URL(opened.url);
  const url = pathname + search;

  /** @throws Refusal, also if the file has changed or the connection breaks */
  async function* stream(start: number, length: number): AsyncGenerator<Uint8Array> {
    if (length === 0) return;
    if (start >= from && start + length <= from + bytes.length) {
      yield bytes.subarray(start - from, start - from + length);
      return;
    }
    const reply = await answered(send('GET', url, { headers: { range: `bytes=${start}-${start + length - 1}` } }));
    if (!reply.ok) throw new Refusal(await replyReason(reply));
    const reader = reply.body?.getReader();
    // Cancelling fails if the connection broke.
    const stop = () => void reader?.cancel().catch(() => {});
    signal.addEventListener('abort', stop);
    let doneBytes = 0;
    try {
      if (reply.status !== 206 || reply.headers.get('etag') !== opened.headers.get('etag'))
        throw new Refusal(previewText('changedMeanwhile'));
      for (;;) {
        const { value } = (await answered(reader?.read())) ?? {};
        signal.throwIfAborted();
        if (value === undefined) break;
        doneBytes += value.length;
        yield value;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
    if (doneBytes !== length) throw new Refusal(previewText('changedMeanwhile'));
  }

  /** @throws the errors of `stream` */
  const read = async (start: number, length: number) => {
    const whole = new Uint8Array(length);
    let at = 0;
    for await (const piece of stream(start, length)) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  };
  return { name, url, sizeBytes, stream, read };
}

async function answered<T>(answer: Promise<T> | undefined): Promise<T> {
  try {
    return (await answer) as T;
  } catch {
    throw new Refusal(text('noConnection'));
  }
}
