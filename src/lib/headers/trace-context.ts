import { randomBytes } from 'node:crypto';

const zeroTrace = '0'.repeat(32);
const zeroParent = '0'.repeat(16);

/**
 * Parses a `traceparent` header (W3C Trace Context §3.2).
 *
 * @returns the header in version 00, which the service forwards; undefined if it is not valid
 */
export function parseTraceparent(value: string | undefined): string | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(value?.trim() ?? '');
  if (!match) return undefined;
  const [, version, trace, parent, flags, rest] = match;
  // Later versions may append members, but version 00 must not. The version ff is invalid (§3.2.2.1).
  if (version === 'ff' || (version === '00' && rest !== undefined) || trace === zeroTrace || parent === zeroParent) return undefined;
  return `00-${trace}-${parent}-${flags}`;
}

/**
 * Returns the `traceparent` for a request that svc sends because of another request. It has the same trace ID and a new parent ID
 * (§3.2.2.4).
 */
export function childTraceparent(traceparent: string): string {
  return `${traceparent.slice(0, 36)}${randomBytes(8).toString('hex')}${traceparent.slice(52)}`;
}
