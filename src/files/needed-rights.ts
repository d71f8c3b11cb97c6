import type { Right } from '../accounts/permissions.ts';

/** Any one of these rights is enough. */
export type AnyRight = readonly [Right, ...Right[]];

const inspectFile = ['read', 'list'] as const;
const inspect = [...inspectFile, 'traverse'] as const;
const deleteMember = ['delete-file', 'delete-folder'] as const;

/**
 * The rights that each operation needs on its path (docs/spec/authentication.md#permissions), for the checks of `AccountFiles` and for
 * the explanations of `svc explain`.
 */
export const neededRights = {
  inspectFile,
  inspect,
  readFile: ['read'],
  listFolder: ['list', 'traverse'],
  listWholeFolder: ['list'],
  createFolder: ['create-folder'],
  /**
   * For a new file. An upload that overwrites a file also needs `overwriteFile`; a copy or move that replaces a file needs `replaceFile`.
   */
  createFile: ['write', 'create-file'],
  overwriteFile: ['write'],
  rename: ['rename'],
  setAttributes: ['set-attributes'],
  replaceFile: ['write', 'delete-file'],
  deleteFile: ['delete-file'],
  deleteFolder: ['delete-folder'],
  /** To delete a file or a folder. */
  deleteMember,
  /** To see the page that asks for a confirmation. */
  confirmDeletion: [...inspect, ...deleteMember],
  /** To be told (404) that a folder is missing. */
  missFolder: [...inspect, 'create-folder', 'write', 'create-file', ...deleteMember],
  createToken: ['create-token'],
  share: ['share'],
  lock: ['write'],
  seeLocks: ['read', 'list', 'traverse', 'write'],
} as const satisfies Record<string, AnyRight>;

/** An operation on one path of an account's files. */
export type Operation = keyof typeof neededRights;

/** A right that a request needs only in some cases, which depend on the disk: for example, only if its destination exists. */
export interface ConditionalRight {
  end: 'source' | 'destination';
  /** Part of a sentence that explains the right. */
  purpose: string;
  anyOf: AnyRight;
  /** If the account has the right, explanations do not mention this right. */
  isUsual?: true;
}

/** The operations of a request at its path and its destination. */
export interface RequestOperations {
  source?: Operation;
  destination?: Operation;
  conditional?: ConditionalRight;
}
