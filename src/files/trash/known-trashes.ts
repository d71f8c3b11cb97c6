import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';

/** The trash of an account in one root. */
export interface KnownTrash {
  /** Real path of the root, with symbolic links resolved. */
  readonly root: string;
  /** Virtual path of the root. */
  readonly mount: string;
  readonly accountUuid: string;
  readonly account: string;
  /** UUID of the group. */
  readonly group: string;
  /** Retention in days that the account had when an item was last added. */
  readonly days: number;
}

/**
 * Records, in the data folder, the roots that have a trash. So old items are deleted even if the account to which the trash belongs never
 * signs in again.
 */
export class KnownTrashes {
  readonly #folder: string;
  readonly #written = new Map<string, string>();
  #daysNow: (trash: KnownTrash) => number = () => 0;

  constructor(dataFolderPath: string) {
    this.#folder = join(dataFolderPath, 'trash');
  }

  /**
   * Applies a configuration.
   *
   * @param daysNow returns the retention of a trash in days; 0 if the account has no trash in the configuration, or is not in the
   *   configuration
   */
  configure(daysNow: (trash: KnownTrash) => number): void {
    this.#daysNow = daysNow;
  }

  /** The retention of a trash in days. If the current configuration has none, `days` of the record applies. */
  daysOf(trash: KnownTrash): number {
    return this.#daysNow(trash) || trash.days;
  }

  /** Records a trash; the record is on disk when the promise resolves. */
  async add(trash: KnownTrash): Promise<void> {
    const name = fileName(trash);
    const text = `${JSON.stringify(trash)}\n`;
    if (this.#written.get(name) === text) return;
    makeFolders(this.#folder, { mode: 0o700 });
    await writeFileAtomically(join(this.#folder, name), text, { mode: 0o600 });
    this.#written.set(name, text);
  }

  /** All known trashes, including those of other nodes that share the data folder. */
  list(): KnownTrash[] {
    return namesIn(this.#folder).flatMap((name) => {
      try {
        return parseTrash(JSON.parse(readFileSync(join(this.#folder, name), 'utf8')));
      } catch {
        // Another node removed the record, or it is damaged.
        return [];
      }
    });
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function parseTrash(value: unknown): KnownTrash[] {
  if (!isObject(value)) return [];
  const { root, mount, accountUuid, account, group, days } = value;
  const areTexts = [root, mount, accountUuid, account, group].every((text) => typeof text === 'string');
  return areTexts && typeof days === 'number' ? [value as unknown as KnownTrash] : [];
}

function fileName({ root, accountUuid }: KnownTrash): string {
  return `${createHash('sha256').update(`${accountUuid}\0${root}`).digest('hex').slice(0, 32)}.json`;
}
