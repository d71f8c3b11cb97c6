import type { Right } from '../accounts/permissions.ts';

/** Rights that a method needs: of each inner list any one. */
interface NeededRights {
  source: readonly (readonly Right[])[];
  destination: readonly (readonly Right[])[];
}

const nothing: NeededRights = { source: [], destination: [] };
const copy: NeededRights = { source: [['read']], destination: [['write']] };
const move: NeededRights = { source: [['rename']], destination: [['rename']] };

/** What `files/account-files.ts` asks for, by method (decisions.md, "Permissions"). */
const ofFiles: Readonly<Record<string, NeededRights>> = {
  OPTIONS: nothing,
  GET: { source: [['read']], destination: [] },
  HEAD: { source: [['read']], destination: [] },
  PUT: { source: [['write']], destination: [] },
  DELETE: { source: [['delete-file']], destination: [] },
  PROPFIND: { source: [['read', 'list', 'traverse']], destination: [] },
  COPY: copy,
  MOVE: move,
};

const ofFolders: Readonly<Record<string, NeededRights>> = {
  OPTIONS: nothing,
  GET: { source: [['list', 'traverse']], destination: [] },
  HEAD: { source: [['list', 'traverse']], destination: [] },
  PUT: { source: [['create-folder']], destination: [] },
  MKCOL: { source: [['create-folder']], destination: [] },
  DELETE: { source: [['delete-file'], ['delete-folder']], destination: [] },
  PROPFIND: { source: [['list', 'traverse']], destination: [] },
  MOVE: move,
};

/** Methods that can be explained, for a file or a folder URL. */
export function supportedMethods(isFolder: boolean): string[] {
  return Object.keys(isFolder ? ofFolders : ofFiles);
}

/** The rights that a method needs; none for a method that is not supported. */
export function neededRights(method: string, isFolder: boolean): NeededRights {
  return (isFolder ? ofFolders : ofFiles)[method] ?? nothing;
}
