import { join } from 'node:path';
import { makeFolders, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { readStateFile } from './handler-positions.ts';

/** That somebody paused a handler. */
export interface Pause {
  /** ISO 8601, UTC. */
  since: string;
  /** Who did it. */
  by: string;
}

/** Which handlers are paused, in a file beside their positions: a pause outlives the process. */
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

  /** Remembers a pause; it holds at once, and is on disk when the promise resolves. @throws ServiceError `storage-full` or `internal` */
  async add(handler: string, pause: Pause): Promise<void> {
    this.#paused.set(handler, pause);
    await this.#save().catch((error) => {
      this.#paused.delete(handler);
      throw error;
    });
  }

  /** Forgets a pause; the same way. */
  async remove(handler: string): Promise<void> {
    const pause = this.#paused.get(handler);
    if (!pause) return;
    this.#paused.delete(handler);
    await this.#save().catch((error) => {
      this.#paused.set(handler, pause);
      throw error;
    });
  }

  /** Forgets the handlers that the configuration does not have any more. Never throws. */
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

/** The pauses as they stand on disk, also for commands beside a running service. */
export function readPauses(folder: string, onDamage: (reason: string) => void): Map<string, Pause> {
  const { handlers } = readStateFile(pausesPath(folder), onDamage);
  return new Map(Object.entries(isObject(handlers) ? handlers : {}) as [string, Pause][]);
}

function pausesPath(folder: string): string {
  return join(folder, 'paused.json');
}
