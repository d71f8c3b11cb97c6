import type { ListingOrder, SortedListing } from '../../../../files/operations/sorted-listing.ts';
import type { Html } from '../../../../lib/html.ts';
import type { VirtualPath } from '../../../../lib/virtual-path.ts';
import type { View } from '../page.ts';

/** The default order: by name, folders first (docs/spec/files.md#listings). */
export const defaultOrder: ListingOrder = { column: 'name', direction: 'asc', folders: 'first' };

/** Builds the query that requests an order. */
export function orderQuery({ column, direction, folders }: ListingOrder): string {
  return `?sort=${column}&order=${direction}&folders=${folders}`;
}

/** Browsers cannot handle ten times that number. */
export const rowsOfPage = 10_000;

/** The page of a larger folder has only the first rows. The script fetches the others, and removes rows far from the visible part. */
export const longFolder = 500;

/** They fill most windows; each further row takes slow browsers some milliseconds. */
export const firstRows = 20;

/** The shown members of a sorted folder. */
export interface ShownRange {
  from: number;
  to: number;
}

/** Returns the range of rows of a page. @param page counted from 1 */
export function rangeOfPage(page: number, count = rowsOfPage): ShownRange {
  const from = (page - 1) * rowsOfPage;
  return { from, to: from + count };
}

/** Data for the page of a folder, even one that the account may not list. */
export interface FolderModel {
  path: VirtualPath;
  /** Whether the client may learn which members exist. */
  mayLook: boolean;
  mayWrite: boolean;
  mayReplace: boolean;
  onNameTaken: 'refuse' | 'number';
  largestFileBytes?: number | undefined;
  /** Days for which new files cannot be changed or deleted; 0 without retention. */
  retainDays: number;
  mayCreateFolder: boolean;
  /** The metadata of uploads, and the name of its header; null for none. */
  metadata: { header: string; required: boolean; keys: readonly { pattern: string; required: boolean }[] } | null;
  flash: { isError: boolean; text: string } | undefined;
  /** Information about the link, for its visitors. */
  about?: Html | undefined;
}

/** The content of a folder's page. */
export interface ListingModel extends FolderModel {
  entries: SortedListing;
  /** The number of names that are not UTF-8; final when all entries are read. */
  unreadableNames: () => number;
  order: ListingOrder;
  view: View;
  /** Counted from 1. */
  page: number;
  /** Whether the reply has all rows even of a long folder. */
  isWhole: boolean;
  /** URL of the page with all rows, for browsers without scripts. */
  wholeUrl: string;
  mayRead: boolean;
  mayDelete: boolean;
  mayRename: boolean;
  /**
   * Limits for new links, as the script reads them: default and maximum lifetime in days, then `password` if each link needs one. Undefined
   * if the account must not share members.
   */
  share: string | undefined;
  triggers: readonly { name: string; style: string }[];
}
