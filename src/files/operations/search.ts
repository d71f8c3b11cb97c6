import { isServiceError } from '../../lib/errors.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { Entry, ListedEntry } from '../entry.ts';
import { accountListing, type EntryBatches } from './account-listing.ts';

/** Limits of a search, so that it ends and does not slow down other requests. */
export const searchLimits = { lookedAtPerSecond: 10_000, found: 1_000, seconds: 30, waitingFolders: 100_000 } as const;

export interface FoundEntry extends ListedEntry {
  path: VirtualPath;
}

/** Folds a text, so that differences in case and in composed characters do not matter. */
function fold(text: string): string {
  // Some characters, such as the kelvin sign (U+212A), are their own upper case, but have a usual letter as lower case (k). So
  // `toLowerCase` comes first.
  return text.normalize('NFC').toLowerCase().toUpperCase();
}

const naturally = new Intl.Collator('en', { numeric: true }).compare;

/** Number of names that are compared at once. Other requests run in between. */
const stepNames = 1024;

/**
 * Searches a folder tree, upper levels first, for names that contain a text. Yields the results in batches; an empty batch shows progress.
 * The results in one folder are in natural order (`file2` before `file10`), in each block of `accountListing`. Folders that the account may not list are skipped, and symbolic links are not followed.
 */
export class Search implements AsyncIterable<FoundEntry[]> {
  /** Whether a limit ended the search. If so, there may be more results. */
  isTruncated = false;
  readonly #paths: AccountPaths;
  readonly #wanted: string;
  readonly #waiting: VirtualPath[];
  readonly #top: EntryBatches;
  readonly #startMs: number;
  #lookedAt = 0;
  #found = 0;

  /** @throws ServiceError as `accountListing`, for the top folder */
  constructor(paths: AccountPaths, top: VirtualPath, text: string) {
    this.#paths = paths;
    this.#wanted = fold(text);
    this.#waiting = [top];
    this.#top = accountListing(paths, top, undefined, this.#arrange);
    this.#startMs = paths.environment.clock.monotonicMs();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FoundEntry[]> {
    for (let at = 0; at < this.#waiting.length && !this.isTruncated; at++) {
      const folder = this.#waiting[at] as VirtualPath;
      for await (const batch of at === 0 ? this.#top : this.#membersOf(folder)) {
        yield this.#matching(folder, batch);
        if (this.isTruncated) break;
        await this.#pause(batch.length);
      }
    }
  }

  #matching(folder: VirtualPath, batch: readonly Entry[]): FoundEntry[] {
    const found: FoundEntry[] = [];
    for (const entry of batch) {
      const path = memberPath(folder, entry.name);
      if (entry.isFolder && !entry.isLink) this.#enter(path);
      if (!fold(entry.name).includes(this.#wanted)) continue;
      if (this.#found === searchLimits.found) {
        this.isTruncated = true;
        break;
      }
      this.#found++;
      found.push({ ...entry, path });
    }
    return found;
  }

  /** Puts the names that contain the text first, in natural order. As many are sorted as can be returned. */
  readonly #arrange = async (names: readonly string[]): Promise<string[]> => {
    let first: string[] = [];
    const others: string[] = [];
    for (let start = 0; start < names.length; start += stepNames) {
      if (start > 0) await new Promise(setImmediate);
      for (const name of names.slice(start, start + stepNames)) (fold(name).includes(this.#wanted) ? first : others).push(name);
      first.sort(naturally);
      if (first.length <= searchLimits.found) continue;
      others.push(...first.slice(searchLimits.found + 1));
      first = first.slice(0, searchLimits.found + 1);
    }
    return [...first, ...others];
  };

  #enter(folder: VirtualPath): void {
    if (this.#waiting.length < searchLimits.waitingFolders) this.#waiting.push(folder);
    else this.isTruncated = true;
  }

  async *#membersOf(folder: VirtualPath): AsyncGenerator<Entry[]> {
    try {
      yield* accountListing(this.#paths, folder, undefined, this.#arrange);
    } catch (error) {
      // The folder is skipped: the account has no right to list it, it was removed meanwhile, or its path is too long for the system.
      if (!isServiceError(error, 'forbidden', 'not-found', 'name-invalid')) throw error;
    }
  }

  async #pause(count: number): Promise<void> {
    const { clock } = this.#paths.environment;
    this.#lookedAt += count;
    const passedMs = clock.monotonicMs() - this.#startMs;
    if (passedMs >= searchLimits.seconds * 1000) this.isTruncated = true;
    const aheadMs = (this.#lookedAt / searchLimits.lookedAtPerSecond) * 1000 - passedMs - 1000;
    if (aheadMs > 0) await clock.sleep(aheadMs);
    else await new Promise(setImmediate);
  }
}
