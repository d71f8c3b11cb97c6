import { readFileSync } from 'node:fs';
import { writeFileAtomically } from '../lib/atomic-write.ts';
import { systemErrorCode } from '../lib/errors.ts';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from './event-log-position.ts';
import { positionOfId } from './event-log-redis-reader.ts';

/** Up to here the node's own files are in the stream, whose last entry of that moment was `id`. */
export interface Checkpoint {
  position: LogPosition;
  id: string;
  /** Monotonic time in milliseconds. */
  atMs: number;
}

/** What a Redis that is killed may lose is younger than this (appendfsync everysec loses a second or two). */
const surelyKeptMs = 60_000;

/** Checkpoints kept at most; of older ones every other is given up. */
const mostCheckpoints = 1000;

/** How far the events of one node have been forwarded, and from where they would have to be forwarded again after a loss. */
export class Checkpoints {
  readonly #path: string;
  #all: Checkpoint[];
  #saved = '';

  private constructor(path: string, all: Checkpoint[]) {
    this.#path = path;
    this.#all = all;
  }

  /** @param begin where forwarding begins when nothing is known yet */
  static open(path: string, begin: LogPosition): Checkpoints {
    const kept = readKept(path);
    return new Checkpoints(path, kept.length > 0 ? kept : [{ position: begin, id: '0-0', atMs: Number.NEGATIVE_INFINITY }]);
  }

  add(checkpoint: Checkpoint): void {
    this.#all.push(checkpoint);
    if (this.#all.length > mostCheckpoints) this.#all = this.#all.filter((_, index) => index % 2 === 0 || index > mostCheckpoints / 2);
  }

  /** From here on anything may be missing in a Redis that was killed. */
  recent(nowMs: number): Checkpoint {
    return this.#all.findLast(({ atMs }) => nowMs - atMs >= surelyKeptMs) ?? (this.#all[0] as Checkpoint);
  }

  /** From here on something was not delivered yet: where to begin for a Redis that was emptied. */
  get oldest(): Checkpoint {
    return this.#all[0] as Checkpoint;
  }

  /** Forgets what is behind. @param delivered what all handlers have behind them */
  forget(nowMs: number, delivered: LogPosition): void {
    const recent = this.recent(nowMs);
    const isDone = (checkpoint: Checkpoint) =>
      checkpoint.atMs <= recent.atMs && comparePositions(positionOfId(checkpoint.id), delivered) < 0;
    const keepFrom = this.#all.findLastIndex(isDone);
    if (keepFrom > 0) this.#all.splice(0, keepFrom);
  }

  /** Writes what a later process needs. */
  async save(nowMs: number): Promise<void> {
    const kept = [this.oldest, this.recent(nowMs)].map(({ position, id }) => ({ position: formatPosition(position), id }));
    const text = `${JSON.stringify(kept)}\n`;
    if (text === this.#saved) return;
    await writeFileAtomically(this.#path, text, { mode: 0o600 });
    this.#saved = text;
  }
}

function readKept(path: string): Checkpoint[] {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as { position: string; id: string }[];
    return kept.flatMap(({ position: text, id }) => {
      const position = parsePosition(text);
      return position && /^\d+-\d+$/.test(id) ? [{ position, id, atMs: Number.NEGATIVE_INFINITY }] : [];
    });
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof TypeError) return [];
    throw error;
  }
}
