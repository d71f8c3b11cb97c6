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
