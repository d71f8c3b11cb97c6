import type { Peer } from './peer.ts';

interface Wish {
  peer: Peer;
  grant: () => void;
}

/** Lets one worker at a time decide about a path and change it, in the order in which they asked. */
export class Turns {
  /** The first of each list has its turn. */
  readonly #wishes = new Map<string, Wish[]>();

  /** Resolves when it is the worker's turn. */
  take(peer: Peer, path: string): Promise<void> {
    return new Promise((grant) => {
      const wishes = this.#wishes.get(path) ?? [];
      wishes.push({ peer, grant });
      this.#wishes.set(path, wishes);
      if (wishes.length === 1) grant();
    });
  }

  /** The worker whose turn it is has done. */
  end(peer: Peer, path: string): void {
    const wishes = this.#wishes.get(path);
    if (wishes?.[0]?.peer === peer) this.#next(path, wishes.slice(1));
  }

  /** A worker is gone. */
  lose(peer: Peer): void {
    for (const [path, wishes] of [...this.#wishes]) {
      const hadTurn = wishes[0]?.peer === peer;
      const left = wishes.filter((wish) => wish.peer !== peer);
      if (hadTurn) this.#next(path, left);
      else this.#wishes.set(path, left);
    }
  }

  #next(path: string, wishes: Wish[]): void {
    if (wishes.length === 0) this.#wishes.delete(path);
    else this.#wishes.set(path, wishes);
    wishes[0]?.grant();
  }
}
