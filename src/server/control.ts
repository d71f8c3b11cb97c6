import { hash } from 'node:crypto';
import type { BanOverview } from '../auth/ban-list.ts';
import type { SessionOverview } from '../auth/sessions.ts';
import type { Collection, Collections, Item, Shown } from '../control/collection.ts';
import type { FileLock, LockStore } from '../files/locks/lock-store.ts';
import type { Clock } from '../lib/clock.ts';

/** Where the things are that the control socket shows. */
export interface ControlledStores {
  /** By the UUID of the service. */
  sessions: () => ReadonlyMap<string, SessionOverview>;
  locks: LockStore;
  bans: BanOverview;
}

/** What those who run the service may list and remove. */
export function controlledCollections({ sessions, locks, bans }: ControlledStores, clock: Clock): Collections {
  return { sessions: sessionCollection(sessions), locks: lockCollection(locks), bans: banCollection(bans, clock) };
}

function sessionCollection(stores: ControlledStores['sessions']): Collection {
  return {
    async list() {
      const lists = [...stores()].map(async ([service, store]) =>
        (await store.list()).map(({ key, account, address, createdMs, expiresMs }): Item<Shown<'sessions'>> => {
          const times = { created: isoTime(createdMs), expires: isoTime(expiresMs) };
          return { handle: key, shown: { id: opaqueId(key), service, account, address, ...times } };
        }),
      );
      return (await Promise.all(lists)).flat();
    },
    async remove(items) {
      for (const [service, store] of stores())
        await store.endKeys(items.filter(({ shown }) => shown.service === service).map(({ handle }) => handle));
    },
  };
}

function lockCollection(store: LockStore): Collection {
  return {
    list: async () => (await store.within('/')).map((lock) => ({ handle: lock.token, shown: shownLock(lock) })),
    async remove(items) {
      for (const { handle } of items) await store.release(handle);
    },
  };
}

function shownLock({ token, path, isDeep, accountUuid, takenBy, owner, expiresMs }: FileLock): Shown<'locks'> {
  return {
    id: opaqueId(token),
    path,
    depth: isDeep ? 'infinity' : '0',
    account: takenBy?.account ?? accountUuid,
    address: takenBy?.address ?? '',
    owner: owner?.text ?? '',
    expires: isoTime(expiresMs),
  };
}

function banCollection(bans: BanOverview, clock: Clock): Collection {
  return {
    async list() {
      const nowMs = clock.nowMs();
      return (await bans.list()).map(
        ({ source, leftMs }): Item<Shown<'bans'>> => ({
          handle: source,
          shown: { id: source, address: source, expires: isoTime(nowMs + leftMs) },
        }),
      );
    },
    remove: (items) => bans.lift(items.map(({ handle }) => handle)),
  };
}

/** Names a thing without giving it away: neither the hash of a session's ID nor the token of a lock is shown. */
function opaqueId(secret: string): string {
  return hash('sha256', `shown ${secret}`).slice(0, 16);
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
