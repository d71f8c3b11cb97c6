import { neededRights, type RequestOperations } from '../../files/needed-rights.ts';
import { pathFromSegments, type VirtualPath } from '../../lib/virtual-path.ts';

/**
 * The path that a client means: relative ones begin at the root, which is where a client is; `..` stops there.
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

/** What can be explained of requests of SFTP about a file, by name; OPEN by what it is for. In the order in which they are listed. */
export const sftpOperations: Readonly<Record<string, RequestOperations>> = {
  'OPEN-READ': { source: 'readFile' },
  'OPEN-WRITE': { source: 'writeFile' },
  OPENDIR: { source: 'listFolder' },
  STAT: { source: 'lookAtFile' },
  SETSTAT: { source: 'setAttributes' },
  MKDIR: { source: 'createFolder' },
  RMDIR: { source: 'deleteFolder' },
  REMOVE: { source: 'deleteFile' },
  RENAME: rename,
  'POSIX-RENAME': { ...rename, conditional: { end: 'destination', purpose: 'replace a file', anyOf: neededRights.replaceFile } },
};

/** What `svc explain` is asked about a login, in place of the name of a request. */
export const loginMethod = 'LOGIN';

const folderOperations: typeof sftpOperations = { ...sftpOperations, STAT: { source: 'look' } };

/** The same, about a path that is said to be that of a folder. */
export function operationsOnPath(isFolder: boolean): typeof sftpOperations {
  return isFolder ? folderOperations : sftpOperations;
}
