import { type AnyRight, neededRights, type Operation } from '../files/needed-rights.ts';

/** A right that is needed only for what is on the disk. */
export interface ConditionalRight {
  end: 'source' | 'destination';
  /** What it is needed for, as part of a sentence. */
  purpose: string;
  anyOf: AnyRight;
}

/** What a method does at the path of its URL, and at its destination. */
interface MethodOperations {
  source?: Operation;
  destination?: Operation;
  conditional?: ConditionalRight;
}

const move = { source: 'rename', destination: 'rename' } as const;

/** In the order in which an explanation lists the methods. */
const ofFiles: Readonly<Record<string, MethodOperations>> = {
  OPTIONS: {},
  GET: { source: 'readFile' },
  HEAD: { source: 'readFile' },
  PUT: { source: 'writeFile' },
  DELETE: { source: 'deleteFile' },
  PROPFIND: { source: 'lookAtFile' },
  COPY: { source: 'readFile', destination: 'writeFile' },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a file', anyOf: neededRights.replaceFile } },
};

const ofFolders: Readonly<Record<string, MethodOperations>> = {
  OPTIONS: {},
  GET: { source: 'listFolder' },
  HEAD: { source: 'listFolder' },
  PUT: { source: 'createFolder' },
  MKCOL: { source: 'createFolder' },
  DELETE: { source: 'deleteFolder', conditional: { end: 'source', purpose: 'delete files in it', anyOf: neededRights.deleteFile } },
  PROPFIND: { source: 'listFolder' },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a folder', anyOf: neededRights.deleteFolder } },
};

/** What can be explained of a file or a folder URL, by method. */
export function operationsOf(isFolder: boolean): Readonly<Record<string, MethodOperations>> {
  return isFolder ? ofFolders : ofFiles;
}
