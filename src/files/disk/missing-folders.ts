import type { Log } from '../../lib/log.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';

/** Says in the log which virtual folders have no real folder behind them: once, and again after it was there. */
export class MissingFolders {
  readonly #log: Log;
  readonly #told = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  missing(account: string, path: VirtualPath, realPath: string): void {
    if (this.#told.has(realPath)) return;
    this.#told.add(realPath);
    this.#log.warn('the real folder of a virtual folder is missing', { account, path, real_path: realPath });
  }

  found(realPath: string): void {
    this.#told.delete(realPath);
  }
}
