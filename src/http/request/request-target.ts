import { ServiceError } from '../../lib/errors.ts';
import { checkMemberName, memberPath, pathFromSegments, type VirtualPath } from '../../lib/virtual-path.ts';

/** The reserved name of the service's own URLs (docs/spec/http.md#urls). */
export const reservedName = '__svc__';

/** The URLs of links are below this name, which is itself below `reservedName`. */
const linkName = 's';

/** Returns a URL path below a link, with a final `/` for folders. @param below path relative to the file or folder that the link shows */
export function linkUrlPath(secret: string, below: VirtualPath, isFolder: boolean): string {
  const path = `/${reservedName}/${linkName}/${encodeURIComponent(secret)}${below === '/' ? '' : below.split('/').map(encodeURIComponent).join('/')}`;
  return isFolder ? `${path}/` : path;
}

export type RequestTarget =
  /** A file or folder of the account. `isFolder` is true if the URL ends in `/`. */
  | { kind: 'member'; path: VirtualPath; isFolder: boolean; query: string }
  /** `/__svc__/<name>`. */
  | { kind: 'service'; name: string; query: string }
  /** `/home/__svc__/<name>`. */
  | { kind: 'account-service'; name: string; query: string }
  /**
   * `/__svc__/s/<secret>`, or a path below it. `isFolder` is true if the URL ends in `/`. The secret must not appear in a log, event or
   * message.
   */
  | { kind: 'link'; secret: string; below: VirtualPath; isFolder: boolean; query: string }
  /** `/` itself. */
  | { kind: 'root'; query: string }
  /** `/home` without a final slash. */
  | { kind: 'home'; query: string }
  /** `/.well-known/<name>` (RFC 8615). */
  | { kind: 'well-known'; name: string; query: string }
  /** `*`, the target of an OPTIONS request for the whole server. */
  | { kind: 'server'; query: '' }
  | { kind: 'unknown'; query: string }
  /** An invalid target, with the error that gives the reason. `isOfLink` is true if the target could contain the secret of a link. */
  | { kind: 'refused'; fault: unknown; isOfLink: boolean; query: '' };

/** Reads the target of a request. Never throws: an invalid target becomes `refused`. */
export function readTarget(method: string, raw: string): RequestTarget {
  try {
    const target = parseRequestTarget(raw);
    // A PROPFIND of a folder without the final slash is answered, not redirected (docs/spec/http.md#redirects-to-folders). The same applies
    // to the home folder.
    if (target.kind !== 'home' || method !== 'PROPFIND') return target;
    return { kind: 'member', path: pathFromSegments([]), isFolder: false, query: target.query };
  } catch (fault) {
    return { kind: 'refused', fault, isOfLink: raw.includes(`/${linkName}/`), query: '' };
  }
}

/** Whether the URL belongs to a link. Such a URL contains a secret, so it must not be passed to others. */
export function isOfLink(target: RequestTarget): boolean {
  return target.kind === 'link' || (target.kind === 'refused' && target.isOfLink);
}

/** Returns the path of a target for `routes.ts`. Each kind has its own prefix, so names of files cannot match other routes. */
export function canonicalPath(target: RequestTarget): string {
  switch (target.kind) {
    case 'member':
      return (target.isFolder ? '/folder' : '/file') + target.path;
    case 'link':
      return `/link/${target.isFolder ? 'folder' : 'file'}${target.below}`;
    case 'service':
    case 'account-service':
    case 'well-known':
      return `/${target.kind}/${target.name}`;
    default:
      return `/${target.kind}`;
  }
}

/**
 * Reads a raw request target. Every segment is percent-decoded exactly once, as UTF-8, so that permissions and the file system see the same
 * name. Empty segments are ignored (`//` is `/`).
 *
 * @param raw the target as the client sent it, ASCII
 * @throws ServiceError `name-invalid` or `bad-request` for bad percent codes, invalid UTF-8, NUL, an encoded slash, or `.` and `..`
 *   segments in any form
 */
export function parseRequestTarget(raw: string): RequestTarget {
  if (raw === '*') return { kind: 'server', query: '' };
  if (plainFile.test(raw) && !raw.startsWith(`/home/${reservedName}`))
    return { kind: 'member', path: raw.slice(5) as VirtualPath, isFolder: false, query: '' };
  const { path, query } = splitTarget(raw);
  const isFolder = path.endsWith('/');
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment);
  const [first, second] = segments;
  if (first === undefined) return { kind: 'root', query };
  if (first === reservedName && second === linkName && segments[2] !== undefined)
    return { kind: 'link', secret: segments[2], below: pathFromSegments(segments.slice(3)), isFolder, query };
  if (first === reservedName) return { kind: 'service', name: segments.slice(1).join('/'), query };
  if (first === '.well-known') return { kind: 'well-known', name: segments.slice(1).join('/'), query };
  if (first !== 'home') return { kind: 'unknown', query };
  if (second === undefined) return isFolder ? { kind: 'member', path: pathFromSegments([]), isFolder, query } : { kind: 'home', query };
  if (second === reservedName) return { kind: 'account-service', name: segments.slice(2).join('/'), query };
  return { kind: 'member', path: pathFromSegments(segments.slice(1)), isFolder, query };
}

