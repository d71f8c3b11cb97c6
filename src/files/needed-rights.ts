import type { Right } from '../accounts/permissions.ts';

/** Any one of these rights is enough. */
export type AnyRight = readonly [Right, ...Right[]];

const lookAtFile = ['read', 'list'] as const;

/**
 * What each operation needs on the path that it is about (docs/spec/authentication.md#permissions). `AccountFiles` asks for it, and
 * explanations tell it from here.
 */
export const neededRights = {
  lookAtFile,
  look: [...lookAtFile, 'traverse'],
  readFile: ['read'],
  listFolder: ['list', 'traverse'],
  createFolder: ['create-folder'],
  writeFile: ['write'],
  rename: ['rename'],
  setAttributes: ['set-attributes'],
  replaceFile: ['write', 'delete-file'],
  deleteFile: ['delete-file'],
  deleteFolder: ['delete-folder'],
  lock: ['write'],
  seeLocks: ['read', 'list', 'traverse', 'write'],
} as const satisfies Record<string, AnyRight>;

/** An operation on one path of an account's files. */
export type Operation = keyof typeof neededRights;
