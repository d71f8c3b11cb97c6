import { neededRights, type RequestOperations } from '../../files/needed-rights.ts';
import { pathFromSegments, type VirtualPath } from '../../lib/virtual-path.ts';

/**
 * Resolves the path of a request. Relative paths begin at the root, which is the client's home folder. `..` does not leave the root.
 *
 * @throws ServiceError `name-invalid` for a name that is too long
 */
export function requestedPath(text: string): VirtualPath {
  const segments: string[] = [];
  for (const segment of text.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return pathFromSegments(segments);
}

const rename = { source: 'rename', destination: 'rename' } as const;

/** The SFTP requests about files, in the order in which `svc explain` lists them. OPEN has an entry for each purpose. */
export const sftpOperations: Readonly<Record<string, RequestOperations>> = {
  'OPEN-READ': { source: 'readFile' },
  'OPEN-WRITE': {
    source: 'createFile',
    conditional: { end: 'source', purpose: 'change a file', anyOf: neededRights.overwriteFile, isUsual: true },
  },
  OPENDIR: { source: 'listFolder' },
  STAT: { source: 'inspectFile' },
  SETSTAT: { source: 'setAttributes' },
  MKDIR: { source: 'createFolder' },
  RMDIR: { source: 'deleteFolder' },
  REMOVE: { source: 'deleteFile' },
  RENAME: rename,
  'POSIX-RENAME': { ...rename, conditional: { end: 'destination', purpose: 'replace a file', anyOf: neededRights.replaceFile } },
};

/** Used in place of the name of a request when `svc explain` is asked about a login. */
export const loginMethod = 'LOGIN';

const folderOperations: typeof sftpOperations = { ...sftpOperations, STAT: { source: 'inspect' } };

/** Returns the operations on a path. STAT of a folder needs other rights than STAT of a file. */
export function operationsOnPath(isFolder: boolean): typeof sftpOperations {
  return isFolder ? folderOperations : sftpOperations;
}
