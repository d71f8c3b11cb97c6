import { NamedCounts } from '../lib/concurrency/slots.ts';

/**
 * Limits the files and folders that SFTP clients may have open in a process: an account gets another one only while it has fewer than are
 * still free, so that no account takes all.
 */
export class HandleShares {
  readonly #max: number;
  #taken = 0;
  readonly #byAccount = new NamedCounts();

  /** @param max for all accounts together */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a handle for an account. @returns gives it back; undefined when the account has its share */
  take(accountUuid: string): (() => void) | undefined {
    if (this.#byAccount.get(accountUuid) >= this.#max - this.#taken) return undefined;
    this.#change(accountUuid, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(accountUuid, -1);
      isTaken = false;
    };
  }

  #change(accountUuid: string, by: 1 | -1): void {
    this.#taken += by;
    this.#byAccount.add(accountUuid, by);
  }
}
