import { statSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { type Checked, type CheckOptions, checkConfigFile } from './check.ts';
import type { Environment } from './reading/load.ts';

/** A check holds for so long while the file stays as it is: it may take long, and whoever asks may ask again and again. */
const holdsForMs = 2000;

/** Checks the file of a running service as it stands. */
export class FileChecker {
  readonly #path: string;
  readonly #env: Environment;
  readonly #clock: Clock;
  readonly #options: CheckOptions;
  #last: { checked: Checked; version: string; atMs: number } | undefined;

  constructor(path: string, env: Environment, clock: Clock, options: CheckOptions) {
    this.#path = path;
    this.#env = env;
    this.#clock = clock;
    this.#options = options;
  }

  /** @throws ServiceError `bad-request` when the file cannot be read */
  checked(): Checked {
    const version = versionOf(this.#path);
    const atMs = this.#clock.monotonicMs();
    if (this.#last?.version === version && atMs - this.#last.atMs < holdsForMs) return this.#last.checked;
    const checked = checkConfigFile(this.#path, this.#env, this.#options);
    this.#last = { checked, version, atMs };
    return checked;
  }
}

function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.dev}-${stats.ino}-${stats.size}-${stats.mtimeNs}-${stats.ctimeNs}` : '';
}
