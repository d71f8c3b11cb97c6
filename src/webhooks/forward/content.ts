import { createHash, type Hash } from 'node:crypto';
import { FileChanged, type ForwardedFile } from './means.ts';

const chunkBytes = 256 * 1024;

/**
 * Yields the bytes of a file from `begin` up to, but not including, `end`. A chunk is valid only until the next one is read.
 *
 * @throws FileChanged if the file is shorter
 */
export async function* chunksOf(
  file: ForwardedFile,
  begin: number,
  end: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - begin));
  for (let at = begin; at < end; ) {
    signal?.throwIfAborted();
    const read = await file.read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (read === 0) throw new FileChanged('it became shorter while it was sent');
    yield buffer.subarray(0, read);
    at += read;
  }
}

/** Updates hashes with the bytes of a part of a file. */
export async function hashContent(
  hashes: readonly Hash[],
  file: ForwardedFile,
  begin: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const chunk of chunksOf(file, begin, end, signal)) for (const hash of hashes) hash.update(chunk);
}

/** Calculates the SHA-256 of a part of a file. */
export async function digestPart(file: ForwardedFile, begin: number, end: number, signal: AbortSignal | undefined): Promise<Buffer> {
  const hash = createHash('sha256');
  await hashContent([hash], file, begin, end, signal);
  return hash.digest();
}

/**
 * Like `chunksOf`, for bytes whose digest was already sent to the target. The last chunk is yielded only if the bytes still match the
 * digest.
 *
 * @param told the digest that was sent
 * @throws FileChanged if the bytes do not match the digest
 */
export async function* toldChunks(
  file: ForwardedFile,
  begin: number,
  end: number,
  told: Buffer,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  let at = begin;
  for await (const chunk of chunksOf(file, begin, end, signal)) {
    hash.update(chunk);
    at += chunk.length;
    if (at === end && !hash.digest().equals(told)) throw new FileChanged('it changed while it was sent');
    yield chunk;
  }
}
