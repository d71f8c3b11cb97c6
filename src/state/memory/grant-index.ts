import { type Grant, type GrantChange, mergeGrants } from '../../auth/grants/grant.ts';

/** Finds grants (tokens and shared links) in memory by ID, by the hash of their secret, and by account. */
export class GrantIndex {
  readonly #byId = new Map<string, Grant>();
  readonly #byHash = new Map<string, Grant>();
  readonly #ofAccounts = new Map<string, Set<string>>();

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): Grant | undefined {
    return this.#byId.get(id);
  }

  find(hash: string): Grant | undefined {
    return this.#byHash.get(hash);
  }

  all(): IterableIterator<Grant> {
    return this.#byId.values();
  }

  /** Returns the grants of an account, in the order in which they were created. */
  ofAccount(uuid: string): Grant[] {
    return [...(this.#ofAccounts.get(uuid) ?? [])].flatMap((id) => this.#byId.get(id) ?? []);
  }

  /** Adds a grant, or merges it with the known copy. */
  put(grant: Grant): Grant {
    const known = this.#byId.get(grant.id);
    const joined = known ? mergeGrants(known, grant) : grant;
    this.#byId.set(grant.id, joined);
    this.#byHash.set(grant.hash, joined);
    if (!known) {
      const own = this.#ofAccounts.get(grant.account.uuid) ?? new Set();
      this.#ofAccounts.set(grant.account.uuid, own.add(grant.id));
    }
    return joined;
  }

  /** Changes a grant. @returns the changed grant, or undefined if the grant is unknown */
  change(change: GrantChange): Grant | undefined {
    const known = this.#byId.get(change.id);
    return known && this.put({ ...known, ...change });
  }

  remove({ id, hash, account }: Grant): void {
    this.#byId.delete(id);
    this.#byHash.delete(hash);
    const own = this.#ofAccounts.get(account.uuid);
    own?.delete(id);
    if (own?.size === 0) this.#ofAccounts.delete(account.uuid);
  }
}
