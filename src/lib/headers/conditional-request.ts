import { matchesStrongly, matchesWeakly, parseEntityTags } from './entity-tags.ts';
import { parseHttpDate } from './http-dates.ts';

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
