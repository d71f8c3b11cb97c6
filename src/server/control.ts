import { hash } from 'node:crypto';
import * as z from 'zod';
import { defaultGroupUuid, effectiveAccount } from '../accounts/account.ts';
import { type BanOverview, foldedName, type GuessRealm } from '../auth/ban-list.ts';
import type { SessionOverview } from '../auth/sessions.ts';
import type { Collection, Collections, Item, Shown } from '../control/collection.ts';
import type { Orders } from '../control/control-server.ts';
import type { EventContext } from '../events/event.ts';
import { AccountFiles } from '../files/account-files.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import type { HeldUpload, Holding } from '../files/inspections/holding.ts';
import { heldPaths, releaseTarget } from '../files/inspections/release.ts';
import { LockGuard } from '../files/locks/lock-guard.ts';
import type { FileLock, LockStore } from '../files/locks/lock-store.ts';
import { type AccountTrashed, endForAdministrator, listAllTrash } from '../files/trash/trash-upkeep.ts';
import { cancelUpload, endsAtOnce } from '../files/uploads/end-upload.ts';
import type { UploadRecord } from '../files/uploads/upload-store.ts';
import type { Clock } from '../lib/clock.ts';
import { forEachConcurrently } from '../lib/concurrency/event-loop.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import type { Core } from './core.ts';
import { OperatorGrants } from './grant-orders.ts';
import type { RequestParts } from './parts.ts';

/** The stores that the control socket shows. */
export interface ControlledStores {
  /** Sessions by the UUID of the service. */
  sessions: () => ReadonlyMap<string, SessionOverview>;
  locks: LockStore;
  bans: BanOverview;
  files: FilesEnvironment;
  /** Context of the events about operators' actions. */
  context: EventContext;
}

/** Returns the collections whose items operators may list and remove. */
export function controlledCollections({ sessions, locks, bans, files, context }: ControlledStores, clock: Clock): Collections {
  return {
    sessions: sessionCollection(sessions),
    locks: lockCollection(locks),
    bans: banCollection(bans, clock),
    uploads: uploadCollection(files),
    trash: trashCollection(files, context),
    held: heldCollection(files),
  };
}

