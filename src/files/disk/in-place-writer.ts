import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import {
  dropWritten,
  fdatasyncAsync,
  fsyncAsync,
  ftruncateAsync,
  futimesAsync,
  toSeconds,
  writevAsync,
} from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { toEntry } from '../entry.ts';
import { unlimited } from '../quota.ts';
import type { Durability } from './folder-sync.ts';
import type { WriteTarget } from './opened.ts';
import type { Finished, FinishOptions, RandomWriter } from './random-writer.ts';
import { asServiceError } from './system-errors.ts';

/** Writes into an existing file that is too large to be copied first. Until the content is complete, readers see a partly written file. */
export class InPlaceWriter implements RandomWriter {
  readonly isInPlace = true;
  readonly fd: number;
  readonly #name: string;
  /** Size of the file when it was opened. */
  readonly oldBytes: number;
  #failure: unknown;
  #isOpen = true;

  /** @param target its `parent` is closed by the constructor */
  constructor(target: WriteTarget & { existing: Stats }) {
    this.#name = target.name;
    let fd: number | undefined;
    try {
      fd = openSync(target.parent.member(target.name), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      this.fd = fd;
      const { ino, dev, size } = fstatSync(fd);
      if (ino !== target.existing.ino || dev !== target.existing.dev)
        throw new ServiceError('unavailable', 'The file was replaced meanwhile; try again.');
      this.oldBytes = size;
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      throw asServiceError(error);
    } finally {
      target.parent.close();
    }
  }

  async writeAt(chunks: readonly Buffer[], position: number): Promise<void> {
    let rest = [...chunks];
    let at = position;
    await this.#kept(async () => {
      while (rest.length > 0) {
        const { bytesWritten } = await writevAsync(this.fd, rest, at);
        at += bytesWritten;
        rest = dropWritten(rest, bytesWritten);
      }
    });
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.#kept(() => ftruncateAsync(this.fd, sizeBytes));
  }

  sync(): Promise<void> {
    return this.#kept(() => fdatasyncAsync(this.fd));
  }

  // The first error is kept for all later calls, because Linux reports a failed write or sync only once.
  async #kept(action: () => Promise<void>): Promise<void> {
    try {
      if (this.#failure === undefined) await action();
    } catch (error) {
      this.#failure = error;
    }
    if (this.#failure !== undefined) throw asServiceError(this.#failure);
  }

  async finish(
    _durability: Durability,
    { modifiedMs, accessedMs, reservation = unlimited, requireUnlocked }: FinishOptions,
  ): Promise<Finished> {
    await requireUnlocked();
    await this.#kept(async () => {
      if (modifiedMs !== undefined) await futimesAsync(this.fd, toSeconds(accessedMs ?? modifiedMs), toSeconds(modifiedMs));
      await fsyncAsync(this.fd);
    });
    const entry = toEntry(this.#name, fstatSync(this.fd));
    await this.discard(reservation);
    return { entry, isReplacement: true };
  }

  /** Closes the file. The bytes written so far stay in the file, and count towards the quota. Never throws. */
  async discard(reservation = unlimited): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      const { size } = fstatSync(this.fd);
      // The bytes are already written, so a refusal by the quota would change nothing.
      await reservation.commit(size, this.oldBytes, () => {}).catch(() => {});
    } catch {
      // The size is unknown. The caller releases the reservation, and a later count finds the bytes.
    } finally {
      closeSync(this.fd);
    }
  }
}
