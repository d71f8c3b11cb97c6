import { parseHttpDate } from './http-dates.ts';

/** The value of `If-Match` or `If-None-Match`: `*` for any entity, or the entity tags as they were sent. */
type EntityTagCondition = '*' | readonly string[];

/**
 * Parses `If-Match` and `If-None-Match` (RFC 9110 §13.1.1). If the header is malformed, returns the tags that can be read. If there are
 * none, `If-Match` fails, which is safe.
 */
function parseEntityTags(header: string): EntityTagCondition {
  if (header.trim() === '*') return '*';
  return header.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\uffff]*"/g) ?? [];
}

/** Compares strongly (RFC 9110 §8.8.3.2). The tags must be equal, and neither may be weak. */
export function matchesStrongly(condition: EntityTagCondition, etag: string): boolean {
  return condition === '*' || (!etag.startsWith('W/') && condition.includes(etag));
}

/** Compares weakly (RFC 9110 §8.8.3.2). The tags must be equal apart from `W/`. */
function matchesWeakly(condition: EntityTagCondition, etag: string): boolean {
  const opaque = (tag: string) => (tag.startsWith('W/') ? tag.slice(2) : tag);
  return condition === '*' || condition.some((tag) => opaque(tag) === opaque(etag));
}

/**
 * Returns the strong entity tag of a file. Each upload creates a new file with another inode and time, so the tag changes, too.
 *
 * @param file modification time in milliseconds with a fraction, size in bytes, inode number
 */
export function fileEntityTag(file: { modifiedMs: number; sizeBytes: number; inode: number }): string {
  return `"${file.inode.toString(36)}-${file.sizeBytes.toString(36)}-${Math.round(file.modifiedMs * 1000).toString(36)}"`;
}

interface Validators {
  etag: string;
  /** Unix time in milliseconds. */
  lastModifiedMs: number;
}

export interface ConditionHeaders {
  'if-match'?: string | undefined;
  'if-none-match'?: string | undefined;
  'if-modified-since'?: string | undefined;
  'if-unmodified-since'?: string | undefined;
}

/**
 * Evaluates the preconditions of a request in the order of RFC 9110 §13.2.2. Dates are compared in whole seconds; invalid dates are
 * ignored.
 *
 * @param request.current undefined if the resource does not exist
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

/** Returns whether `Range` applies. For this, `If-Range` must be absent or match the current representation (RFC 9110 §13.1.5). */
export function rangeApplies(ifRange: string | undefined, current: Validators): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return matchesStrongly(parseEntityTags(ifRange), current.etag) && ifRange.trim() === current.etag;
  const date = parseHttpDate(ifRange);
  return date !== undefined && seconds(date) === seconds(current.lastModifiedMs);
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
