import { createHash, createPrivateKey, generateKeyPairSync, type Hash, type KeyObject } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { fdatasyncAsync, openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { syncFolder, UnsyncedChange, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { type Checkpoint, checkpointsPath, keyName, parseCheckpoint, signCheckpoint, type UnsignedCheckpoint } from './checkpoints.ts';
import type { LogPosition } from './position.ts';
import { listSegments, repairSegment, segmentPath } from './segments.ts';

/** An event is covered by a checkpoint after at most this time (docs/spec/evidence.md#checkpoints). */
const checkpointEveryMs = 60_000;

/** Number of bytes that are collected before they are hashed, so that many small lines need only one call. */
const hashedAtOnceBytes = 64 * 1024;

/** Maximum number of bytes that wait in memory to be hashed. If there are more, they are read back from the file. */
const maxHeldBytes = 1024 * 1024;

/** The `previous` of the checkpoint that starts the chain again after all its checkpoints were removed. No checkpoint has this hash. */
const lostPrevious = '0'.repeat(64);

export interface EvidenceOptions {
  folder: string;
  /**
   * Path of the private key, which is created if it is missing. If there is also a file `….next`, its key replaces the current key at the
   * next checkpoint.
   */
  keyPath: string;
  clock: Clock;
  log: Log;
  /** Called with each checkpoint after it is on disk, but not with the one that `close` writes. */
  onCheckpoint: (checkpoint: Checkpoint) => void;
}

/** A segment with lines that no checkpoint covers yet. */
interface Part {
  segment: number;
  /** Number of bytes of the segment that are hashed or covered by a checkpoint. */
  hashed: number;
  /** Current size of the segment. */
  end: number;
  /** The bytes from `hashed` to `end`; undefined if they must be read from the file. */
  held: Buffer[] | undefined;
  heldBytes: number;
}

/** Writes the checkpoints of a journal. They form a signed chain of hashes over all bytes of the journal (docs/spec/evidence.md). */
export class JournalEvidence {
  readonly #options: EvidenceOptions;
  readonly #path: string;
  #key: KeyObject;
  #last: Checkpoint;
  /** Hash over `#last.hash` and the hashed bytes of the first part. */
  #hash: Hash;
  /** The parts in the order of their segments. Only the last one grows. */
  #parts: Part[];
  /** Whether there are events since the last checkpoint, apart from the event about that checkpoint. */
  #isDue = false;
  #isWriting = false;
  #isClosing = false;
  #removingTo = 0;
  readonly #runs = new SharedRuns(() => this.#write());
  readonly #timer: Timer;

  /** @param end end of the journal, whose last line must be complete @throws system errors of reading or creating the key */
  constructor(options: EvidenceOptions, end: LogPosition) {
    this.#options = options;
    this.#path = checkpointsPath(options.folder);
    const known = existsSync(this.#path) ? readLines(this.#path, options.log) : [];
    const { key, last } = openChain(options, this.#path, known, end);
    this.#key = key;
    this.#last = last;
    this.#hash = createHash('sha256').update(last.hash);
    this.#parts = this.#partsBehind(last, end);
    this.#isDue = this.#parts.some(({ hashed, end: to }) => to > hashed);
    this.#timer = options.clock.every(checkpointEveryMs, () => void this.#runs.run());
  }

  /**
   * Adds lines that were appended to the journal.
   *
   * @param segment number of the segment
   * @param isOwn whether the lines are the event about a checkpoint; this event needs no further checkpoint
   */
  add(segment: number, bytes: Buffer, isOwn: boolean): void {
    let part = this.#parts.at(-1);
    if (part?.segment !== segment) {
      part = { segment, hashed: 0, end: 0, held: [], heldBytes: 0 };
      this.#parts.push(part);
      if (this.#parts.length > 1) void this.#runs.run();
    }
    part.end += bytes.length;
    this.#isDue ||= !isOwn;
    if (!part.held) return;
    part.held.push(bytes);
    part.heldBytes += bytes.length;
    if (part.heldBytes >= hashedAtOnceBytes && part === this.#parts[0] && !this.#isWriting) this.#hashHeld(part);
    else if (part.heldBytes > maxHeldBytes) part.held = undefined;
  }

  /**
   * Resolves when a checkpoint states that retention removes the segments up to and including `segment`. @throws Error if that checkpoint
   * cannot be written
   */
  async removing(segment: number): Promise<void> {
    this.#removingTo = Math.max(this.#removingTo, segment);
    await this.#runs.run();
    if ((this.#last.removed_to ?? 0) < segment) throw new Error('The checkpoint of the removal could not be written.');
  }

  /** Writes a last checkpoint, which covers the whole journal. */
  async close(): Promise<void> {
    this.#timer.cancel();
    this.#isClosing = true;
    await this.#runs.run();
  }

  async #write(): Promise<void> {
    try {
      for (let part = this.#parts[0]; part; part = this.#parts[0]) {
        const isEnded = this.#parts.length > 1;
        const isWanted = isEnded || this.#isDue || this.#isClosing || this.#isRemoving || existsSync(nextKeyPath(this.#options.keyPath));
        if (!isWanted) return;
        if (!isEnded) this.#isDue = false;
        await this.#checkpoint(part);
        if (!isEnded) return;
        this.#parts.shift();
      }
    } catch (error) {
      this.#isDue = true;
      this.#options.log.error('a checkpoint of the journal could not be written', { path: this.#path, reason: error });
    } finally {
      this.#isWriting = false;
    }
  }

  get #isRemoving(): boolean {
    return this.#removingTo > (this.#last.removed_to ?? 0);
  }

  async #checkpoint(part: Part): Promise<void> {
    const { clock, keyPath, folder } = this.#options;
    const fd = openIfThere(segmentPath(folder, part.segment));
    // Somebody removed the file, so no checkpoint can be written for it. A verification will find this.
    if (fd === undefined) return;
    try {
      await this.#hashPart(part, fd);
      this.#isWriting = true;
      const nextKey = readKey(nextKeyPath(keyPath));
      const position = part.hashed;
      const isNew = part.segment !== this.#last.segment || position !== this.#last.position;
      if (!isNew && !this.#isRemoving && !nextKey) return;
      const unsigned: UnsignedCheckpoint = {
        segment: part.segment,
        position,
        hash: this.#hash.copy().digest('hex'),
        previous: this.#last.hash,
        time: new Date(clock.nowMs()).toISOString(),
        key: keyName(this.#key),
      };
      const removedTo = Math.max(this.#removingTo, this.#last.removed_to ?? 0);
      if (removedTo > 0) unsigned.removed_to = removedTo;
      if (nextKey) unsigned.next_key = keyName(nextKey);
      // The lines are synced first, so that no checkpoint covers lines that a power cut loses.
      await fdatasyncAsync(fd);
      await this.#keep(signCheckpoint(unsigned, this.#key));
      // The checkpoint has announced the key, so later ones are signed with it even if its file cannot be renamed yet.
      if (nextKey) {
        this.#key = nextKey;
        takeNextKey(keyPath, nextKey);
      }
    } finally {
      this.#isWriting = false;
      closeSync(fd);
    }
    if (!this.#isClosing) this.#options.onCheckpoint(this.#last);
  }

  async #keep(checkpoint: Checkpoint): Promise<void> {
    const line = `${JSON.stringify(checkpoint)}\n`;
    const removedTo = checkpoint.removed_to ?? 0;
    let unsynced: UnsyncedChange | undefined;
    if (removedTo > (this.#last.removed_to ?? 0)) {
      const kept = readFileSync(this.#path, 'utf8')
        .split('\n')
        .filter((text) => (parseCheckpoint(text)?.segment ?? 0) > removedTo);
      await writeFileAtomically(this.#path, kept.map((text) => `${text}\n`).join('') + line, { mode: 0o600 }).catch((error) => {
        if (!(error instanceof UnsyncedChange)) throw error;
        unsynced = error;
      });
    } else appendDurably(this.#path, line);
    // Even an unsynced checkpoint is in the file, so the next one must continue from it.
    this.#last = checkpoint;
    this.#hash = createHash('sha256').update(checkpoint.hash);
    if (unsynced) throw unsynced;
  }

  #hashHeld(part: Part): void {
    this.#hash.update(Buffer.concat(part.held as Buffer[]));
    part.hashed = part.end;
    part.held = [];
    part.heldBytes = 0;
  }

  async #hashPart(part: Part, fd: number): Promise<void> {
    const chunk = Buffer.allocUnsafe(part.held ? 0 : hashedAtOnceBytes * 4);
    while (!part.held && part.hashed < part.end) {
      const { bytesRead } = await readAsync(fd, chunk, 0, Math.min(chunk.length, part.end - part.hashed), part.hashed);
      if (bytesRead === 0) break;
      this.#hash.update(chunk.subarray(0, bytesRead));
      part.hashed += bytesRead;
    }
    part.held ??= [];
    this.#hashHeld(part);
  }

  #partsBehind(last: Checkpoint, end: LogPosition): Part[] {
    const { folder, log } = this.#options;
    const isShort = last.segment > end.segment || (last.segment === end.segment && last.position > end.offset);
    if (isShort) log.error('the journal ends before its last checkpoint; see "svc journal verify"', { folder });
    return listSegments(folder)
      .filter(({ number }) => number === end.segment || (number >= last.segment && number < end.segment))
      .map(({ number, path }) => {
        const to = number === end.segment ? end.offset : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
        const hashed = number === last.segment ? Math.min(last.position, to) : 0;
        return { segment: number, hashed, end: to, held: hashed < to ? undefined : [], heldBytes: 0 };
      });
  }
}

/** Continues the chain of checkpoints, or begins one. @returns the current key and the last checkpoint */
function openChain(
  { folder, keyPath, clock, log }: EvidenceOptions,
  path: string,
  known: readonly string[],
  end: LogPosition,
): { key: KeyObject; last: Checkpoint } {
  const found = readKey(keyPath);
  const last = parseCheckpoint(known.at(-1) ?? '');
  const next = readKey(nextKeyPath(keyPath));
  if (found && last) return { key: next && last.next_key === keyName(next) ? takeNextKey(keyPath, next) : found, last };
  // The first checkpoint is written before the key. If there is a key but no checkpoint, somebody removed the checkpoints.
  const isFirst = !found && known.length <= 1;
  if (!isFirst)
    log.error('the journal has lost its checkpoints or their key; see "svc journal verify"', { checkpoints: path, key: keyPath });
  const key = found ?? generateKeyPairSync('ed25519').privateKey;
  const previous = isFirst ? '' : (last?.hash ?? lostPrevious);
  const first: UnsignedCheckpoint = {
    segment: end.segment,
    position: last?.segment === end.segment ? last.position : 0,
    hash: createHash('sha256').update(previous).digest('hex'),
    previous,
    time: new Date(clock.nowMs()).toISOString(),
    key: keyName(key),
  };
  const oldest = listSegments(folder)[0]?.number ?? end.segment;
  if (oldest > 1) first.removed_to = oldest - 1;
  const checkpoint = signCheckpoint(first, key);
  appendDurably(path, `${JSON.stringify(checkpoint)}\n`, isFirst ? 'w' : 'a');
  if (!found) writeKey(keyPath, key);
  return { key, last: checkpoint };
}

function readLines(path: string, log: Log): string[] {
  repairSegment(path, log);
  return readFileSync(path, 'utf8').split('\n').slice(0, -1);
}

function appendDurably(path: string, text: string, flag = 'a'): void {
  const isNew = !existsSync(path);
  const fd = openSync(path, flag, 0o600);
  try {
    const { size } = fstatSync(fd);
    try {
      writeSync(fd, text);
      fdatasyncSync(fd);
    } catch (error) {
      // The next line continues from the last durable line, so this one must not stay.
      ftruncateSync(fd, size);
      throw error;
    }
  } finally {
    closeSync(fd);
  }
  if (isNew) syncFolder(dirname(path));
}

/** Returns the path of the key that replaces the current one at the next checkpoint. `svc journal key rotate` writes it. */
export function nextKeyPath(keyPath: string): string {
  return `${keyPath}.next`;
}

function takeNextKey(keyPath: string, key: KeyObject): KeyObject {
  renameSync(nextKeyPath(keyPath), keyPath);
  syncFolder(dirname(keyPath));
  return key;
}

/** Writes a private key that only the service's user may read. @throws Error `EEXIST` if the file exists */
export function writeKey(path: string, key: KeyObject): void {
  appendDurably(path, key.export({ type: 'pkcs8', format: 'pem' }).toString(), 'wx');
}

/** Reads a private key. @returns undefined if the file does not exist */
export function readKey(path: string): KeyObject | undefined {
  const fd = openIfThere(path);
  if (fd === undefined) return undefined;
  try {
    return createPrivateKey(readFileSync(fd));
  } finally {
    closeSync(fd);
  }
}
