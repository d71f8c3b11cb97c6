import { text } from '../language.ts';
import { reasonFor, replyReason, send } from '../server.ts';
import { previewText } from './preview-text.ts';

/** Thrown if a file cannot be read. Its message is for the user. */
export class Refusal extends Error {}

/** A file of the service that is read in parts. All parts belong to the version that was opened. */
export type RemoteFile = Awaited<ReturnType<typeof openFile>>;

/**
 * Opens a file and reads a part of it. Asks the user to sign in again if the session has ended.
 * @param lengthBytes length of the part. If it is negative, the last bytes of the file are read
 * @param signal ends all reading of the file
 * @throws Refusal
 */
export async function openFile(name: string, path: string, lengthBytes: number, signal: AbortSignal) {
  const range = lengthBytes > 0 ? `bytes=0-${lengthBytes - 1}` : `bytes=${lengthBytes}`;
  const opened = await answered(send('GET', `${path}?inline`, { headers: { range }, signal }));
  const part = opened.headers.get('content-range') ?? '';
  // The service cannot send a range of an empty file, so it answers 416.
  const isEmpty = opened.status === 416 && part === 'bytes */0';
  if (!opened.ok && !isEmpty) throw new Refusal(opened.status === 404 ? text('gone') : reasonFor(opened.status, undefined));
  if (!isEmpty && opened.status !== 206) throw new Refusal(previewText('changedMeanwhile'));
  const [from = 0, sizeBytes = 0] = /^bytes (\d+)-\d+\/(\d+)$/.exec(part)?.slice(1).map(Number) ?? [];
  const bytes = isEmpty ? new Uint8Array() : new Uint8Array(await answered(opened.arrayBuffer()));
  const { pathname, search } = new URL(opened.url);
  const url = pathname + search;

  /** Yields bytes, beginning at `start`. @throws Refusal, also if the file has changed or the connection breaks */
  async function* stream(start: number, length: number): AsyncGenerator<Uint8Array> {
    if (length === 0) return;
    if (start >= from && start + length <= from + bytes.length) {
      yield bytes.subarray(start - from, start - from + length);
      return;
    }
    const reply = await answered(send('GET', url, { headers: { range: `bytes=${start}-${start + length - 1}` } }));
    if (!reply.ok) throw new Refusal(await replyReason(reply));
    const reader = reply.body?.getReader();
    // Cancelling fails if the connection broke, but that makes no difference here.
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

  /** Reads bytes, beginning at `start`, into one array. @throws the same errors as `stream` */
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
