import { ServiceError } from './errors.ts';

declare const virtualPathBrand: unique symbol;

/**
 * An absolute path in an account's own name space: `/`, or `/a/b` without a slash at the end. A segment is never empty, `.` or `..`, and
 * contains no NUL and no `/`.
 */
export type VirtualPath = string & { readonly [virtualPathBrand]: true };

/** Maximum length of the name of a member in UTF-8 bytes. It is the limit of common file systems. */
const longestNameBytes = 255;

/**
 * Checks the name of a member, which is one decoded segment of a path.
 *
 * @throws ServiceError `name-invalid` for an empty name, `.`, `..`, NUL, `/`, `\` on Windows, or a name that is longer than 255 bytes or
 * not valid Unicode
 */
export function checkMemberName(name: string): void {
  if (name === '' || name === '.' || name === '..') throw new ServiceError('name-invalid', 'A name must not be empty, "." or "..".');
  if (name.includes('\0')) throw new ServiceError('name-invalid', 'A name must not contain the NUL character.');
  if (name.includes('/') || (process.platform === 'win32' && name.includes('\\'))) {
    throw new ServiceError('name-invalid', 'A name must not contain a path separator.');
  }
  if (name.length > longestNameBytes / 3 && Buffer.byteLength(name) > longestNameBytes) {
    throw new ServiceError('name-invalid', `A name must not be longer than ${longestNameBytes} bytes.`);
  }
  if (!name.isWellFormed()) throw new ServiceError('name-invalid', 'A name must be valid Unicode.');
}

/**
 * Checks the name of a new member for control characters. Existing members with control characters in their names can still be used.
 *
 * @throws ServiceError `name-invalid` for a name with control characters (U+0000 to U+001F, U+007F)
 */
export function checkNewName(name: string): void {
  if (/[\u0000-\u001f\u007f]/.test(name)) throw new ServiceError('name-invalid', 'A new name must not contain control characters.');
}

/** Builds a virtual path from decoded segments. @throws ServiceError `name-invalid` for the names that `checkMemberName` refuses */
export function pathFromSegments(segments: readonly string[]): VirtualPath {
  for (const segment of segments) checkMemberName(segment);
  return `/${segments.join('/')}` as VirtualPath;
}

/**
 * Parses a virtual path of the configuration, such as `/shared/in`. A slash at the end is allowed.
 *
 * @throws ServiceError `name-invalid` if it is not absolute, and for the names that `checkMemberName` refuses
 */
export function parseVirtualPath(text: string): VirtualPath {
  if (!text.startsWith('/')) throw new ServiceError('name-invalid', `"${text}" must begin with "/".`);
  return pathFromSegments(text.split('/').filter((segment) => segment !== ''));
}

/** Returns the segments of a path; an empty list for `/`. */
export function pathSegments(path: VirtualPath): string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

/** Returns the path of a member of a folder. @param name a name that `checkMemberName` accepts */
export function memberPath(folder: VirtualPath, name: string): VirtualPath {
  return (folder === '/' ? `/${name}` : `${folder}/${name}`) as VirtualPath;
}

/** Returns the folder that contains `path`; `/` for `/` itself. */
export function parentPath(path: VirtualPath): VirtualPath {
  const slash = path.lastIndexOf('/');
  return (slash <= 0 ? '/' : path.slice(0, slash)) as VirtualPath;
}

/** Returns the last segment of `path`; empty for `/`. */
export function baseName(path: VirtualPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns whether `path` is `ancestor` or below it. */
export function isWithin(path: string, ancestor: string): boolean {
  return path === ancestor || ancestor === '/' || path.startsWith(`${ancestor}/`);
}
