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

/** Maximum number of rows per page. Browsers cannot handle ten times that number. */
export const rowsOfPage = 10_000;

/**
 * A folder with at most this number of members gets a page with all rows. The page of a longer folder contains only the first rows. The
 * script fetches the others, and removes rows that are far from the visible part.
 */
export const longFolder = 500;

/** Number of rows in the page of a long folder. They fill most windows. Each further row would take slow browsers some milliseconds. */
export const firstRows = 20;

/** The shown members of a sorted folder: index of the first one, and index after the last one. */
export interface ShownRange {
  from: number;
  to: number;
}

/** Returns the range of rows of a page. @param page counted from 1 */
export function rangeOfPage(page: number, count = rowsOfPage): ShownRange {
  const from = (page - 1) * rowsOfPage;
  return { from, to: from + count };
}

/** Data for the page of a folder. All of it is known even if the account may not list the folder. */
export interface FolderModel {
  path: VirtualPath;
  /** Whether the client may learn which members exist. */
  mayLook: boolean;
  mayWrite: boolean;
  mayReplace: boolean;
  onNameTaken: 'refuse' | 'number';
  largestFileBytes?: number | undefined;
  /** Number of days for which new files cannot be changed or deleted; 0 without retention. */
  retainDays: number;
  mayCreateFolder: boolean;
  /** The metadata that uploads may have, and the name of its header; null if uploads have no metadata. */
  metadata: { header: string; required: boolean; keys: readonly { pattern: string; required: boolean }[] } | null;
  flash: { isError: boolean; text: string } | undefined;
  /** Information about the link, for its visitors. */
  about?: Html | undefined;
}

/** The content of a folder's page. */
export interface ListingModel extends FolderModel {
  entries: SortedListing;
  /** Returns the number of names that are not UTF-8. It is final only after all entries are read. */
  unreadableNames: () => number;
  order: ListingOrder;
  view: View;
  /** Number of the page, counted from 1. */
  page: number;
  /** Whether the reply contains all rows of the page, even if the folder is long. */
  isWhole: boolean;
  /** URL of the page with all rows, for browsers without scripts. */
  wholeUrl: string;
  mayRead: boolean;
  mayDelete: boolean;
  mayRename: boolean;
  /**
   * Limits for new links, as the page's script reads them: default and maximum lifetime in days, then `password` if each link needs a
   * password. Undefined if the account must not share members.
   */
  share: string | undefined;
  triggers: readonly { name: string; style: string }[];
}
