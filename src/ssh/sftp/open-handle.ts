import type { Entry } from '../../files/entry.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import type { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';

/** What a client has open. Methods reject with `ServiceError`. */
export interface OpenHandle {
  readonly kind: 'file' | 'folder';
  /** Where it was opened; of an upload, where it will be. */
  readonly path: VirtualPath;
  /** Those of the requests about it; the handles of one upload share them. */
  readonly turns: ReadWriteLock;
  /**
   * Reads at a place.
   *
   * @returns bytes read into the target from its beginning; 0 at the end of the file
   */
  read(offset: number, target: Buffer): Promise<number> | number;
  /** Writes at a place; the chunks are not changed until the promise resolves. */
  write(offset: number, chunks: readonly Buffer[]): Promise<void>;
  entry(): Promise<Entry>;
  truncate(sizeBytes: number): Promise<void>;
  setAttributes(change: AttributeChange): Promise<void>;
  sync(): Promise<void>;
  /** The client closed it. Resolves when all that it did is on disk and told. */
  close(): Promise<void>;
  /** The connection is gone. Never rejects. */
  lose(): Promise<void>;
}
