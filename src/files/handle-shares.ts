import { NamedCounts } from '../lib/concurrency/slots.ts';

/**
 * Limits the number of files and folders that SFTP clients may have open in a process. An account that has n handles gets another one only
 * if more than n are free. So no account can take all handles.
 */
export class HandleShares {
  readonly #max: number;
  #taken = 0;
  readonly #byAccount = new NamedCounts();

  /** @param max number of handles for all accounts together */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a handle for an account. @returns a function that gives it back; undefined if the account already has its share */
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
