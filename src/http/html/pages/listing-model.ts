import type { Entry } from '../../../files/entry.ts';
import type { VirtualPath } from '../../../lib/virtual-path.ts';
import type { PageModel } from './layout.ts';
import type { ListingOrder } from './listing-order.ts';

/** What a folder's page shows. */
export interface ListingModel {
  path: VirtualPath;
  entries: AsyncIterable<Entry[]>;
  order: ListingOrder;
  account: NonNullable<PageModel['account']>;
  mayRead: boolean;
  mayWrite: boolean;
  mayCreateFolder: boolean;
  mayDelete: boolean;
  mayRename: boolean;
  /** What the service wants to know about uploaded files, and the header that says it. */
  metadata: { header: string; required: boolean; keys: readonly { pattern: string; required: boolean }[] } | null;
  triggers: readonly { name: string; style: string }[];
  flash: { isError: boolean; text: string } | undefined;
}
