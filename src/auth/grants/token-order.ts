import type { TokenOptions } from '../../accounts/account.ts';
import { permissionKeywords } from '../../accounts/permissions.ts';
import { compileAddressRanges } from '../../lib/address-ranges.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { GrantOrder } from './grants.ts';

const longestName = 200;

/** Maximum number of items in a list of a request. Each use of the token checks each item. */
const maxItems = 100;

/** Maximum total length of a token's paths in characters. All tokens are kept in memory, and there may be many of them. */
const longestPaths = 16_384;

const members = ['name', 'path', 'permissions', 'expires', 'not_before', 'addresses', 'services'];

/**
 * Reads a request for a token from an HTTP body or a command (docs/spec/tokens.md#creating-tokens).
 *
 * @param limits the limits of the account
 * @param nowMs Unix time in milliseconds
 * @throws ServiceError `bad-request` for an unknown member or one of the wrong type; `unprocessable` for a value that is invalid or exceeds
 *   the limits
 */
export function readTokenOrder(body: Readonly<Record<string, unknown>>, limits: TokenOptions, nowMs: number): GrantOrder {
  requireKnown(body, members);
  const name = readName(body.name, 'name');
  const permissions = readTexts(body.permissions, 'permissions');
  const stranger = permissions?.find((keyword) => !permissionKeywords.some((known) => known === keyword));
  if (stranger !== undefined) throw new ServiceError('unprocessable', `"${stranger}" is not a permission.`);
  const services = readTexts(body.services, 'services');
  const closed = services?.find((service) => limits.services && !limits.services.includes(service));
  if (closed !== undefined) throw new ServiceError('unprocessable', `Tokens of the account do not work at the service "${closed}".`);
  const addresses = readTexts(body.addresses, 'addresses');
  if (addresses) unprocessable(() => compileAddressRanges(addresses));
  const paths = readPaths(body.path);
  const notBeforeMs = body.not_before === undefined ? undefined : nowMs + readSeconds(body.not_before, 'not_before') * 1000;
  const expiresMs = nowMs + readExpiry(body.expires, limits) * 1000;
  if (notBeforeMs !== undefined && notBeforeMs >= expiresMs)
    throw new ServiceError('unprocessable', 'The token would end before it begins (`not_before`, `expires`).');
  return {
    kind: 'token',
    name,
    expiresMs,
    ...(notBeforeMs !== undefined && { notBeforeMs: Math.floor(notBeforeMs) }),
    ...(paths && { paths }),
    ...(permissions && { permissions }),
    ...(services && { services }),
    ...(addresses && { addresses }),
  };
}

/** Reads the name of a token. @throws ServiceError `bad-request` if it is not text; `unprocessable` if it is not a valid name */
export function readName(value: unknown, member: string): string {
  if (typeof value !== 'string') throw new ServiceError('bad-request', `"${member}" must be a string.`);
  if (value.length > longestName || /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value) || !value.isWellFormed())
    throw new ServiceError('unprocessable', `"${member}" must have at most ${longestName} characters, and no control characters.`);
  return value;
}

/** @throws ServiceError `bad-request` if a body has other members */
export function requireKnown(body: Readonly<Record<string, unknown>>, members: readonly string[]): void {
  const unknown = Object.keys(body).find((name) => !members.includes(name));
  if (unknown !== undefined) throw new ServiceError('bad-request', `The body has the unknown member "${unknown}".`);
}

/** Reads a number of seconds. @throws ServiceError `bad-request` if it is not a number; `unprocessable` if it is not more than 0 */
export function readSeconds(value: unknown, member: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new ServiceError('bad-request', `"${member}" must be a number of seconds.`);
  if (value <= 0) throw new ServiceError('unprocessable', `"${member}" must be more than 0 seconds.`);
  return value;
}

function readExpiry(value: unknown, { maximum_days }: TokenOptions): number {
  const longest = maximum_days * 86_400;
  if (value === undefined) return longest;
  const seconds = readSeconds(value, 'expires');
  if (seconds > longest) throw new ServiceError('unprocessable', `A token of this account may be valid for at most ${maximum_days} days.`);
  return seconds;
}

function readPaths(value: unknown): VirtualPath[] | undefined {
  const texts = readTexts(typeof value === 'string' ? [value] : value, 'path');
  if (texts && texts.join('').length > longestPaths)
    throw new ServiceError('unprocessable', `"path" has more than ${longestPaths} characters.`);
  return texts?.map((text) => unprocessable(() => parseVirtualPath(text)));
}

function readTexts(value: unknown, member: string): string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw new ServiceError('bad-request', `"${member}" must be a list of strings.`);
  if (value.length === 0) throw new ServiceError('unprocessable', `"${member}" is empty, so the token would be of no use.`);
  if (value.length > maxItems) throw new ServiceError('unprocessable', `"${member}" has more than ${maxItems} items.`);
  return [...new Set(value as string[])];
}

function unprocessable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isServiceError(error)) throw new ServiceError('unprocessable', error.message, { cause: error });
    throw error;
  }
}
