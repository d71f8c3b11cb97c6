/**
 * Shares the files and folders that a process may have open for SFTP clients: an account may have as many as are left for all others, so
 * that no account takes all.
 */
export class HandleShares {
  readonly #max: number;
  #taken = 0;
  readonly #byAccount = new Map<string, number>();

  /** @param max for all accounts together */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a handle for an account. @returns gives it back; undefined when the account has its share */
  take(accountUuid: string): (() => void) | undefined {
    const own = this.#byAccount.get(accountUuid) ?? 0;
    if (own >= this.#max - this.#taken) return undefined;
    this.#change(accountUuid, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(accountUuid, -1);
      isTaken = false;
    };
  }

  #change(accountUuid: string, by: 1 | -1): void {
    const own = (this.#byAccount.get(accountUuid) ?? 0) + by;
    this.#taken += by;
    if (own > 0) this.#byAccount.set(accountUuid, own);
    else this.#byAccount.delete(accountUuid);
  }
}
