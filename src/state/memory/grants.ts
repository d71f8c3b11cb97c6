import {
  type Grant,
  type GrantChange,
  type GrantEnd,
  isForgettable,
  type LinkChange,
  revisedGrant,
  whyOver,
} from '../../auth/grants/grant.ts';
import { type GrantStore, maxVisits, requireRoom, useRecordedEveryMs, visitCountedEveryMs } from '../../auth/grants/grant-store.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import type { Log } from '../../lib/log.ts';
import { GrantFile } from './grant-file.ts';
import { GrantIndex } from './grant-index.ts';

const forgetEveryMs = 3_600_000;

/**
 * Keeps grants (tokens and shared links) in memory and in a file of the data folder. They are the grants of a single process, or a node's
 * copy of the grants of all nodes.
 */
export class FileGrants implements GrantStore {
  readonly index = new GrantIndex();
  readonly #file: GrantFile;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners: ((grants: readonly Grant[]) => void)[] = [];
  readonly #forgetting: Timer;
  /** Grants that are being added. They already count towards the limit. */
  readonly #adding = new Set<Grant>();
  readonly #visits = new ExpiringMap<true>(maxVisits);

  /** @throws system errors of opening and reading the file */
  constructor(dataFolderPath: string, dependencies: { clock: Clock; log: Log }) {
    this.#file = new GrantFile(dataFolderPath, this.index, dependencies);
    this.#clock = dependencies.clock;
    this.#log = dependencies.log;
    this.#forgetting = this.#clock.every(forgetEveryMs, () => this.#forget());
  }

  async add(grant: Grant, maximum: number): Promise<void> {
    this.requireRoom(grant, maximum);
    this.#adding.add(grant);
    try {
      await this.#file.write([grant]);
      this.index.put(grant);
    } finally {
      this.#adding.delete(grant);
    }
  }

  /** @throws ServiceError `too-many-requests` */
  requireRoom(grant: Grant, maximum: number): void {
    const { uuid } = grant.account;
    const adding = [...this.#adding].filter(({ account }) => account.uuid === uuid);
    requireRoom(grant, [...this.index.ofAccount(uuid), ...adding], maximum, (other) => this.#isInForce(other));
  }

  find(hash: string): Grant | undefined {
    return this.index.find(hash);
  }

  get(id: string): Grant | undefined {
    return this.index.get(id);
  }

  known(): Iterable<Grant> {
    return this.index.all();
  }

  async list(accountUuid?: string): Promise<Grant[]> {
    return accountUuid === undefined ? [...this.index.all()] : this.index.ofAccount(accountUuid);
  }

  async end(ids: readonly string[], reason: GrantEnd, by: string): Promise<Grant[]> {
    const end = { reason, atMs: this.#clock.nowMs(), by };
    const ended = ids.flatMap((id) => {
      const known = this.index.get(id);
      return known && !known.end ? (this.index.change({ id, end }) ?? []) : [];
    });
    this.tell(ended);
    // The call waits even if `ended` is empty, because a concurrent call may still be writing the end of these grants.
    await this.#file.write(ended.map(({ id }) => ({ id, end })));
    return ended;
  }

  async shorten(id: string, expiresMs: number): Promise<void> {
    const shortened = this.index.change({ id, expiresMs });
    if (shortened) this.tell([shortened]);
    await this.#file.write(shortened ? [{ id, expiresMs }] : []);
  }

  async revise(id: string, change: (grant: Grant) => LinkChange): Promise<Grant | undefined> {
    const revised = revisedGrant(this.index.get(id), change);
    if (revised) await this.put([revised]);
    return revised && this.index.get(id);
  }

  use({ id }: Pick<Grant, 'id'>, address: string): void {
    const atMs = Math.round(this.#clock.nowMs());
    const known = this.index.get(id);
    if (!known || atMs - (known.used?.atMs ?? 0) < useRecordedEveryMs) return;
    this.index.change({ id, used: { atMs, address } });
    this.#file
      .write([{ id, used: { atMs, address } }])
      .catch((reason) => this.#log.warn('the use of a token was not recorded', { reason }));
  }

  async countDownload(id: string, maximum = Number.POSITIVE_INFINITY): Promise<boolean> {
    const known = this.index.get(id);
    const downloads = (known?.downloads ?? 0) + 1;
    if (!known || downloads > maximum) return false;
    await this.put([{ id, downloads }]);
    return true;
  }

  async countVisit(id: string, visitor: string): Promise<boolean> {
    const known = this.index.get(id);
    const key = `${id} ${visitor}`;
    const nowMs = this.#clock.monotonicMs();
    if (!known || this.#visits.has(key, nowMs)) return false;
    this.#visits.set(key, true, nowMs + visitCountedEveryMs);
    await this.put([{ id, opened: (known.opened ?? 0) + 1 }]);
    return true;
  }

  onEnded(listener: (grants: readonly Grant[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Stores grants and changes, for example those of another node. They are on disk when the promise resolves.
   *
   * @throws the errors of `GrantFile.write`
   */
  async put(items: readonly (Grant | GrantChange)[]): Promise<void> {
    const over: Grant[] = [];
    for (const item of items) {
      const before = this.index.get(item.id);
      const after = 'hash' in item ? this.index.put(item) : this.index.change(item);
      if (before && after && (before.end !== after.end || before.expiresMs !== after.expiresMs)) over.push(after);
    }
    this.tell(over);
    await this.#file.write(items);
  }

  /** Tells the listeners which grants have ended, or have another expiry. */
  tell(grants: readonly Grant[]): void {
    if (grants.length > 0) for (const listener of this.#listeners) listener(grants);
  }

  async close(): Promise<void> {
    this.#forgetting.cancel();
    await this.#file.close();
  }

  #isInForce(grant: Grant): boolean {
    return whyOver(grant, this.#clock.nowMs(), (id) => this.index.get(id)) === undefined;
  }

  #forget(): void {
    const nowMs = this.#clock.nowMs();
    for (const grant of this.index.all()) if (isForgettable(grant, nowMs)) this.index.remove(grant);
  }
}
