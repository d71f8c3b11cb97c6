import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { TargetUrl } from './address.ts';
import { chunksOf } from './content.ts';
import {
  FileChanged,
  type ForwardedFile,
  type ForwardMeans,
  type SftpConnection,
  type Target,
  type TargetReceipt,
  TargetRefusal,
} from './means.ts';
import type { ForwardOptions } from './options.ts';

/** Size of a block in bytes. Every server accepts packets of this size (draft-ietf-secsh-filexfer-02 §3). */
const blockBytes = 32 * 1024;

const atOnce = 32;

/**
 * Sends files over SFTP. A file is written under a hidden name that contains the event's ID, so that a new attempt continues the file of an
 * earlier one. Before the file gets its final name, it is read back and compared.
 */
export class SftpTarget implements Target {
  readonly #url: URL;
  readonly #options: ForwardOptions;
  readonly #clock: Clock;
  readonly #connect: ForwardMeans['connectSftp'];

  constructor(url: TargetUrl, options: ForwardOptions, { clock, connect }: { clock: Clock; connect: ForwardMeans['connectSftp'] }) {
    this.#url = new URL(url.origin);
    this.#options = options;
    this.#clock = clock;
    this.#connect = connect;
  }

  send(segments: readonly string[], file: ForwardedFile, id: string, signal: AbortSignal | undefined): Promise<TargetReceipt> {
    return this.#connected(signal, (connection, ended) => sendFile(connection, segments, file, id, ended));
  }

  ping(signal: AbortSignal | undefined): Promise<string | undefined> {
    const nothing = this.#connected(signal, async () => undefined);
    return nothing.catch((error: Error) => (signal?.aborted ? Promise.reject(error) : error.message));
  }

  close(): void {}

  /** Runs `work` with a connection. After the timeout, aborts the work. */
  async #connected<T>(signal: AbortSignal | undefined, work: (connection: SftpConnection, ended: AbortSignal) => Promise<T>): Promise<T> {
    const { timeout, password, key_path, known_hosts_path } = this.#options;
    const over = new AbortController();
    const timer = this.#clock.after(timeout * 1000, () => over.abort(new Error(`the file was not sent within ${timeout} s`)));
    const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    let connection: SftpConnection | undefined;
    const end = () => connection?.end();
    ended.addEventListener('abort', end);
    try {
      connection = await this.#connect({
        host: this.#url.hostname.replace(/^\[|\]$/g, ''),
        port: Number(this.#url.port || 22),
        username: decodeURIComponent(this.#url.username),
        password,
        keyPath: key_path,
        knownHostsPath: known_hosts_path,
        signal: ended,
      });
      return await work(connection, ended);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof FileChanged || error instanceof TargetRefusal) throw error;
      throw new TargetRefusal(((over.signal.aborted ? over.signal.reason : error) as Error).message);
    } finally {
      timer.cancel();
      ended.removeEventListener('abort', end);
      connection?.end();
    }
  }
}

async function sendFile(
  connection: SftpConnection,
  segments: readonly string[],
  file: ForwardedFile,
  id: string,
  ended: AbortSignal,
): Promise<TargetReceipt> {
  // The path `/~/` means the folder in which the SFTP login starts.
  const isOfLogin = segments[0] === '~';
  const names = isOfLogin ? segments.slice(1) : segments;
  const folder = `${isOfLogin ? '.' : ''}${names
    .slice(0, -1)
    .map((name) => `/${name}`)
    .join('')}`;
  const path = `${folder}/${names.at(-1)}`;
  const temporary = `${folder}/.${id}.part`;
  await makeFolders(connection, isOfLogin ? '.' : '', names.slice(0, -1));
  const has = (await connection.sizeOf(temporary)) ?? 0;
  const from = has <= file.sizeBytes ? has : 0;
  let digests = await fill(connection, temporary, file, from, ended);
  // Writes run in parallel, so an earlier attempt may have left holes. If the digests differ, the whole file is sent again.
  if (from > 0 && digests.there !== digests.own) digests = await fill(connection, temporary, file, 0, ended);
  if (!file.isUnchanged()) {
    await connection.remove(temporary);
    throw new FileChanged('it changed while it was sent');
  }
  if (digests.there !== digests.own) {
    await connection.remove(temporary);
    throw new TargetRefusal('the digest of the file at the target differs from that of the file sent');
  }
  await connection.replace(temporary, path);
  return { digest: digests.own };
}

async function makeFolders(connection: SftpConnection, root: string, names: readonly string[]): Promise<void> {
  const folders = names.map((_, index) => `${root}/${names.slice(0, index + 1).join('/')}`);
  const deepest = folders.at(-1);
  if (deepest === undefined || (await connection.isFolder(deepest))) return;
  for (const folder of folders) if (!(await connection.isFolder(folder))) await connection.makeFolder(folder);
}

/**
 * Writes a file from a position on, and then reads the whole file back. @returns the digests of the local file and of the file at the
 * target
 */
async function fill(
  connection: SftpConnection,
  path: string,
  file: ForwardedFile,
  from: number,
  ended: AbortSignal,
): Promise<{ own: string; there: string }> {
  const own = createHash('sha256');
  const handle = await connection.open(path, from > 0 ? 'resume' : 'write');
  const writing = new Set<Promise<void>>();
  let at = 0;
  for await (const chunk of chunksOf(file, 0, file.sizeBytes, ended)) {
    own.update(chunk);
    for (let begin = Math.max(from - at, 0); begin < chunk.length; begin += blockBytes) {
      const written = connection
        .write(handle, at + begin, chunk.subarray(begin, begin + blockBytes))
        .then(() => void writing.delete(written));
      // Errors are handled below, where all writes are awaited. This line only prevents an unhandled rejection.
      written.catch(() => {});
      writing.add(written);
      if (writing.size >= atOnce) await Promise.race(writing);
    }
    at += chunk.length;
  }
  await Promise.all(writing);
  await connection.sync(handle);
  await connection.close(handle);
  return { own: own.digest('hex'), there: await digestThere(connection, path, file.sizeBytes) };
}

async function digestThere(connection: SftpConnection, path: string, sizeBytes: number): Promise<string> {
  const hash = createHash('sha256');
  const handle = await connection.open(path, 'read');
  const reading: Promise<Buffer[]>[] = [];
  const begin = (position: number) => {
    const read = readBlock(connection, handle, position, Math.min(blockBytes, sizeBytes - position));
    read.catch(() => {});
    reading.push(read);
  };
  let next = 0;
  for (; next < sizeBytes && reading.length < atOnce; next += blockBytes) begin(next);
  for (let read = reading.shift(); read; read = reading.shift()) {
    for (const bytes of await read) hash.update(bytes);
    if (next < sizeBytes) {
      begin(next);
      next += blockBytes;
    }
  }
  // One more byte is requested, because the file at the target must not be longer than the file sent.
  const beyond = await connection.read(handle, sizeBytes, 1);
  await connection.close(handle);
  return beyond === undefined ? hash.digest('hex') : 'longer';
}

async function readBlock(connection: SftpConnection, handle: Buffer, position: number, lengthBytes: number): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let got = 0; got < lengthBytes; ) {
    const piece = await connection.read(handle, position + got, lengthBytes - got);
    if (!piece) break;
    pieces.push(piece);
    got += piece.length;
  }
  return pieces;
}
