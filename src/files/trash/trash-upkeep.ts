import type { EventContext } from '../../events/event.ts';
import type { Timer } from '../../lib/clock.ts';
import { RealRoots } from '../disk/real-roots.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import type { KnownTrash } from './known-trashes.ts';
import { endedDraft, endTrashed } from './trash.ts';
import { type Trashed, TrashFolder } from './trash-folder.ts';

const periodMs = 600_000;
const dayMs = 86_400_000;

/** A deletion takes less time than this. Older remains come from a killed process. */
const endsWithinMs = 60_000;

/** Records without content are removed after this time, because a move to the trash from another file system may take days. */
const strayAfterMs = 7 * dayMs;

type Files = Pick<FilesEnvironment, 'trashes' | 'excludedPaths' | 'events' | 'clock' | 'log'>;

export interface AccountTrashed {
  readonly known: KnownTrash;
  readonly trashed: Trashed;
}

/** Runs an action with an account's trash. @returns undefined if the trash or its root does not exist */
async function withFolder<T>(
  files: Files,
  { root, accountUuid }: KnownTrash,
  action: (folder: TrashFolder) => Promise<T>,
): Promise<T | undefined> {
  const roots = new RealRoots([root], files.excludedPaths);
  if (roots.paths[0] !== root) return undefined;
  const folder = TrashFolder.open(roots, root, accountUuid);
  try {
    return folder && (await action(folder));
  } finally {
    folder?.close();
  }
}

/** The items in the trashes of all accounts, newest first. @param account name of an account, to list only its trash */
export async function listAllTrash(files: Files, account?: string): Promise<AccountTrashed[]> {
  const all: AccountTrashed[] = [];
  for (const known of files.trashes.list().filter((trash) => account === undefined || trash.account === account))
    await withFolder(files, known, async (folder) => {
      for (const trashed of await folder.list()) all.push({ known, trashed });
    });
  return all.sort((a, b) => b.trashed.deletedMs - a.trashed.deletedMs);
}

/** Permanently deletes an item in an account's trash at the request of an administrator. @param administrator name, if known */
export async function endForAdministrator(
  files: Files,
  { known, trashed }: AccountTrashed,
  context: EventContext,
  administrator?: string,
): Promise<void> {
  await withFolder(files, known, (folder) => endTrashed(files, { folder, trashed }, 'person', context, administrator));
}

/** Deletes old items from all trashes, and finishes deletions that a killed process began. Each item is deleted by only one node. */
export class TrashUpkeep {
  readonly #files: Files;
  readonly #isJournalled: (uuid: string, sinceMs: number) => Promise<boolean>;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  /**
   * @param isJournalled whether an event is in the journal. The event is not older than `sinceMs` (Unix time in milliseconds), so older
   *   events need not be searched
   */
  constructor(files: Files, isJournalled: (uuid: string, sinceMs: number) => Promise<boolean>) {
    this.#files = files;
    this.#isJournalled = isJournalled;
  }

  start(): void {
    void this.run();
    this.#timer = this.#files.clock.every(periodMs, () => void this.run());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Deletes old items once. Never rejects: the next run tries again after a failure. */
  run(): Promise<void> {
    this.#running ??= this.#emptyAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #emptyAll(): Promise<void> {
    try {
      for (const known of this.#files.trashes.list()) await this.#emptyOne(known);
    } catch (reason) {
      this.#files.log.warn('old items could not be removed from the trash; this is tried again', { reason });
    }
  }

  async #emptyOne(known: KnownTrash): Promise<void> {
    const { log } = this.#files;
    try {
      await withFolder(this.#files, known, (folder) => this.#empty(known, folder));
    } catch (reason) {
      log.warn('old items could not be removed from the trash of an account; this is tried again', {
        account: known.account,
        root: known.root,
        reason,
      });
    }
  }

  async #empty(known: KnownTrash, folder: TrashFolder): Promise<void> {
    const { clock, events, trashes } = this.#files;
    const days = trashes.daysOf(known);
    const nowMs = clock.nowMs();
    for (const { trashed, id, reason } of folder.interrupted(nowMs - endsWithinMs)) {
      events.assertWritable();
      if (trashed) {
        const draft = endedDraft(trashed, reason);
        if (!(await this.#isJournalled(draft.uuid, trashed.deletedMs))) await events.emitDurable(draft);
      }
      await folder.removeClaimed(id, reason);
    }
    folder.removeStrays(nowMs - strayAfterMs, nowMs);
    for (const trashed of await folder.list()) {
      if (this.#isStopped || trashed.deletedMs + days * dayMs > nowMs) return;
      await endTrashed(this.#files, { folder, trashed }, 'age');
    }
  }
}
