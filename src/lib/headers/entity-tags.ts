/** A condition of `If-Match` or `If-None-Match`: any, or a list of entity tags as written. */
export type EntityTagCondition = '*' | readonly string[];

/**
 * Reads `If-Match` and `If-None-Match` (RFC 9110 §13.1.1). Text that is no list of entity tags gives the tags that can be
 * read, possibly none, so that a malformed `If-Match` fails safely.
 */
export function parseEntityTags(header: string): EntityTagCondition {
  if (header.trim() === '*') return '*';
  return header.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\uffff]*"/g) ?? [];
}

/** Strong comparison (RFC 9110 §8.8.3.2): equal, and neither weak. */
export function matchesStrongly(condition: EntityTagCondition, etag: string): boolean {
  return condition === '*' || (!etag.startsWith('W/') && condition.includes(etag));
}

/** Weak comparison (RFC 9110 §8.8.3.2): equal but for `W/`. */
export function matchesWeakly(condition: EntityTagCondition, etag: string): boolean {
  const opaque = (tag: string) => (tag.startsWith('W/') ? tag.slice(2) : tag);
  return condition === '*' || condition.some((tag) => opaque(tag) === opaque(etag));
}

/**
 * The strong entity tag of a file: it changes with every new content, as each upload is a new file with its own number
 * and time.
 *
 * @param file modification time in milliseconds with a fraction, size in bytes, the file system's number of the file
 */
export function fileEntityTag(file: { modifiedMs: number; sizeBytes: number; inode: number }): string {
  return `"${file.inode.toString(36)}-${file.sizeBytes.toString(36)}-${Math.round(file.modifiedMs * 1000).toString(36)}"`;
}
