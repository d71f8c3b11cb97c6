import { readFileSync } from 'node:fs';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from '../../../events/journal/position.ts';
import { writeFileAtomically } from '../../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../../lib/errors.ts';
import { positionAfter, positionOfId } from './reader.ts';

/**
 * Up to `position` the node's own files are in the stream, and what comes behind it is not, or has an ID above `id`, that of an entry of
 * the stream; `0-0` says that nothing is known of the stream.
 */
export interface Checkpoint {
  position: LogPosition;
  id: string;
  /** Monotonic time in milliseconds. */
  atMs: number;
}

/** The ID before all others. */
export const noId = '0-0';

/** What a Redis that is killed may lose is younger than this (appendfsync everysec loses a second or two). */
const surelyKeptMs = 60_000;

/** Checkpoints kept at most; of older ones every other is given up. */
const maxCheckpoints = 1000;

/** What is written of them. */
interface Kept {
  /** Tells the data of Redis from that of one that was emptied; undefined when it was not known. */
  marker: string | undefined;
  undelivered: Checkpoint;
  recent: Checkpoint;
}

/** How far the events of one node have been forwarded, and from where they would have to be forwarded again after a loss. */
export class Checkpoints {
  readonly #path: string;
  /** In the order of their positions. */
  #all: Checkpoint[];
  #delivered: LogPosition;
  #marker: string | undefined;
  #saved = '';

  private constructor(path: string, all: Checkpoint[], delivered: LogPosition, marker: string | undefined) {
    this.#path = path;
    this.#all = all;
    this.#delivered = delivered;
    this.#marker = marker;
  }

  /** @param begin where forwarding begins when nothing is known yet */
  static open(path: string, begin: LogPosition): Checkpoints {
    const kept = readKept(path);
    if (!kept) return new Checkpoints(path, [{ position: begin, id: noId, atMs: Number.NEGATIVE_INFINITY }], positionOfId(noId), undefined);
    const { marker, undelivered, recent } = kept;
    const isFirst = comparePositions(undelivered.position, recent.position) <= 0;
    // What an earlier process noted later than `recent` may be what a killed Redis lost.
    const all = isFirst ? [undelivered, recent] : [recent, { ...undelivered, atMs: Number.POSITIVE_INFINITY }];
    return new Checkpoints(path, all, positionAfter(positionOfId(undelivered.id)), marker);
  }

  /** The marker of the Redis that they belong to, where it is known. */
  get marker(): string | undefined {
    return this.#marker;
  }

  add(checkpoint: Checkpoint): void {
    this.#all.push(checkpoint);
    if (this.#all.length > maxCheckpoints) this.#all = this.#all.filter((_, index) => index % 2 === 0 || index > maxCheckpoints / 2);
  }

  /** From here on anything may be missing in a Redis that was killed. */
  recent(nowMs: number): Checkpoint {
    return this.#all.findLast(({ atMs }) => nowMs - atMs >= surelyKeptMs) ?? (this.#all[0] as Checkpoint);
  }

  /** From here on something may not have been delivered yet: where to begin for a Redis that was emptied. */
  get undelivered(): Checkpoint {
    return this.#all.findLast(({ id }) => comparePositions(positionOfId(id), this.#delivered) < 0) ?? (this.#all[0] as Checkpoint);
  }

  /** The oldest position that may have to be forwarded again. */
  get neededFrom(): LogPosition {
    return (this.#all[0] as Checkpoint).position;
  }

  /** Notes how far the handlers are, and forgets what is behind. @param delivered what all handlers have behind them */
  forget(nowMs: number, delivered: LogPosition): void {
    this.#delivered = delivered;
    const keepFrom = Math.min(this.#all.indexOf(this.recent(nowMs)), this.#all.indexOf(this.undelivered));
    this.#all.splice(0, keepFrom);
  }

  /** Notes which Redis they belong to. @param id the last ID of its stream, for a node that has sent nothing yet */
  belongTo(marker: string, id: string): void {
    this.#marker = marker;
    const [only] = this.#all;
    if (only && this.#all.length === 1 && only.id === noId) only.id = id;
  }

  /** Begins anew for a Redis that lost what was forwarded. */
  restart(marker: string): void {
    this.#all = [{ position: this.undelivered.position, id: noId, atMs: Number.NEGATIVE_INFINITY }];
    this.#delivered = positionOfId(noId);
    this.#marker = marker;
  }

  /** Writes what a later process needs. */
  async save(nowMs: number): Promise<void> {
    const shown = ({ position, id }: Checkpoint) => ({ position: formatPosition(position), id });
    const kept = { version: 1, marker: this.#marker, undelivered: shown(this.undelivered), recent: shown(this.recent(nowMs)) };
    const text = `${JSON.stringify(kept)}\n`;
    if (text === this.#saved) return;
    await writeFileAtomically(this.#path, text, { mode: 0o600 });
    this.#saved = text;
  }
}

function readKept(path: string): Kept | undefined {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown> | unknown[];
    // Before there were versions: a list, whose first was the oldest that was needed, and no marker.
    const { marker, undelivered, recent } = Array.isArray(value)
      ? { marker: undefined, undelivered: value[0], recent: value.at(-1) }
      : value;
    const found = [checkpointOf(undelivered), checkpointOf(recent)] as const;
    if (!found[0] || !found[1]) return undefined;
    return { marker: typeof marker === 'string' ? marker : undefined, undelivered: found[0], recent: found[1] };
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function checkpointOf(value: unknown): Checkpoint | undefined {
  const { position: text, id } = (value ?? {}) as { position?: unknown; id?: unknown };
  const position = typeof text === 'string' ? parsePosition(text) : undefined;
  return position && typeof id === 'string' && /^\d+-\d+$/.test(id) ? { position, id, atMs: Number.NEGATIVE_INFINITY } : undefined;
}
