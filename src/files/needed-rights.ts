import type { Right } from '../accounts/permissions.ts';

/** Any one of these rights is enough. */
export type AnyRight = readonly [Right, ...Right[]];

const lookAtFile = ['read', 'list'] as const;
const look = [...lookAtFile, 'traverse'] as const;
const deleteMember = ['delete-file', 'delete-folder'] as const;

/**
 * What each operation needs on the path that it is about (docs/spec/authentication.md#permissions). `AccountFiles` asks for it, and
 * explanations tell it from here.
 */
export const neededRights = {
  lookAtFile,
  look,
  readFile: ['read'],
  listFolder: ['list', 'traverse'],
  listWholeFolder: ['list'],
  createFolder: ['create-folder'],
  writeFile: ['write'],
  rename: ['rename'],
  setAttributes: ['set-attributes'],
  replaceFile: ['write', 'delete-file'],
  deleteFile: ['delete-file'],
  deleteFolder: ['delete-folder'],
  /** Of a kind that is not known before it is looked at. */
  deleteMember,
  /** To be asked whether it is to be deleted. */
  confirmDeletion: [...look, ...deleteMember],
  /** To be told that a folder is missing. */
  missFolder: [...look, 'create-folder', 'write', ...deleteMember],
  lock: ['write'],
  seeLocks: ['read', 'list', 'traverse', 'write'],
} as const satisfies Record<string, AnyRight>;

/** An operation on one path of an account's files. */
export type Operation = keyof typeof neededRights;

/** A right that is needed only for what is on the disk. */
export interface ConditionalRight {
  end: 'source' | 'destination';
  /** What it is needed for, as part of a sentence. */
  purpose: string;
  anyOf: AnyRight;
}

/** What a request does at its path, and at its destination. */
export interface RequestOperations {
  source?: Operation;
  destination?: Operation;
  conditional?: ConditionalRight;
}
