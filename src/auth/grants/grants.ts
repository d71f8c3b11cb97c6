import type { Account } from '../../accounts/account.ts';
import { commonPaths } from '../../accounts/narrowing.ts';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventComponent, EventContext } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { makeSecret } from '../../lib/secrets.ts';
import { isWithin, type VirtualPath } from '../../lib/virtual-path.ts';
import { eventAccount } from '../auth-chain.ts';
import { type Grant, type GrantEnd, grantChain, grantName, type LinkChange, maxGrantDepth, newGrantId, whyOver } from './grant.ts';
import type { GrantStore } from './grant-store.ts';
import { shownPaths } from './shown-grant.ts';

/**
 * Interval in milliseconds at which expired grants are ended. The events `tokenEnded` and `linkEnded` are usually late by at most this
 * time.
 */
const upkeepEveryMs = 500;

/** Maximum number of expired grants that are ended together. */
const endedAtOnce = 1000;

/** The members of a token or link that its creator chooses, after validation. All times are Unix times in milliseconds. */
export type GrantOrder = Pick<
  Grant,
  'kind' | 'name' | 'expiresMs' | 'notBeforeMs' | 'paths' | 'permissions' | 'services' | 'addresses' | 'link'
>;

interface GrantsDependencies {
  store: GrantStore;
  events: EventDispatcher;
  /** The component that is named in events which no client caused. */
  server: EventComponent;
  clock: Clock;
  log: Log;
}

/** A new grant with its secret. The secret cannot be shown again later. */
export interface MadeGrant {
  grant: Grant;
  secret: string;
}

/** Creates, lists and ends tokens and links, and emits the events (docs/spec/tokens.md). */
export class Grants {
  readonly store: GrantStore;
  readonly clock: Clock;
  readonly #events: EventDispatcher;
  readonly #server: EventComponent;
  readonly #log: Log;
  #upkeep: Timer | undefined;
  #isEnding = false;

  constructor({ store, events, server, clock, log }: GrantsDependencies) {
    this.store = store;
    this.clock = clock;
    this.#events = events;
    this.#server = server;
    this.#log = log;
  }

  start(): void {
    this.#upkeep = this.clock.every(upkeepEveryMs, () => void this.#endExpired());
  }

  stop(): void {
    this.#upkeep?.cancel();
  }

  /**
   * Creates a token or link of an account. Emits `tokenMade` or `linkMade`. Grant and event are on disk when the promise resolves.
   *
   * @param account the account; narrowed if the client logged in with a token, because the new grant must not grant more than that token
   * @param by the account or operator that creates the grant
   * @throws ServiceError `unprocessable` for rights that the account cannot grant, `unauthorized` if the client's token is no longer valid;
   *   otherwise the errors of `GrantStore.add`
   */
  async make(account: Account, order: GrantOrder, by: string, context: EventContext): Promise<MadeGrant> {
    this.#events.assertWritable();
    const parent = this.#parentOf(account);
    const { secret, hash } = makeSecret(order.kind);
    const paths = this.#checkPaths(account, order.paths);
    for (const keyword of order.permissions ?? []) {
      if (!account.permissions.mayGive(keyword))
        throw new ServiceError('unprocessable', `The account cannot give the permission "${keyword}", which it does not have.`);
    }
    const { uuid, type } = account.method;
    const grant: Grant = {
      id: newGrantId(),
      hash,
      ...order,
      expiresMs: Math.floor(Math.min(order.expiresMs, parent?.expiresMs ?? Number.POSITIVE_INFINITY)),
      account: { name: account.name, uuid: account.uuid },
      method: { uuid, type },
      madeBy: by,
      createdMs: Math.floor(this.clock.nowMs()),
      ...(paths && { paths }),
      ...(parent && { parent: parent.id }),
    };
    await this.#add(grant, this.#maximumOf(account, order.kind), context);
    return { grant, secret };
  }