/** Returns the value of `inline` in a query; null if the query does not have it. */
export function inlineQuery(query: string): string | null {
  return query === '' ? null : new URLSearchParams(query).get('inline');
}

// Matches the URLs of most files: nothing needs decoding, there is no query, and no segment is empty or begins with a dot.
const plainFile = /^\/home(\/[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]{0,254})+$/;

function splitTarget(raw: string): { path: string; query: string } {
  // A server must accept the absolute form (RFC 9112 §3.2.2).
  const target = raw.startsWith('/') ? raw : raw.replace(/^https?:\/\/[^/?#]*/i, '');
  if (target === '' && raw !== '') return { path: '/', query: '' };
  if (target.startsWith('?')) return { path: '/', query: target };
  if (!target.startsWith('/')) throw new ServiceError('bad-request', 'The request target is not understood.');
  if (target.includes('#')) throw new ServiceError('bad-request', 'A request target must not contain "#"; write %23.');
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark) };
}

/** Decodes one segment, which can contain percent codes and raw bytes. @throws ServiceError `name-invalid` */
function decodeSegment(segment: string): string {
  if (/^[\w.~!$&'()*+,;=:@-]*$/.test(segment)) {
    checkDots(segment);
    return segment;
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(segment)) throw new ServiceError('name-invalid', 'The URL has an invalid percent code.');
  const bytes = Buffer.from(
    segment.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  try {
    const name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    checkDots(name);
    return name;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('name-invalid', 'The URL is not valid UTF-8.', { cause: error });
  }
}

function checkDots(name: string): void {
  if (name === '.' || name === '..') throw new ServiceError('name-invalid', 'A URL must not contain "." or ".." segments.');
}

/** Returns the path of the member that a command names in a folder. @throws ServiceError `name-invalid` or `name-reserved` */
export function targetPath(folder: VirtualPath, target: string): VirtualPath {
  if (target.includes('\\')) throw new ServiceError('name-invalid', 'A target must not contain a path separator.');
  return selectedPath(folder, target);
}

/**
 * Returns the path of a member that was selected in a listing. Unlike a name in a command, this name may contain `\`.
 *
 * @throws ServiceError `name-invalid` or `name-reserved`
 */
export function selectedPath(folder: VirtualPath, name: string): VirtualPath {
  checkMemberName(name);
  if (folder === '/' && name === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  return memberPath(folder, name);
}

/** Returns the URL path of a virtual path. It begins with `/home`, and ends in `/` for folders. */
export function memberUrlPath(path: VirtualPath, isFolder: boolean): string {
  const encoded = `/home${path === '/' ? '' : path.split('/').map(encodeURIComponent).join('/')}`;
  return isFolder ? `${encoded}/` : encoded;
}

/** Rebuilds the URL of an account's page, with its query, from a parsed target; undefined for other targets. */
export function rebuildPageUrl(target: RequestTarget): string | undefined {
  if (target.kind === 'member') return memberUrlPath(target.path, target.isFolder) + target.query;
  if (target.kind === 'account-service')
    return `/home/${reservedName}/${target.name.split('/').map(encodeURIComponent).join('/')}${target.query}`;
  return undefined;
}

/** Returns the ID in the URL of an item, such as `/home/__svc__/tokens/<ID>`; empty for other targets. */
export function itemId(target: RequestTarget): string {
  return target.kind === 'account-service' ? (target.name.split('/')[1] ?? '') : '';
}

/**
 * Returns the value of a `server-path` header (docs/spec/http.md#server-path), which is the path in UTF-8 with one character per byte.
 * Headers cannot contain control characters or a final space. If the path has such characters, these and `%` are percent-encoded.
 */
export function serverPathValue(path: VirtualPath): string {
  if (/^[\x20-\x7e]*[\x21-\x7e]$/.test(path)) return path;
  const text = /\p{Cc}| $/u.test(path) ? path.replace(/[%\p{Cc}]| $/gu, encodeURIComponent) : path;
  return Buffer.from(text).toString('latin1');
}
