import { type Account, type AccountConfiguration, narrowAccount } from '../../accounts/account.ts';
import type { GrantName } from '../../accounts/narrowing.ts';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { compileAddressRanges } from '../../lib/address-ranges.ts';
import type { Clock } from '../../lib/clock.ts';
import { dropOldest } from '../../lib/expiring-map.ts';
import type { AuthMethod } from '../auth-method.ts';
import type { Identity } from '../credentials.ts';
import { type Grant, grantChain, listNarrowings, whyOver } from './grant.ts';
import type { GrantStore } from './grant-store.ts';

/** After a token was accepted from an address, uses of the token from this address emit no event for this time in milliseconds. */
const rememberedMs = 60_000;
const maxRemembered = 10_000;

/** Minimum time in milliseconds between two events about a grant that is refused for the same reason. */
const toldEveryMs = 60_000;

/** Maximum number of narrowed accounts that are kept for each account. */
const maxNarrowed = 1000;

/** The reason why a grant is refused although its secret is right, as one word. */
export type GrantRefusal = ReturnType<typeof whyOver> | 'address' | 'service' | 'account' | 'disabled' | 'right' | 'method' | 'name';

export interface GrantAccess {
  readonly store: GrantStore;
  readonly clock: Clock;
}

/** Decides which tokens and links are valid at one service, and how they narrow their account. */
export class GrantLogins {
  readonly store: GrantStore;
  readonly #clock: Clock;
  readonly #events: EventDispatcher;
  readonly #serviceUuid: string;
  readonly #narrowed = new WeakMap<Account, Map<string, Account>>();
  /** Identities of tokens of local accounts, by hash and address. */
  readonly #remembered = new Map<string, { identity: Identity; untilMs: number }>();
  readonly #told = new Map<string, number>();
  readonly #ranges = new WeakMap<readonly string[], (address: string) => boolean>();

  constructor({ store, clock }: GrantAccess, events: EventDispatcher, serviceUuid: string) {
    this.store = store;
    this.#clock = clock;
    this.#events = events;
    this.#serviceUuid = serviceUuid;
  }

  /** Returns why a grant cannot be used now by a client with this address; undefined if it can be used. */
  whyRefused(grant: Grant, address: string | undefined): GrantRefusal {
    const over = whyOver(grant, this.#clock.nowMs(), (id) => this.store.get(id));
    if (over) return over;
    for (const { services, addresses } of this.#chainOf(grant)) {
      if (services && !services.includes(this.#serviceUuid)) return 'service';
      if (addresses && address !== undefined && !this.#isIn(addresses, address)) return 'address';
    }
    return undefined;
  }

  /** Returns why the account does not allow the use of its grant; undefined if the use is allowed. */
  whyForbidden({ kind, paths = [] }: Grant, { tokens, links, permissions }: Account): GrantRefusal {
    if (!(kind === 'token' ? tokens : links).enabled) return 'disabled';
    // A link ends when its account loses the right to share the path.
    if (kind === 'link' && !paths.every((path) => permissions.allows(path, 'share'))) return 'right';
    return kind === 'token' && tokens.services && !tokens.services.includes(this.#serviceUuid) ? 'service' : undefined;
  }

  /**
   * Returns the account, narrowed for the holder of a grant; undefined if the grant is not valid.
   *
   * @param address the client's address; undefined if the address should not be checked
   */
  narrowed(account: Account, name: GrantName, address?: string): Account | undefined {
    const id = name.token ?? name.link ?? '';
    const grant = this.store.get(id);
    if (!grant || grant.account.uuid !== account.uuid) return undefined;
    if (this.whyRefused(grant, address) || this.whyForbidden(grant, account)) return undefined;
    const known = this.#narrowed.get(account) ?? new Map<string, Account>();
    this.#narrowed.set(account, known);
    const before = known.get(id);
    if (before) return before;
    const narrowed = narrowAccount(account, listNarrowings(this.#chainOf(grant)), name);
    known.set(id, narrowed);
    dropOldest(known, maxNarrowed);
    return narrowed;
  }

  configurationOf(method: AuthMethod, { name, configuration }: Identity): AccountConfiguration | undefined {
    return method.tokenConfiguration?.(name, configuration);
  }

  /** Remembers an accepted token. Tokens of callout accounts are not remembered, because the callout is asked at each use. */
  remember(hash: string, address: string, identity: Identity): void {
    if (identity.configuration) return;
    this.#remembered.set(`${hash} ${address}`, { identity, untilMs: this.#clock.monotonicMs() + rememberedMs });
    dropOldest(this.#remembered, maxRemembered);
  }

  /** Returns the identity of a token that was accepted from the address within the last minute. */
  recall(hash: string, address: string): Identity | undefined {
    const key = `${hash} ${address}`;
    const known = this.#remembered.get(key);
    if (known && known.untilMs > this.#clock.monotonicMs()) return known.identity;
    this.#remembered.delete(key);
    return undefined;
  }

  /**
   * Emits event `grantRefused` for a grant that is refused although its secret is right. Emits it at most once a minute for each reason.
   */
  tellRefusal(grant: Grant, reason: NonNullable<GrantRefusal>, context: EventContext, details?: string): void {
    const key = `${grant.id} ${reason}`;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#told.get(key) ?? Number.NEGATIVE_INFINITY) < toldEveryMs) return;
    this.#told.delete(key);
    this.#told.set(key, nowMs);
    dropOldest(this.#told, maxRemembered);
    const data = { username: grant.account.name, [grant.kind]: grant.id, reason, details };
    this.#events.emit({ id: eventIds.grantRefused, context, data });
  }

  #chainOf(grant: Grant): Grant[] {
    return grantChain(grant, (id) => this.store.get(id));
  }

  #isIn(addresses: readonly string[], address: string): boolean {
    const isIn = this.#ranges.get(addresses) ?? compileAddressRanges(addresses);
    this.#ranges.set(addresses, isIn);
    return isIn(address);
  }
}

/** Returns a sentence about the refusal for the holder of the secret. */
export function refusalText({ kind }: Pick<Grant, 'kind'>, reason: NonNullable<GrantRefusal>): string {
  const what = kind === 'token' ? 'The token' : 'The link';
  switch (reason) {
    case 'expired':
      return `${what} has expired.`;
    case 'revoked':
    case 'rotated':
    case 'used-up':
      return `${what} was ${reason === 'used-up' ? 'used up' : reason}.`;
    case 'not-yet':
      return `${what} is not valid yet.`;
    case 'address':
      return `${what} is not valid from this address.`;
    case 'service':
      return `${what} is not valid at this service.`;
    case 'name':
      return `${what} belongs to another account.`;
    case 'account':
    case 'disabled':
    case 'right':
    case 'method':
      return `${what} is not accepted any more.`;
    default:
      return reason satisfies never;
  }
}
