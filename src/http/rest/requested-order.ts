import type { ListedEntry } from '../../files/entry.ts';
import type { Compare } from '../../files/operations/sorted-listing.ts';
import { cookieValue } from '../../lib/headers/cookies.ts';
import { defaultOrder, type ListingOrder, sortColumns } from '../html/pages/listing/listing-order.ts';
import { type Exchange, header } from '../request/exchange.ts';

/** Keeps the reader's choice from folder to folder. */
const orderCookie = 'SVC_LISTING';

/**
 * The order that a reader wants: of the query (`?sort=size&order=desc&folders=first`), else as chosen before, else that
 * of the service (docs/spec/files.md#listings). Values that are not known count for nothing.
 *
 * @returns the order, and the `Set-Cookie` line that keeps a new choice
 */
export function listingOrderOf(exchange: Exchange): { order: ListingOrder; cookie: string | undefined } {
  const query = new URLSearchParams(exchange.target.query);
  const kept = parseOrder((cookieValue(header(exchange, 'cookie'), orderCookie) ?? '').split('-'), defaultOrder);
  const order = parseOrder([query.get('sort'), query.get('order'), query.get('folders')], kept);
  const line = `${orderCookie}=${order.column}-${order.direction}-${order.folders}; Path=/home/; SameSite=strict; Max-Age=31536000`;
  return { order, cookie: ['sort', 'order', 'folders'].some((name) => query.has(name)) ? line : undefined };
}

function parseOrder([column, direction, folders]: readonly (string | null | undefined)[], base: ListingOrder): ListingOrder {
  return {
    column: sortColumns.find((candidate) => candidate === column) ?? base.column,
    direction: direction === 'asc' || direction === 'desc' ? direction : base.direction,
    folders: folders === 'first' || folders === 'mixed' ? folders : base.folders,
  };
}

/**
 * The comparison for an order.
 *
 * @param language of names: `file2` comes before `file10`, `Ä` beside `A`
 */
export function comparisonOf({ column, direction, folders }: ListingOrder, language: string): Compare {
  const { compare } = new Intl.Collator(language, { numeric: true });
  const byName: Compare = (a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
  const byColumn: Compare = {
    name: byName,
    size: (a: ListedEntry, b: ListedEntry) => a.sizeBytes - b.sizeBytes || byName(a, b),
    modified: (a: ListedEntry, b: ListedEntry) => a.modifiedMs - b.modifiedMs || byName(a, b),
  }[column];
  const inDirection: Compare = direction === 'asc' ? byColumn : (a, b) => byColumn(b, a);
  return folders === 'first' ? (a, b) => Number(b.isFolder) - Number(a.isFolder) || inDirection(a, b) : inDirection;
}