  /**
   * Replaces a token by a new one. Emits `tokenMade`, and `tokenEnded` with the reason `rotated`.
   *
   * @param overlapMs time in milliseconds for which the old token stays valid
   * @param maximum number of tokens that the account may have; twice as many may exist while tokens overlap with their successors
   * @param maximumMs current maximum lifetime of the account's tokens in milliseconds
   * @throws ServiceError `not-found` for a token that is not valid; otherwise the errors of `GrantStore.add`
   */
  async rotate(
    id: string,
    { overlapMs, maximum, maximumMs }: { overlapMs: number; maximum: number; maximumMs: number },
    by: string,
    context: EventContext,
  ): Promise<MadeGrant> {
    this.#events.assertWritable();
    const before = this.inForce(id);
    if (before?.kind !== 'token') throw new ServiceError('not-found', 'There is no such token.');
    const nowMs = Math.floor(this.clock.nowMs());
    const { secret, hash } = makeSecret('token');
    const parentEndsMs = before.parent === undefined ? Number.POSITIVE_INFINITY : (this.store.get(before.parent)?.expiresMs ?? 0);
    const lifeMs = Math.min(before.expiresMs - before.createdMs, maximumMs);
    const { used: _used, end: _end, ...same } = before;
    const grant: Grant = {
      ...same,
      id: newGrantId(),
      hash,
      madeBy: by,
      createdMs: nowMs,
      expiresMs: Math.min(nowMs + lifeMs, parentEndsMs),
    };
    // The maximum is doubled, because the old token still counts until the overlap ends.
    await this.#add(grant, 2 * maximum, context);
    if (overlapMs <= 0) await this.end([id], 'rotated', by, context);
    else {
      const endMs = Math.floor(Math.min(nowMs + overlapMs, before.expiresMs));
      await this.store.shorten(id, endMs);
      await this.#tellEnded(before, 'rotated', context, { expires: new Date(endMs).toISOString() });
    }
    return { grant, secret };
  }