function sessionCollection(stores: ControlledStores['sessions']): Collection {
  return {
    async list() {
      const lists = [...stores()].map(async ([service, store]) =>
        (await store.list()).map(({ key, identity, address, client, createdMs, lastUsedMs, expiresMs }): Item<Shown<'sessions'>> => {
          const times = { created: isoTime(createdMs), last_used: isoTime(lastUsedMs), expires: isoTime(expiresMs) };
          return { handle: key, shown: { id: opaqueId(key), service, account: identity.name, address, client, ...times } };
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

/** Maps the prefix of a banned name or address (`attemptSource`) to the kind of login that the ban refuses. */
const guessedAt: Readonly<Record<GuessRealm, 'console' | 'links'>> = { administrator: 'console', link: 'links' };

function parseRealm(subject: string): GuessRealm | undefined {
  return (Object.keys(guessedAt) as GuessRealm[]).find((realm) => subject.startsWith(`${realm}/`));
}

function withoutRealm(source: string): string {
  const realm = parseRealm(source);
  return realm === undefined ? source : source.slice(realm.length + 1);
}

function banCollection(bans: BanOverview, clock: Clock): Collection {
  return {
    nameOf: foldedName,
    async list() {
      const nowMs = clock.nowMs();
      return (await bans.list()).map(
        ({ by, of, leftMs, ageMs, failures = null }): Item<Shown<'bans'>> => ({
          handle: of,
          shown: {
            id: by === 'name' ? `name:${of}` : of,
            address: by === 'address' ? withoutRealm(of) : '',
            account: by === 'name' ? of : '',
            logins: guessedAt[parseRealm(of) as GuessRealm] ?? 'files',
            since: ageMs === undefined ? null : isoTime(nowMs - ageMs),
            failures,
            expires: isoTime(nowMs + leftMs),
          },
        }),
      );
    },
    remove: (items) => bans.lift(items.map(({ handle, shown }) => ({ by: shown.id === handle ? 'address' : 'name', of: handle }))),
  };
}

function uploadCollection(files: FilesEnvironment): Collection {
  return {
    list: async () => {
      const records = await files.uploads.within('/');
      // Each change renews the expiry, so the upload that expires last was continued last.
      const latestFirst = records.toSorted((one, other) => other.expiresMs - one.expiresMs);
      return latestFirst.map((record) => ({ handle: record.id, shown: shownUpload(record) }));
    },
    remove: (items) => forEachConcurrently(items, endsAtOnce, ({ handle }) => cancelUpload(files, handle)),
  };
}

function shownUpload({ id, path, origin, offsetBytes, lengthBytes, expiresMs }: UploadRecord): Shown<'uploads'> {
  return {
    id: opaqueId(id),
    service: origin.component.uuid,
    account: origin.account.name,
    address: origin.account.peer?.address ?? '',
    path,
    received_bytes: offsetBytes,
    total_bytes: lengthBytes ?? null,
    expires: isoTime(expiresMs),
  };
}

function trashCollection(files: FilesEnvironment, context: EventContext): Collection {
  /** Finds the given items that are still in the trash. */
  const find = async (items: readonly Item[]) => {
    const wanted = new Set(items.map(({ handle }) => handle));
    return (await listAllTrash(files)).filter((item) => wanted.has(item.trashed.id));
  };
  return {
    list: async (account) => (await listAllTrash(files, account)).map((item) => ({ handle: item.trashed.id, shown: shownTrashed(item) })),
    async remove(items, by) {
      for (const item of await find(items)) await endForAdministrator(files, item, context, by);
    },
    async restore(items, by, path) {
      const restored: Item[] = [];
      for (const item of await find(items)) {
        const outcome = await restoreForAdministrator(files, item, context, by, path);
        restored.push({ handle: item.trashed.id, shown: { ...shownTrashed(item), ...outcome } });
      }
      return restored;
    },
  };
}

function heldCollection(files: FilesEnvironment): Collection {
  const { held } = files;
  return {
    list: async () => (await held.list()).map((record) => ({ handle: record.id, shown: shownHeld(record, held) })),
    remove: (items) => forEachConcurrently(items, endsAtOnce, ({ handle }) => held.discard(handle, undefined)),
    content: (id) => held.content(id),
    async target(id) {
      const record = await held.find(id);
      return releaseTarget(heldPaths(files, record), record);
    },
    actions: {
      release: (id, administrator) => held.release(id, { administrator }),
      discard: (id, administrator, reason) => held.discard(id, { administrator }, reason),
      'inspect-again': (id) => held.inspectAgain(id),
    },
  };
}

function shownTrashed({ known, trashed }: AccountTrashed): Shown<'trash'> {
  const { id, path, sizeBytes, isFolder, deletedMs, origin } = trashed;
  const { name } = origin.account;
  return { id, account: known.account, path, size: sizeBytes, is_directory: isFolder, deleted: isoTime(deletedMs), by: name };
}

/** Restores an item, even if its account may not do so. @returns its path, or the reason if it cannot be restored */
async function restoreForAdministrator(
  files: FilesEnvironment,
  { known: { root, mount, account: name, accountUuid: uuid }, trashed }: AccountTrashed,
  context: EventContext,
  by?: string,
  path?: string,
): Promise<{ path: string } | { problem: string; code: string }> {
  const permissions = { general: ['allow-full-control' as const], rules: [] };
  const folders = { home_folder_path: root, virtual_folders: mount === '/' ? [] : [[mount, root] as const] };
  const groups = new Map([[defaultGroupUuid, { enabled: true }]]);
  const account = effectiveAccount(name, { uuid, permissions, ...folders }, groups, { uuid: '', type: 'application' });
  try {
    const { trash } = new AccountFiles(account, files, context, new LockGuard(files.locks, uuid));
    return { path: await trash.restore(trashed.id, () => {}, path, by) };
  } catch (error) {
    if (isServiceError(error)) return { problem: error.message, code: error.code };
    throw error;
  }
}

function shownHeld({ id, path, contentPath, offsetBytes, held }: HeldUpload, { inspections }: Holding): Shown<'held'> {
  const { account, sinceMs, digest, state, reason, verdicts } = held;
  return {
    id,
    account: account.name,
    path,
    size: offsetBytes,
    time: isoTime(sinceMs),
    digest: { 'sha-256': digest },
    state,
    reason,
    verdicts: verdicts.map(({ inspection, verdict, message = '', fault, timeMs }) => ({
      inspection,
      name: inspections.nameOf(inspection),
      verdict,
      message,
      ...(fault && { fault }),
      time: isoTime(timeMs),
    })),
    real_path: contentPath,
  };
}

/** Returns an ID to show instead of a secret (a session's key, a lock's token or an upload's ID). */
function opaqueId(secret: string): string {
  return hash('sha256', `shown ${secret}`).slice(0, 16);
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

const occurrence = z.strictObject({ expectation: z.string(), due: z.string() });
const excuse = occurrence.extend({ reason: z.string() });
const expectAgain = occurrence.extend({ until: z.string() });

/** Returns the commands of the control socket (`POST /orders/NAME`). They concern tokens, links and occurrences of expectations. */
export function controlOrders(
  { expectations, grants, server, files }: Pick<Core, 'expectations' | 'grants' | 'server' | 'files'>,
  parts: () => RequestParts,
): Orders {
  return {
    ...new OperatorGrants({ grants, server, files, parts }).orders,
    async excuse(order) {
      const { data } = excuse.safeParse(order);
      if (!data) throw new ServiceError('bad-request', 'Name the expectation, the due time and a reason.');
      return [await expectations.excuse(data.expectation, data.due, data.reason)];
    },
    async 'expect-again'(order) {
      const { data } = expectAgain.safeParse(order);
      if (!data) throw new ServiceError('bad-request', 'Name the expectation, the due time, and the time until which files are expected.');
      return [await expectations.expectAgain(data.expectation, data.due, data.until)];
    },
  };
}
