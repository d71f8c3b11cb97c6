import type { SortedListing } from '../../../../files/operations/sorted-listing.ts';
import type { VirtualPath } from '../../../../lib/virtual-path.ts';
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

/** Rows of one page: a browser holds so many at once, and ten times as many not. */
export const rowsOfPage = 10_000;

/**
 * Most members of a folder whose rows are all in its page at once. The page of a longer one is sent with its first rows; the script fetches the others,
 * and has only those near to the window in the document, so that they hold up nobody.
 */
export const longFolder = 500;

/** Rows that the page of a long folder begins with: as many as most windows show; each takes a slow browser some milliseconds. */
export const firstRows = 20;

/** Which of a folder's members are shown, in its order: the first of them, and the one behind the last. */
export interface ShownRange {
  from: number;
  to: number;
}

/** The rows of a page. @param page counted from 1 */
export function rangeOfPage(page: number, count = rowsOfPage): ShownRange {
  const from = (page - 1) * rowsOfPage;
  return { from, to: from + count };
}

/** What the page of any folder knows, also one whose members may not be seen. */
export interface FolderModel {
  path: VirtualPath;
  /** Whether what is in the folder may be told of. */
  mayLook: boolean;
  mayWrite: boolean;
  mayCreateFolder: boolean;
  /** What the service wants to know about uploaded files, and the header that says it. */
  metadata: { header: string; required: boolean; keys: readonly { pattern: string; required: boolean }[] } | null;
  flash: { isError: boolean; text: string } | undefined;
}

/** What a folder's page shows. */
export interface ListingModel extends FolderModel {
  entries: SortedListing;
  /** How many names of the disk are not UTF-8, once all entries are read. */
  unreadableNames: () => number;
  order: ListingOrder;
  view: View;
  /** Which part of a very large folder is shown, counted from 1. */
  page: number;
  /** Whether all rows of the page are sent at once, however many. */
  isWhole: boolean;
  /** Where a browser without scripts goes on from a page that is not whole. */
  wholeUrl: string;
  mayRead: boolean;
  mayDelete: boolean;
  mayRename: boolean;
  triggers: readonly { name: string; style: string }[];
}
