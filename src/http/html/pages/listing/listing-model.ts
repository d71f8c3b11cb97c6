import type { SortedListing } from '../../../../files/operations/sorted-listing.ts';
import type { VirtualPath } from '../../../../lib/virtual-path.ts';
import type { PageModel } from '../layout.ts';
import type { View } from '../view.ts';
import type { ListingOrder } from './listing-range.ts';

/** What the page of any folder knows, also one whose members may not be seen. */
export interface FolderModel {
  path: VirtualPath;
  account: NonNullable<PageModel['account']>;
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
