/**
 * Shares out the files and folders that a process may have open for SFTP clients: an account may have as many as are left for all others,
 * so that the first leaves half, and whoever comes later finds some.
 */
export class HandleShares {
  readonly #most: number;
  #taken = 0;
  readonly #ofAccounts = new Map<string, number>();

  /** @param most of all accounts together */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a place of an account. @returns gives it back, once; undefined when the account has its share */
  take(accountUuid: string): (() => void) | undefined {
    const own = this.#ofAccounts.get(accountUuid) ?? 0;
    if (own >= this.#most - this.#taken) return undefined;
    this.#change(accountUuid, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(accountUuid, -1);
      isTaken = false;
    };
  }

  #change(accountUuid: string, by: 1 | -1): void {
    const own = (this.#ofAccounts.get(accountUuid) ?? 0) + by;
    this.#taken += by;
    if (own > 0) this.#ofAccounts.set(accountUuid, own);
    else this.#ofAccounts.delete(accountUuid);
  }
}
