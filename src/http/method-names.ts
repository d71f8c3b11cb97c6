import { neededRights, type RequestOperations } from '../files/needed-rights.ts';

const move = { source: 'rename', destination: 'rename' } as const;

const overwriting = (end: 'source' | 'destination') =>
  ({
    end,
    purpose: 'replace a file',
    anyOf: end === 'source' ? neededRights.overwriteFile : neededRights.replaceFile,
    isUsual: true,
  }) as const;

/** The operations of each method on a file. An explanation lists the methods in this order. */
const ofFiles: Readonly<Record<string, RequestOperations>> = {
  OPTIONS: {},
  GET: { source: 'readFile' },
  HEAD: { source: 'readFile' },
  PUT: { source: 'createFile', conditional: overwriting('source') },
  DELETE: { source: 'deleteFile' },
  PROPFIND: { source: 'inspectFile' },
  COPY: { source: 'readFile', destination: 'createFile', conditional: overwriting('destination') },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a file', anyOf: neededRights.replaceFile } },
};

const ofFolders: Readonly<Record<string, RequestOperations>> = {
  OPTIONS: {},
  GET: { source: 'listFolder' },
  HEAD: { source: 'listFolder' },
  PUT: { source: 'createFolder' },
  MKCOL: { source: 'createFolder' },
  DELETE: { source: 'deleteFolder', conditional: { end: 'source', purpose: 'delete files in it', anyOf: neededRights.deleteFile } },
  PROPFIND: { source: 'listFolder' },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a folder', anyOf: neededRights.deleteFolder } },
};

/** Returns the operations of each method on the URL of a file or folder, for explanations. */
export function operationsOf(isFolder: boolean): Readonly<Record<string, RequestOperations>> {
  return isFolder ? ofFolders : ofFiles;
}

/** Safe methods (RFC 9110 §9.2.1, RFC 4918 §9.1). */
export const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND']);

export const webdavMethods: ReadonlySet<string> = new Set(['PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK']);

/** All methods that at least one URL of a service supports. */
export const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE', 'OPTIONS', ...webdavMethods]);

/** Methods on files and folders whose result depends on permissions. */
export const permittedMethods = ['GET', 'HEAD', 'PUT', 'DELETE', 'PROPFIND', 'MKCOL', 'COPY', 'MOVE'] as const;