  /**
   * Changes a link, whose URL stays the same. Emits `linkChanged`. The link ends no later than the token that created it.
   *
   * @param by the account that changes the link
   * @throws ServiceError `not-found` for a link that has ended; otherwise the errors of `GrantStore.revise`
   */
  async change(id: string, change: (link: Grant) => LinkChange, by: string, context: EventContext): Promise<Grant> {
    this.#events.assertWritable();
    const changed = await this.store.revise(id, (link) => {
      const { expiresMs = link.expiresMs, ...others } = change(link);
      const latestMs = link.parent === undefined ? Number.POSITIVE_INFINITY : (this.store.get(link.parent)?.expiresMs ?? 0);
      return { ...others, expiresMs: Math.floor(Math.min(expiresMs, latestMs)) };
    });
    if (!changed) throw new ServiceError('not-found', 'There is no such link.');
    const { name, expiresMs, link, account } = changed;
    const operator = by === account.name ? {} : { administrator: by };
    const data = { ...grantName(changed), path: shownPaths(changed), kind: link?.kind, expires: new Date(expiresMs).toISOString() };
    await this.#events.emitDurable({
      id: eventIds.linkChanged,
      context,
      data: { ...data, maximum_downloads: link?.maximumDownloads, has_password: link?.passwordHash !== undefined, note: name, ...operator },
    });
    return changed;
  }

  /**
   * Ends grants, and all grants that were created with them. Emits `tokenEnded` and `linkEnded`.
   *
   * @returns the grants that this call ended
   * @throws ServiceError the errors of `GrantStore.end`
   */
  async end(ids: readonly string[], reason: GrantEnd, by: string, context?: EventContext): Promise<Grant[]> {
    const all = new Set(ids);
    for (const id of ids) {
      const grant = this.store.get(id);
      if (grant?.kind !== 'token') continue;
      for (const other of await this.store.list(grant.account.uuid)) if (this.isMadeBy(other, id)) all.add(other.id);
    }
    const ended = await this.store.end([...all], reason, by);
    for (const grant of ended) await this.#tellEnded(grant, reason, context);
    return ended;
  }

  /** Returns a grant that is valid now or will become valid; undefined for any other one. */
  inForce(id: string): Grant | undefined {
    const grant = this.store.get(id);
    return grant && this.isInForce(grant) ? grant : undefined;
  }

  /** Whether a grant is valid now or will become valid. */
  isInForce(grant: Grant): boolean {
    const why = whyOver(grant, this.clock.nowMs(), (id) => this.store.get(id));
    return why === undefined || why === 'not-yet';
  }

  /** Whether a grant was created with a token, directly or through other tokens. */
  isMadeBy(grant: Grant, token: string): boolean {
    let parent = grant.parent;
    for (let depth = 0; parent !== undefined && depth <= maxGrantDepth; depth++) {
      if (parent === token) return true;
      parent = this.store.get(parent)?.parent;
    }
    return false;
  }

  /**
   * Returns the grants of one kind that are valid or will become valid, newest first. For the holder of a token, these are only the grants
   * that were created with that token.
   *
   * @throws ServiceError `unavailable` while the store cannot be reached
   */
  async list(kind: Grant['kind'], account?: Pick<Account, 'uuid' | 'grant'>): Promise<Grant[]> {
    const own = (await this.store.list(account?.uuid)).filter((grant) => grant.kind === kind && this.isInForce(grant));
    const token = account?.grant?.token;
    return own.filter((grant) => token === undefined || this.isMadeBy(grant, token)).sort((a, b) => b.createdMs - a.createdMs);
  }

  async #add(grant: Grant, maximum: number, context: EventContext): Promise<void> {
    await this.store.add(grant, maximum);
    const { kind, name, permissions, addresses, services, parent, expiresMs, link, madeBy, account } = grant;
    const operator = madeBy === account.name ? {} : { administrator: madeBy };
    const shared = { ...grantName(grant), path: shownPaths(grant), expires: new Date(expiresMs).toISOString(), parent, ...operator };
    const id = kind === 'token' ? eventIds.tokenMade : eventIds.linkMade;
    const own =
      kind === 'token' ? { name, permissions, addresses, services } : { kind: link?.kind, maximum_downloads: link?.maximumDownloads };
    await this.#events.emitDurable({ id, context, data: { ...shared, ...own } });
  }

  #parentOf({ grant }: Account): Grant | undefined {
    if (grant?.token === undefined) return undefined;
    const parent = this.inForce(grant.token);
    if (!parent) throw new ServiceError('unauthorized', 'The token is no longer valid.');
    if (grantChain(parent, (id) => this.store.get(id)).length >= maxGrantDepth)
      throw new ServiceError(
        'unprocessable',
        `A chain of tokens, each created with the previous one, must not have more than ${maxGrantDepth} tokens.`,
      );
    return parent;
  }

  /** Returns the paths of a new grant: the requested paths, or by default those of the token with which it is created. */
  #checkPaths({ permissions }: Account, paths: readonly VirtualPath[] | undefined): readonly VirtualPath[] | undefined {
    const reached = commonPaths(permissions.options.narrowings);
    if (!paths || !reached) return paths ?? reached;
    for (const path of paths) {
      if (!reached.some((top) => isWithin(path, top)))
        throw new ServiceError('unprocessable', `The token does not grant "${path}", so it cannot create a token or link for that path.`);
    }
    return paths;
  }

  #maximumOf({ tokens, links }: Account, kind: Grant['kind']): number {
    return (kind === 'token' ? tokens : links).maximum;
  }

  async #tellEnded(grant: Grant, reason: GrantEnd, context?: EventContext, more: Record<string, unknown> = {}): Promise<void> {
    const { kind, name, account, link } = grant;
    const id = kind === 'token' ? eventIds.tokenEnded : eventIds.linkEnded;
    const own = kind === 'token' ? { name } : { kind: link?.kind };
    const told = context ?? { account: eventAccount({ ...account, email: '' }, processAccount().peer), component: this.#server };
    await this.#events.emitDurable({ id, context: told, data: { ...grantName(grant), path: shownPaths(grant), ...own, reason, ...more } });
  }

  async #endExpired(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    try {
      const nowMs = this.clock.nowMs();
      const over: string[] = [];
      for (const grant of this.store.known()) if (!grant.end && grant.expiresMs <= nowMs && over.push(grant.id) >= endedAtOnce) break;
      if (over.length > 0) for (const grant of await this.store.end(over, 'expired', '')) await this.#tellEnded(grant, 'expired');
    } catch (error) {
      // The grants have expired in any case, and this function runs again soon.
      this.#log.debug('the end of expired tokens and links could not be reported', { reason: error });
    } finally {
      this.#isEnding = false;
    }
  }
}
