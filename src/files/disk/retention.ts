import { constants, lstatSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { closeAsync, fsyncAsync, openAsync } from '../../lib/disk/descriptors.ts';
import { writeFileNow } from '../../lib/disk/durable-files.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';

const dayMs = 86_400_000;

const recordPattern = /^\.svc-[0-9a-f]{24}\.retain$/;

/** The name of the mark, a file in the data folder. It contains the time after which no file of this server is retained any more. */
const markName = 'retention';

/**
 * The time in the mark is this number of days after the end of the longest retention, so that uploads rarely have to rewrite the mark. A
 * node that receives no uploads rewrites the mark only when it loads the configuration. The margin covers the time between two loads.
 */
const markMarginDays = 366;

/** Whether a name is the name of a retention record. Such files are never listed, and cannot be addressed. */
export function isRetentionName(name: string): boolean {
  return name.length === 36 && recordPattern.test(name);
}

/** The record of a retained file. It contains the birth time, because another file may later get the same inode. */
interface RetentionRecord {
  /** Unix time in milliseconds. */
  until: number;
  /** Birth time of the file, Unix time in nanoseconds; 0 if the file system does not record it. */
  born: string;
}

/**
 * Files that cannot be changed, moved or deleted through the service for a time (docs/spec/files.md#retained-files). A hidden record beside
 * each file contains the end of that time. All nodes see the record. Node.js has no call for extended attributes, so these are not used.
 */
export class Retention {
  readonly #markPath: string;
  readonly #clock: Clock;
  #markedUntilMs: number;
  #isConfigured = false;

  /** @throws the errors of `readFileSync`, except for a missing file */
  constructor(dataFolderPath: string, clock: Clock) {
    this.#markPath = join(dataFolderPath, markName);
    this.#clock = clock;
    this.#markedUntilMs = Number(readOrUndefined(this.#markPath) ?? 0);
  }

  /**
   * Sets the longest retention of the configuration. With 0 days, records are looked up only as long as files of an earlier configuration
   * can be retained.
   */
  configure(days: number): void {
    this.#isConfigured = days > 0;
    if (days > 0) this.#mark(days);
  }

  #mark(days: number): void {
    const now = this.#clock.nowMs();
    if (this.#markedUntilMs >= now + (days + markMarginDays / 2) * dayMs) return;
    const untilMs = now + (days + markMarginDays) * dayMs;
    writeFileNow(this.#markPath, String(untilMs), { mode: 0o600 });
    this.#markedUntilMs = untilMs;
  }

  get isUsed(): boolean {
    return this.#isConfigured || this.#clock.nowMs() < this.#markedUntilMs;
  }

  /**
   * The end of a file's retention, Unix time in milliseconds; undefined if the file is not retained. Removes a record that no longer
   * applies.
   *
   * @param member path of the file, bound to its folder (`OpenedFolder.member`)
   */
  untilMs(member: string): number | undefined {
    if (!this.isUsed) return undefined;
    const stats = lstatSync(member, { bigint: true, throwIfNoEntry: false });
    if (!stats?.isFile()) return undefined;
    const path = join(dirname(member), recordName(stats.ino));
    const record = parseRecord(readOrUndefined(path));
    if (!record) return undefined;
    const born = String(stats.birthtimeNs);
    const isOfOther = record.born !== '0' && born !== '0' && record.born !== born;
    if (!isOfOther && this.#clock.nowMs() < record.until) return record.until;
    removeIfThere(path);
    return undefined;
  }

  /** Refuses a change of a file that is retained. @param member as for `untilMs` @throws ServiceError `retained` */
  requireFree(member: string): void {
    const untilMs = this.untilMs(member);
    if (untilMs !== undefined) throw retained(untilMs);
  }

  /**
   * Retains a file that is about to be renamed to its final name. The content of the record is on disk when the promise resolves; the name
   * of the record is on disk after the next sync of the folder.
   *
   * @param member path of the file under its temporary name, bound to its folder
   * @param folder path of the folder to which the file will be renamed, bound to that folder
   * @returns a function that removes the record again, to be called if the rename fails
   */
  async retain(member: string, days: number, folder = dirname(member)): Promise<() => void> {
    this.#mark(days);
    const stats = lstatSync(member, { bigint: true });
    const path = join(folder, recordName(stats.ino));
    const record: RetentionRecord = { until: this.#clock.nowMs() + days * dayMs, born: String(stats.birthtimeNs) };
    const fd = await openAsync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o600);
    try {
      writeSync(fd, JSON.stringify(record));
      await fsyncAsync(fd);
    } catch (error) {
      removeIfThere(path);
      throw error;
    } finally {
      await closeAsync(fd);
    }
    return () => removeIfThere(path);
  }
}

function recordName(inode: bigint): string {
  return `.svc-${inode.toString(16).padStart(24, '0')}.retain`;
}

/** The error for a change of a retained file. @param untilMs Unix time in milliseconds */
export function retained(untilMs: number): ServiceError {
  const until = new Date(untilMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return new ServiceError('retained', `The file is retained until ${until}; until then it cannot be changed, moved or deleted.`);
}

// A record is complete before its file is renamed to its final name. So a record that cannot be parsed does not belong to a file.
function parseRecord(text: string | undefined): RetentionRecord | undefined {
  try {
    const { until, born } = JSON.parse(text ?? '') as Partial<RetentionRecord>;
    return typeof until === 'number' && typeof born === 'string' ? { until, born } : undefined;
  } catch {
    return undefined;
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another node was first, or the folder is read-only. An outdated record does no harm.
  }
}
