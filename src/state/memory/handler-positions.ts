import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { makeFolders, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { readDeliveries } from '../../webhooks/records/delivery-log.ts';

/**
 * Where each handler goes on in the journal. The file, which says how far the record of deliveries was counted in, is written now and then;
 * the record, which each delivery is written to at once, tells what came after.
 */
export class HandlerPositions {
  readonly #path: string;
  readonly #log: Log;
  readonly #positions = new Map<string, LogPosition>();
  #saved = '';
  #saving: Promise<void> = Promise.resolve();

  private constructor(folder: string, log: Log) {
    this.#path = positionsPath(folder);
    this.#log = log;
  }

  /** Reads the positions as the process before left them. */
  static async open(folder: string, log: Log): Promise<HandlerPositions> {
    makeFolders(folder, { mode: 0o700 });
    const positions = new HandlerPositions(folder, log);
    for (const [uuid, position] of await readPositions(folder, (reason) => log.warn('a record of a delivery was skipped', { reason })))
      positions.#positions.set(uuid, position);
    return positions;
  }

  get(uuid: string): LogPosition | undefined {
    return this.#positions.get(uuid);
  }

  set(uuid: string, position: LogPosition): void {
    this.#positions.set(uuid, position);
  }

  /** All handlers that have a position. */
  handlers(): IterableIterator<string> {
    return this.#positions.keys();
  }

  /** The oldest position of these handlers. */
  oldest(uuids: readonly string[]): LogPosition | undefined {
    return uuids.flatMap((uuid) => this.#positions.get(uuid) ?? []).sort(comparePositions)[0];
  }

  /** Forgets the handlers that the configuration does not have any more. */
  keepOnly(uuids: ReadonlySet<string>): void {
    for (const uuid of [...this.#positions.keys()]) if (!uuids.has(uuid)) this.#positions.delete(uuid);
  }

  /** Writes the file when something changed. Never throws: what is lost is sent again. */
  save(deliveriesEnd: LogPosition): Promise<void> {
    const handlers = Object.fromEntries([...this.#positions].map(([uuid, position]) => [uuid, formatPosition(position)]));
    const text = `${JSON.stringify({ deliveries: formatPosition(deliveriesEnd), handlers }, null, 2)}\n`;
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

/** The positions as they stand on disk, for the service at its start and for commands beside a running one. */
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

/** Members of a file of a delivery engine; none when it is not there, or damaged. */
export function readStateFile(path: string, onDamage: (reason: string) => void): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isObject(value) ? value : {};
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') onDamage(`${path}: ${(error as Error).message}`);
    return {};
  }
}
