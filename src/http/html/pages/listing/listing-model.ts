import type { SortedListing } from '../../../../files/operations/sorted-listing.ts';
import type { VirtualPath } from '../../../../lib/virtual-path.ts';
import type { Html } from '../html.ts';
import type { View } from '../page.ts';

/** Columns that a listing can be sorted by. */
export const sortColumns = ['name', 'size', 'modified'] as const;

/** The order of a listing. */
export interface ListingOrder {
  column: (typeof sortColumns)[number];
  direction: 'asc' | 'desc';
  /** Whether folders come before all files. */
  folders: 'first' | 'mixed';
}

/** By name as people sort, folders first (docs/spec/files.md#listings). */
export const defaultOrder: ListingOrder = { column: 'name', direction: 'asc', folders: 'first' };

/** The query that asks for an order. */
export function orderQuery({ column, direction, folders }: ListingOrder): string {
  return `?sort=${column}&order=${direction}&folders=${folders}`;
}

/** Rows of one page; browsers cannot hold ten times as many. */
export const rowsOfPage = 10_000;

/**
 * Maximum of members of a folder whose page has all rows. The page of a longer folder has its first rows; the script fetches the others,
 * and keeps only rows near the window in the document.
 */
export const longFolder = 500;

/** First rows of the page of a long folder: as many as most windows show, as each takes slow browsers some milliseconds. */
export const firstRows = 20;

/** The shown members of a folder, in its order: index of the first, and behind the last. */
export interface ShownRange {
  from: number;
  to: number;
}

/** The rows of a page. @param page counted from 1 */
export function rangeOfPage(page: number, count = rowsOfPage): ShownRange {
  const from = (page - 1) * rowsOfPage;
  return { from, to: from + count };
}

/** Facts of any folder, also one with hidden members. */
export interface FolderModel {
  path: VirtualPath;
  /** Whether the members may be revealed. */
  mayLook: boolean;
  mayWrite: boolean;
  /** Whether an upload may replace a file of its name. */
  mayReplace: boolean;
  onNameTaken: 'refuse' | 'number';
  /** For how long new files stay as they are; 0 where they may be changed. */
  retainDays: number;
  mayCreateFolder: boolean;
  /** The metadata of uploads, and its header. */
  metadata: { header: string; required: boolean; keys: readonly { pattern: string; required: boolean }[] } | null;
  flash: { isError: boolean; text: string } | undefined;
  /** Facts of a link to the folder, for its visitors. */
  about?: Html | undefined;
}

/** The content of a folder's page. */
export interface ListingModel extends FolderModel {
  entries: SortedListing;
  /** Number of names that are not UTF-8, once all entries are read. */
  unreadableNames: () => number;
  order: ListingOrder;
  view: View;
  /** Counted from 1. */
  page: number;
  /** Whether all rows of the page are sent at once. */
  isWhole: boolean;
  /** The whole page, for a browser without scripts. */
  wholeUrl: string;
  mayRead: boolean;
  mayDelete: boolean;
  mayRename: boolean;
  /** Limits of links for the page's script, for an account that may share members: usual and longest life in days, and `password` where one is needed. */
  share: string | undefined;
  triggers: readonly { name: string; style: string }[];
}
