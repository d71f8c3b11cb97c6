import type { Right } from '../../accounts/permissions.ts';

/** A right that is needed only for what is on the disk. */
export interface ConditionalRight {
  end: 'source' | 'destination';
  /** What it is needed for, as part of a sentence. */
  purpose: string;
  anyOf: readonly Right[];
}

/** Rights that a method needs: of each inner list any one. */
interface NeededRights {
  source: readonly (readonly Right[])[];
  destination: readonly (readonly Right[])[];
  conditional?: readonly ConditionalRight[];
}

const nothing: NeededRights = { source: [], destination: [] };
const move: NeededRights = { source: [['rename']], destination: [['rename']] };

/** What `files/account-files.ts` asks for, by method (docs/spec/authentication.md#permissions). */
const ofFiles: Readonly<Record<string, NeededRights>> = {
  OPTIONS: nothing,
  GET: { source: [['read']], destination: [] },
  HEAD: { source: [['read']], destination: [] },
  PUT: { source: [['write']], destination: [] },
  DELETE: { source: [['delete-file']], destination: [] },
  PROPFIND: { source: [['read', 'list']], destination: [] },
  COPY: { source: [['read']], destination: [['write']] },
  MOVE: { ...move, conditional: [{ end: 'destination', purpose: 'replace a file', anyOf: ['write', 'delete-file'] }] },
};

const ofFolders: Readonly<Record<string, NeededRights>> = {
  OPTIONS: nothing,
  GET: { source: [['list', 'traverse']], destination: [] },
  HEAD: { source: [['list', 'traverse']], destination: [] },
  PUT: { source: [['create-folder']], destination: [] },
  MKCOL: { source: [['create-folder']], destination: [] },
  DELETE: {
    source: [['delete-folder']],
    destination: [],
    conditional: [{ end: 'source', purpose: 'delete files in it', anyOf: ['delete-file'] }],
  },
  PROPFIND: { source: [['list', 'traverse']], destination: [] },
  MOVE: { ...move, conditional: [{ end: 'destination', purpose: 'replace a folder', anyOf: ['delete-folder'] }] },
};

/** Methods that can be explained, for a file or a folder URL. */
export function supportedMethods(isFolder: boolean): string[] {
  return Object.keys(isFolder ? ofFolders : ofFiles);
}

/** The rights that a method needs; none for a method that is not supported. */
export function neededRights(method: string, isFolder: boolean): NeededRights {
  return (isFolder ? ofFolders : ofFiles)[method] ?? nothing;
}
