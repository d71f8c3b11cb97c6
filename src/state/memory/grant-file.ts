import { closeSync, openSync, readSync, renameSync, truncateSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Grant, type GrantChange, isForgettable, parseGrant } from '../../auth/grants/grant.ts';
import type { Clock } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { closeAsync, fdatasyncAsync, fsyncAsync, ftruncateAsync, openIfThere, writeAsync } from '../../lib/disk/descriptors.ts';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { parseJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import type { GrantIndex } from './grant-index.ts';

/** The file is rewritten when it has more lines than this number plus twice the number of grants. */
const spareLines = 1000;

const grantsPerChunk = 1000;

const chunkBytes = 1024 * 1024;

export const grantFileName = 'tokens-and-links.ndjson';

/**
 * Stores the grants (tokens and shared links) of a data folder in `tokens-and-links.ndjson`. Each line is a complete grant, or the ID of a
 * grant and its changes. A request is answered only after its line is on disk. A line that a crash has cut short therefore belongs to a
 * request that got no answer.
 */
export class GrantFile {
  readonly #path: string;
  readonly #index: GrantIndex;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #flushes = new SharedRuns(() => this.#flush());
  #pending: string[] = [];
  #fd: number;
  #sizeBytes = 0;
  #lines = 0;
  /** Whether a write or sync has failed. The content of the file is then uncertain, so the next flush rewrites it. */
  #isDoubtful = false;

  /**
   * Reads the file into the index. Lines that cannot be read are logged and skipped.
   *
   * @throws system errors of opening and reading the file
   */
  constructor(dataFolderPath: string, index: GrantIndex, { clock, log }: { clock: Clock; log: Log }) {
    this.#path = join(dataFolderPath, grantFileName);
    this.#index = index;
    this.#clock = clock;
    this.#log = log;
    this.#read();
    this.#fd = openSync(this.#path, 'a', 0o600);
    syncFolder(dataFolderPath);
  }

  /**
   * Writes grants or changes. They are on disk when the promise resolves.
   *
   * @throws ServiceError `storage-full` or `internal`
   */
  async write(items: readonly (Grant | GrantChange)[]): Promise<void> {
    for (const item of items) this.#pending.push(`${JSON.stringify(item)}\n`);
    try {
      await this.#flushes.run();
    } catch (error) {
      const isFull = ['ENOSPC', 'EDQUOT'].includes(systemErrorCode(error) ?? '');
      throw new ServiceError(isFull ? 'storage-full' : 'internal', 'The tokens and links could not be written to disk.', { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#flushes.run().catch((error) => this.#log.error('the tokens and links could not be written', { reason: error }));
    closeSync(this.#fd);
  }

  #read(): void {
    const { sizeBytes, lines, isTorn } = readGrants(this.#path, this.#index, this.#log);
    this.#sizeBytes = sizeBytes;
    this.#lines = lines;
    if (isTorn) truncateSync(this.#path, sizeBytes);
    const nowMs = this.#clock.nowMs();
    for (const grant of this.#index.all()) if (isForgettable(grant, nowMs)) this.#index.remove(grant);
  }

  // After a failure, the lines of this flush are dropped, because their requests fail.
  async #flush(): Promise<void> {
    const lines = this.#pending;
    this.#pending = [];
    const bytes = Buffer.from(lines.join(''));
    try {
      if (this.#isDoubtful || this.#lines > 2 * this.#index.size + spareLines) await this.#writeAnew();
      if (lines.length === 0) return;
      await writeWhole(this.#fd, bytes);
      await fdatasyncAsync(this.#fd);
    } catch (error) {
      this.#isDoubtful = true;
      await ftruncateAsync(this.#fd, this.#sizeBytes).catch(() => {});
      throw error;
    }
    this.#sizeBytes += bytes.length;
    this.#lines += lines.length;
  }

  // Rewrites the file from the index. Lines of the current flush, and lines that arrive meanwhile, are appended to the new file afterwards.
  async #writeAnew(): Promise<void> {
    const path = `${this.#path}.new`;
    const fd = openSync(path, 'w', 0o600);
    let [sizeBytes, lines] = [0, 0];
    try {
      const write = async (chunk: readonly Grant[]) => {
        const bytes = Buffer.from(chunk.map((grant) => `${JSON.stringify(grant)}\n`).join(''));
        await writeWhole(fd, bytes);
        sizeBytes += bytes.length;
        lines += chunk.length;
      };
      let chunk: Grant[] = [];
      for (const grant of this.#index.all()) {
        chunk.push(grant);
        if (chunk.length < grantsPerChunk) continue;
        await write(chunk);
        chunk = [];
      }
      await write(chunk);
      await fsyncAsync(fd);
      renameSync(path, this.#path);
    } catch (error) {
      await closeAsync(fd);
      try {
        unlinkSync(path);
      } catch {
        // The next rewrite replaces a leftover file.
      }
      throw error;
    }
    const old = this.#fd;
    this.#fd = fd;
    this.#sizeBytes = sizeBytes;
    this.#lines = lines;
    this.#isDoubtful = false;
    await closeAsync(old);
    syncFolder(join(this.#path, '..'));
  }
}

/**
 * Reads a file of grants into an index, and changes nothing on disk. Lines that cannot be read are logged and skipped.
 *
 * @returns total size and number of the complete lines; `isTorn` says whether they are followed by a line that a crash has cut short
 * @throws system errors of opening and reading the file
 */
export function readGrants(path: string, index: GrantIndex, log: Log): { sizeBytes: number; lines: number; isTorn: boolean } {
  const read = { sizeBytes: 0, lines: 0, isTorn: false };
  const fd = openIfThere(path);
  if (fd === undefined) return read;
  try {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    let rest = Buffer.alloc(0);
    for (;;) {
      const bytesRead = readSync(fd, buffer);
      if (bytesRead === 0) break;
      const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = text.lastIndexOf(0x0a) + 1;
      for (const line of text.toString('utf8', 0, end).split('\n')) if (line !== '') readLine(line, ++read.lines, { path, index, log });
      read.sizeBytes += end;
      rest = text.subarray(end);
    }
    return { ...read, isTorn: rest.length > 0 };
  } finally {
    closeSync(fd);
  }
}

function readLine(line: string, number: number, { path, index, log }: { path: string; index: GrantIndex; log: Log }): void {
  try {
    const value = parseJson(line) as Grant | GrantChange;
    if ('hash' in value) index.put(parseGrant(value));
    // A change of a grant that was removed has no effect.
    else index.change(value);
  } catch (error) {
    // The error is not logged, because its message may quote the line, which may contain a hash and names.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : 'it does not have the expected form';
    log.error('a line of the tokens and links cannot be read and is skipped', { path, line: number, reason });
  }
}

async function writeWhole(fd: number, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await writeAsync(fd, bytes, written, bytes.length - written);
    written += bytesWritten;
  }
}
