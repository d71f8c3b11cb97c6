import { readFileSync } from 'node:fs';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from '../../../events/journal/position.ts';
import { writeFileAtomically } from '../../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../../lib/errors.ts';
import { parseStreamId, positionAfter } from './reader.ts';

/**
 * States how far events were forwarded. The stream that all nodes share has all events of this node's journal up to `position`. Each later
 * event is either missing in the stream, or has an ID above `id`. If `id` is `0-0`, nothing is known about the stream.
 */
export interface Checkpoint {
  position: LogPosition;
  id: string;
  atMs: number;
}

/** The ID before the first entry. */
export const noId = '0-0';

/**
 * An entry of at least this age, in milliseconds, is not lost if Redis is killed. With appendfsync everysec, only the last second or two is
 * lost.
 */
const surelyKeptMs = 60_000;

/** If there are more checkpoints than this, every second one of the older half is dropped. */
const maxCheckpoints = 1000;

interface SavedCheckpoints {
  /** Identifies the data of Redis, and changes when Redis is emptied. Undefined while it is unknown. */
  marker: string | undefined;
  undelivered: Checkpoint;
  recent: Checkpoint;
}

/** Records how far the events of one node have been forwarded, and where forwarding has to start again if Redis loses them. */
export class Checkpoints {
  readonly #path: string;
  /** Ordered by position. */
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

  /** @param begin position at which forwarding starts if no checkpoint was saved */
  static open(path: string, begin: LogPosition): Checkpoints {
    const kept = readSaved(path);
    if (!kept)
      return new Checkpoints(path, [{ position: begin, id: noId, atMs: Number.NEGATIVE_INFINITY }], parseStreamId(noId), undefined);
    const { marker, undelivered, recent } = kept;
    const isFirst = comparePositions(undelivered.position, recent.position) <= 0;
    // If `undelivered` comes after `recent`, `undelivered` must never count as recent, because a killed Redis may have lost the entries
    // after `recent`.
    const all = isFirst ? [undelivered, recent] : [recent, { ...undelivered, atMs: Number.POSITIVE_INFINITY }];
    return new Checkpoints(path, all, positionAfter(parseStreamId(undelivered.id)), marker);
  }

  /** The marker of the Redis data that the checkpoints belong to, if known. */
  get marker(): string | undefined {
    return this.#marker;
  }

  add(checkpoint: Checkpoint): void {
    this.#all.push(checkpoint);
    if (this.#all.length > maxCheckpoints) this.#all = this.#all.filter((_, index) => index % 2 === 0 || index > maxCheckpoints / 2);
  }

  /**
   * The newest checkpoint that is at least `surelyKeptMs` old; without one, the oldest checkpoint. Even a killed Redis still has the
   * entries up to this checkpoint. Later entries may be lost.
   */
  recent(nowMs: number): Checkpoint {
    return this.#all.findLast(({ atMs }) => nowMs - atMs >= surelyKeptMs) ?? (this.#all[0] as Checkpoint);
  }

  /** The checkpoint at which forwarding starts again after Redis was emptied. Later events may not have been delivered. */
  get undelivered(): Checkpoint {
    return this.#all.findLast(({ id }) => comparePositions(parseStreamId(id), this.#delivered) < 0) ?? (this.#all[0] as Checkpoint);
  }

  /** The oldest position that may have to be forwarded again. */
  get neededFrom(): LogPosition {
    return (this.#all[0] as Checkpoint).position;
  }

  /** Drops checkpoints that are no longer needed. @param delivered position of the slowest handler */
  forget(nowMs: number, delivered: LogPosition): void {
    this.#delivered = delivered;
    const keepFrom = Math.min(this.#all.indexOf(this.recent(nowMs)), this.#all.indexOf(this.undelivered));
    this.#all.splice(0, keepFrom);
  }

  /**
   * States which data of Redis the checkpoints belong to.
   *
   * @param id last ID of the stream; a node that has sent nothing yet starts there
   */
  belongTo(marker: string, id: string): void {
    this.#marker = marker;
    const [only] = this.#all;
    if (only && this.#all.length === 1 && only.id === noId) only.id = id;
  }

  /** Starts again after Redis lost forwarded events. */
  restart(marker: string): void {
    this.#all = [{ position: this.undelivered.position, id: noId, atMs: Number.NEGATIVE_INFINITY }];
    this.#delivered = parseStreamId(noId);
    this.#marker = marker;
  }

  /** Saves the state that the next process needs. */
  async save(nowMs: number): Promise<void> {
    const shown = ({ position, id }: Checkpoint) => ({ position: formatPosition(position), id });
    const kept = { version: 1, marker: this.#marker, undelivered: shown(this.undelivered), recent: shown(this.recent(nowMs)) };
    const text = `${JSON.stringify(kept)}\n`;
    if (text === this.#saved) return;
    await writeFileAtomically(this.#path, text, { mode: 0o600 });
    this.#saved = text;
  }
}

function readSaved(path: string): SavedCheckpoints | undefined {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown> | unknown[];
    // Older files have no version. They contain a list without a marker, oldest checkpoint first.
    const { marker, undelivered, recent } = Array.isArray(value)
      ? { marker: undefined, undelivered: value[0], recent: value.at(-1) }
      : value;
    const found = [parseCheckpoint(undelivered), parseCheckpoint(recent)] as const;
    if (!found[0] || !found[1]) return undefined;
    return { marker: typeof marker === 'string' ? marker : undefined, undelivered: found[0], recent: found[1] };
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function parseCheckpoint(value: unknown): Checkpoint | undefined {
  const { position: text, id } = (value ?? {}) as { position?: unknown; id?: unknown };
  const position = typeof text === 'string' ? parsePosition(text) : undefined;
  return position && typeof id === 'string' && /^\d+-\d+$/.test(id) ? { position, id, atMs: Number.NEGATIVE_INFINITY } : undefined;
}
