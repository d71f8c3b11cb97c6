import { parseHttpDate } from './http-dates.ts';

/** A condition of `If-Match` or `If-None-Match`: any, or a list of entity tags as written. */
type EntityTagCondition = '*' | readonly string[];

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
function matchesWeakly(condition: EntityTagCondition, etag: string): boolean {
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

/** What identifies the current state of a resource. */
export interface Validators {
  etag: string;
  /** Unix time in milliseconds. */
  lastModifiedMs: number;
}

/** The conditional headers of a request, absent ones undefined. */
export interface ConditionHeaders {
  'if-match'?: string | undefined;
  'if-none-match'?: string | undefined;
  'if-modified-since'?: string | undefined;
  'if-unmodified-since'?: string | undefined;
}

/**
 * Evaluates the preconditions of a request in the order of RFC 9110 §13.2.2. Dates have second resolution; an invalid
 * date is ignored.
 *
 * @param request.current validators of the resource, undefined when nothing is there
 */
export function evaluateConditions(request: {
  method: string;
  headers: ConditionHeaders;
  current: Validators | undefined;
}): 'proceed' | 'not-modified' | 'precondition-failed' {
  const { headers, current } = request;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!current || !matchesStrongly(parseEntityTags(ifMatch), current.etag)) return 'precondition-failed';
  } else if (current && headers['if-unmodified-since'] !== undefined) {
    const since = parseHttpDate(headers['if-unmodified-since']);
    if (since !== undefined && seconds(current.lastModifiedMs) > seconds(since)) return 'precondition-failed';
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    if (current && matchesWeakly(parseEntityTags(ifNoneMatch), current.etag)) return isRead ? 'not-modified' : 'precondition-failed';
  } else if (isRead && current && headers['if-modified-since'] !== undefined) {
    const since = parseHttpDate(headers['if-modified-since']);
    if (since !== undefined && seconds(current.lastModifiedMs) <= seconds(since)) return 'not-modified';
  }
  return 'proceed';
}

/** Whether a `Range` holds under `If-Range` (RFC 9110 §13.1.5): the very same representation, or the whole is sent. */
export function rangeApplies(ifRange: string | undefined, current: Validators): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return matchesStrongly(parseEntityTags(ifRange), current.etag) && ifRange.trim() === current.etag;
  const date = parseHttpDate(ifRange);
  return date !== undefined && seconds(date) === seconds(current.lastModifiedMs);
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
