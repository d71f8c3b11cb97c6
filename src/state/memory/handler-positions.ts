import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { makeFolders, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { readDeliveries } from '../../webhooks/records/delivery-log.ts';
import { readWaiting, type WaitingRetry } from '../../webhooks/retries.ts';

interface Pause {
  /** ISO 8601, UTC. */
  since: string;
  by: string;
}

/** The paused handlers. They are saved in a file beside the positions, so that a pause survives a restart. */
export class Pauses {
  readonly #path: string;
  readonly #log: Log;
  readonly #paused: Map<string, Pause>;
  #saving: Promise<void> = Promise.resolve();

  constructor(folder: string, log: Log) {
    this.#path = pausesPath(folder);
    this.#log = log;
    this.#paused = readPauses(folder, (reason) => log.error('it is not known which event handlers were paused', { reason }));
  }

  get(handler: string): Pause | undefined {
    return this.#paused.get(handler);
  }

  /** Pauses a handler immediately. The pause is on disk when the promise resolves. @throws ServiceError `storage-full` or `internal` */
  async add(handler: string, pause: Pause): Promise<void> {
    this.#paused.set(handler, pause);
    await this.#save().catch((error) => {
      this.#paused.delete(handler);
      throw error;
    });
  }

  /** Ends a pause immediately. The change is on disk when the promise resolves. @throws ServiceError `storage-full` or `internal` */
  async remove(handler: string): Promise<void> {
    const pause = this.#paused.get(handler);
    if (!pause) return;
    this.#paused.delete(handler);
    await this.#save().catch((error) => {
      this.#paused.set(handler, pause);
      throw error;
    });
  }

  /** Removes handlers that left the configuration. Never throws. */
  async keepOnly(handlers: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#paused.keys()].filter((uuid) => !handlers.has(uuid));
    if (gone.length === 0) return;
    for (const uuid of gone) this.#paused.delete(uuid);
    await this.#save().catch((error) => this.#log.warn('pauses of event handlers could not be saved', { reason: error }));
  }

  #save(): Promise<void> {
    const write = async () => {
      const text = `${JSON.stringify({ handlers: Object.fromEntries(this.#paused) }, null, 2)}\n`;
      try {
        makeFolders(join(this.#path, '..'), { mode: 0o700 });
        await writeFileAtomically(this.#path, text, { mode: 0o600 });
      } catch (error) {
        const isFull = systemErrorCode(error) === 'ENOSPC' || systemErrorCode(error) === 'EDQUOT';
        throw new ServiceError(isFull ? 'storage-full' : 'internal', 'The pause could not be written to disk.', { cause: error });
      }
    };
    const saving = this.#saving.then(write);
    this.#saving = saving.catch(() => {});
    return saving;
  }
}

/** Reads the pauses from disk, at startup or while a service is running. */
export function readPauses(folder: string, onDamage: (reason: string) => void): Map<string, Pause> {
  const { handlers } = readStateFile(pausesPath(folder), onDamage);
  return new Map(Object.entries(isObject(handlers) ? handlers : {}) as [string, Pause][]);
}

function pausesPath(folder: string): string {
  return join(folder, 'paused.json');
}

/**
 * Keeps the position of each handler in the journal, and saves the positions in a file at intervals. Deliveries after the last save are
 * found in the record of deliveries, to which each delivery is written. Therefore the file also contains the position at which that record
 * ended when the file was saved.
 */
export class HandlerPositions {
  readonly #path: string;
  readonly #log: Log;
  readonly #positions = new Map<string, LogPosition>();
  readonly #waiting = new Map<string, readonly WaitingRetry[]>();
  #saved = '';
  #saving: Promise<void> = Promise.resolve();

  private constructor(folder: string, log: Log) {
    this.#path = positionsPath(folder);
    this.#log = log;
  }

  /** Reads the positions that the previous process saved. */
  static async open(folder: string, log: Log): Promise<HandlerPositions> {
    makeFolders(folder, { mode: 0o700 });
    const positions = new HandlerPositions(folder, log);
    for (const [uuid, position] of await readPositions(folder, (reason) => log.warn('a record of a delivery was skipped', { reason })))
      positions.#positions.set(uuid, position);
    const { waiting } = readStateFile(positions.#path, () => {});
    for (const [uuid, list] of Object.entries(isObject(waiting) ? waiting : {})) positions.#waiting.set(uuid, readWaiting(list));
    return positions;
  }

  get(uuid: string): LogPosition | undefined {
    return this.#positions.get(uuid);
  }

  /** @param waiting deliveries that wait for a retry */
  set(uuid: string, position: LogPosition, waiting: readonly WaitingRetry[] = []): void {
    this.#positions.set(uuid, position);
    if (waiting.length > 0) this.#waiting.set(uuid, waiting);
    else this.#waiting.delete(uuid);
  }

  waiting(uuid: string): readonly WaitingRetry[] {
    return this.#waiting.get(uuid) ?? [];
  }

  handlers(): IterableIterator<string> {
    return this.#positions.keys();
  }

  oldest(uuids: readonly string[]): LogPosition | undefined {
    return uuids.flatMap((uuid) => this.#positions.get(uuid) ?? []).sort(comparePositions)[0];
  }

  /** Removes handlers that left the configuration. */
  keepOnly(uuids: ReadonlySet<string>): void {
    for (const uuid of [...this.#positions.keys()]) if (!uuids.has(uuid)) this.#forget(uuid);
  }

  #forget(uuid: string): void {
    this.#positions.delete(uuid);
    this.#waiting.delete(uuid);
  }

  /** Writes the file if its content changed. Never throws, because lost progress only means that events are delivered again. */
  save(deliveriesEnd: LogPosition): Promise<void> {
    const handlers = Object.fromEntries([...this.#positions].map(([uuid, position]) => [uuid, formatPosition(position)]));
    const waiting = this.#waiting.size > 0 ? { waiting: Object.fromEntries(this.#waiting) } : {};
    const text = `${JSON.stringify({ deliveries: formatPosition(deliveriesEnd), handlers, ...waiting }, null, 2)}\n`;
    if (text !== this.#saved) this.#saving = this.#saving.then(() => this.#write(text));
    return this.#saving;
  }

  async #write(text: string): Promise<void> {
    if (text === this.#saved) return;
    try {
      await writeFileAtomically(this.#path, text, { mode: 0o600 });
      this.#saved = text;
    } catch (error) {
      this.#log.error('the positions of the event handlers could not be saved', { path: this.#path, reason: error });
    }
  }
}

/** Reads the positions from disk, at startup or while a service is running. */
export async function readPositions(folder: string, onBadLine: (reason: string) => void): Promise<Map<string, LogPosition>> {
  const { deliveries, handlers } = readStateFile(positionsPath(folder), onBadLine);
  const positions = new Map<string, LogPosition>();
  const advance = (uuid: string, text: string) => {
    const position = parsePosition(text);
    const present = positions.get(uuid);
    if (position && (!present || comparePositions(position, present) > 0)) positions.set(uuid, position);
  };
  for (const [uuid, text] of Object.entries(isObject(handlers) ? handlers : {})) advance(uuid, String(text));
  const from = typeof deliveries === 'string' ? parsePosition(deliveries) : undefined;
  for await (const { record } of readDeliveries(folder, 'deliveries', from, onBadLine))
    if (record.resume !== undefined) advance(record.handler, record.resume);
  return positions;
}

function positionsPath(folder: string): string {
  return join(folder, 'positions.json');
}

/** Reads the members of a state file. Returns no members if the file does not exist or is damaged. */
export function readStateFile(path: string, onDamage: (reason: string) => void): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isObject(value) ? value : {};
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') onDamage(`${path}: ${(error as Error).message}`);
    return {};
  }
}
