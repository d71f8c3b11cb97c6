import { readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError, systemErrorCode } from '../errors.ts';
import { systemName } from './system-id.ts';

/** Explains why a file cannot be read. If permission is missing, names the user that svc runs as, and the owner and mode of the file. */
export function readingFault(path: string, error: unknown): string {
  switch (systemErrorCode(error)) {
    case 'ENOENT':
      return 'the file does not exist';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return accessFault(path);
    default:
      return (error as Error).message;
  }
}

/** Describes the owner and mode of the file, or of the nearest folder above it that svc can see. */
function accessFault(path: string): string {
  const account = systemName('/etc/passwd', process.geteuid?.() ?? 0);
  let seen = resolve(path);
  let stats = visibleStats(seen);
  while (!stats && seen !== dirname(seen)) {
    seen = dirname(seen);
    stats = visibleStats(seen);
  }
  if (!stats) return `permission denied to the account "${account}", which svc runs as`;
  const owner = `${systemName('/etc/passwd', stats.uid)}:${systemName('/etc/group', stats.gid)}`;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  const subject = seen === resolve(path) ? 'it' : seen;
  return `permission denied: ${subject} belongs to ${owner} with mode ${mode}, and svc runs as "${account}"; change its owner or mode`;
}

function visibleStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Reads certificate authorities that are trusted in addition to those of the system.
 *
 * @param path path of a PEM file; empty for none
 * @param option name of the option, for the error message
 * @throws ServiceError `unavailable` if the file cannot be read
 */
export function readCaCertificates(path: string, option: string): string | undefined {
  return path === '' ? undefined : readNamedFile(path, option).toString('utf8');
}

/** Content of files that were read as root, by path. It is used after root privileges were dropped. */
export const readAsRoot = new Map<string, Buffer>();

let onOld: (path: string) => void = () => {};

/** @param listener called with the path of each file that can no longer be read, and whose old content is therefore used */
export function onOldFile(listener: (path: string) => void): void {
  onOld = listener;
}

/**
 * Reads a file that may be readable only by root.
 *
 * @param mayBeOld whether to return the content that was read as root, if the file can no longer be read
 * @throws the errors of `readFileSync`
 */
export function readSecretFile(path: string, mayBeOld = true): Buffer {
  try {
    const bytes = readFileSync(path);
    if (process.getuid?.() === 0) readAsRoot.set(path, bytes);
    return bytes;
  } catch (error) {
    const old = readAsRoot.get(path);
    if (!mayBeOld || !old || systemErrorCode(error) !== 'EACCES') throw error;
    onOld(path);
    return old;
  }
}

/**
 * Reads a file whose path is the value of an option.
 *
 * @param option name of the option, for the error message
 * @param mayBeOld see `readSecretFile`
 * @throws ServiceError `unavailable` if the file cannot be read
 */
export function readNamedFile(path: string, option: string, mayBeOld = true): Buffer {
  try {
    return readSecretFile(path, mayBeOld);
  } catch (error) {
    throw new ServiceError('unavailable', `${option}: cannot read ${path}: ${readingFault(path, error)}`, { cause: error });
  }
}
