import type { Entry } from '../../files/entry.ts';
import type { EntryBatches } from '../../files/operations/account-listing.ts';
import { cookieValue } from '../../lib/headers/cookies.ts';
import { sortInTurns } from '../../lib/turns/sort-in-turns.ts';
import { defaultOrder, type ListingOrder, sortColumns } from '../html/pages/listing-order.ts';
import { type Exchange, header } from '../request/exchange.ts';

/** Keeps the reader's choice from folder to folder. */
const orderCookie = 'SVC_LISTING';

const batchSize = 500;

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
 * Puts the members of a folder in order, for which all of them are in memory.
 *
 * @param language of names: `file2` comes before `file10`, `Ä` beside `A`
 */
export async function* inOrder(batches: EntryBatches, order: ListingOrder, language: string): AsyncGenerator<Entry[]> {
  const groups: Entry[][] = [[], []];
  for await (const batch of batches) for (const entry of batch) groups[order.folders === 'first' && !entry.isFolder ? 1 : 0]?.push(entry);
  const compare = compareBy(order, language);
  for (const group of groups) {
    const sorted = await sortInTurns(group, compare);
    for (let at = 0; at < sorted.length; at += batchSize) yield sorted.slice(at, at + batchSize);
  }
}

function compareBy({ column, direction }: ListingOrder, language: string): (a: Entry, b: Entry) => number {
  const { compare } = new Intl.Collator(language, { numeric: true });
  const byName = (a: Entry, b: Entry) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
  const byColumn = {
    name: byName,
    size: (a: Entry, b: Entry) => a.sizeBytes - b.sizeBytes || byName(a, b),
    modified: (a: Entry, b: Entry) => a.modifiedMs - b.modifiedMs || byName(a, b),
  }[column];
  return direction === 'asc' ? byColumn : (a, b) => byColumn(b, a);
}
