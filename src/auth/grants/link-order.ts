import type { LinkOptions } from '../../accounts/account.ts';
import { hashPassword, newPasswordFault } from '../../accounts/passwords.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { Grant, LinkChange, LinkDetails } from './grant.ts';
import type { GrantOrder } from './grants.ts';
import { readSeconds, requireKnown } from './token-order.ts';

const dayS = 86_400;

const maxNoteCharacters = 500;

const changeable = ['expires', 'password', 'maximum_downloads', 'note'];

/** The permissions of a link's visitors. Permissions that the creator does not have are not granted. */
const linkPermissions: Readonly<Record<LinkDetails['kind'], readonly string[]>> = {
  download: ['allow-read', 'allow-list', 'allow-traverse'],
  drop: ['allow-create-file'],
};

/** A request for a link, which always has exactly one path. */
export type LinkOrder = GrantOrder & { readonly paths: readonly [VirtualPath]; readonly link: LinkDetails };

/**
 * Reads a request for a link from an HTTP body or a command (docs/spec/links.md#making-links).
 *
 * @param limits the limits of the account
 * @param nowMs Unix time in milliseconds
 * @throws ServiceError `bad-request` for an unknown member or one of the wrong type; `unprocessable` for a value that is invalid or exceeds
 *   the limits
 */
export async function readLinkOrder(body: Readonly<Record<string, unknown>>, limits: LinkOptions, nowMs: number): Promise<LinkOrder> {
  requireKnown(body, ['path', 'kind', ...changeable]);
  const { path, kind = 'download' } = body;
  if (typeof path !== 'string') throw new ServiceError('bad-request', '"path" must be a string, such as "/out/report.pdf".');
  if (kind !== 'download' && kind !== 'drop') throw new ServiceError('bad-request', '"kind" must be "download" or "drop".');
  const maximumDownloads = readMaximum(body.maximum_downloads, kind);
  const name = readNote(body.note);
  const lifeS = readLife(body.expires, limits);
  const passwordHash = await readPassword(body.password, limits);
  const link: LinkDetails = {
    kind,
    ...(passwordHash !== undefined && { passwordHash }),
    ...(maximumDownloads !== undefined && { maximumDownloads }),
  };
  return { kind: 'link', name, expiresMs: nowMs + lifeS * 1000, paths: [parseVirtualPath(path)], permissions: linkPermissions[kind], link };
}

/**
 * Reads the changes of a link from an HTTP body (docs/spec/links.md#changing-links). `null` removes a password or a maximum.
 *
 * @param kind the kind of the link, which cannot be changed
 * @param nowMs Unix time in milliseconds
 * @returns for a link, what changes in it
 * @throws ServiceError like `readLinkOrder`
 */
export async function readLinkChange(
  body: Readonly<Record<string, unknown>>,
  kind: LinkDetails['kind'],
  limits: LinkOptions,
  nowMs: number,
): Promise<(link: Grant) => LinkChange> {
  requireKnown(body, changeable);
  const { expires, password, maximum_downloads: maximum, note } = body;
  const name = note === undefined ? {} : { name: readNote(note) };
  const life = expires === undefined ? {} : { expiresMs: nowMs + readLife(expires, limits) * 1000 };
  const passwordHash = password === undefined ? {} : { passwordHash: await readPassword(password ?? undefined, limits) };
  const maximumDownloads = maximum === undefined ? {} : { maximumDownloads: readMaximum(maximum ?? undefined, kind) };
  return ({ link }) => ({ ...name, ...life, link: { ...link, kind, ...passwordHash, ...maximumDownloads } });
}

function readMaximum(value: unknown, kind: LinkDetails['kind']): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new ServiceError('bad-request', '"maximum_downloads" must be a whole number.');
  if (value < 1) throw new ServiceError('unprocessable', '"maximum_downloads" must be at least 1.');
  if (kind === 'drop') throw new ServiceError('unprocessable', '"maximum_downloads" is only for links of kind "download".');
  return value;
}

function readNote(value: unknown = ''): string {
  if (typeof value !== 'string') throw new ServiceError('bad-request', '"note" must be a string.');
  if (value.length > maxNoteCharacters || /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(value) || !value.isWellFormed())
    throw new ServiceError('unprocessable', `"note" must have at most ${maxNoteCharacters} characters, and no control characters.`);
  return value;
}

function readLife(value: unknown, { default_days: usual, maximum_days: max }: LinkOptions): number {
  if (value === undefined) return Math.min(usual, max) * dayS;
  const seconds = readSeconds(value, 'expires');
  if (seconds > max * dayS) throw new ServiceError('unprocessable', `A link of this account may be valid for at most ${max} days.`);
  return seconds;
}

async function readPassword(value: unknown, { require_password: isNeeded }: LinkOptions): Promise<string | undefined> {
  if (value === undefined) {
    if (isNeeded) throw new ServiceError('unprocessable', 'A link of this account needs a "password".');
    return undefined;
  }
  if (typeof value !== 'string') throw new ServiceError('bad-request', '"password" must be a string.');
  const fault = value === '' ? 'The password must not be empty.' : newPasswordFault(value);
  if (fault !== undefined) throw new ServiceError('unprocessable', fault);
  return hashPassword(value);
}
