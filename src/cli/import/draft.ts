import * as z from 'zod';
import type { RequiredCredentials } from '../../accounts/credential-kinds.ts';

/**
 * A difference between the old server and the new configuration, or a problem of the import. The names of the members are those in the
 * output with `--json`.
 */
export const note = z.strictObject({
  file: z.string().describe('Path of the file, as it was given or found; empty if the note is not about one file.'),
  line: z.int().describe('Line number from 1; 0 if the note is not about one line.'),
  account: z.string().optional().describe('Account that the note is about.'),
  what: z.string(),
  instead: z.string().describe('What to do, or what svc does instead.'),
});

export type Note = z.infer<typeof note>;

/** An account of the old server, expressed with the options of svc. */
export interface DraftAccount {
  name: string;
  file: string;
  line: number;
  enabled: boolean;
  /** Hash of the password; undefined if there is none or passwords are not accepted. */
  password: string | undefined;
  /** OpenSSH public keys. */
  sshKeys: string[];
  email: string;
  /** Home folder: absolute, or relative to the configuration. */
  home: string;
  /** The first item lists the general permissions. Each further item is a rule: an expression, then the permissions for matching paths. */
  permissions: string[][];
  /** Folders for which test cases are created, and the permissions there. Without `granted`, the general permissions apply. */
  samples: { at: string; granted?: string[] }[];
  virtualFolders: [string, string][];
  requires: RequiredCredentials;
  quotaBytes: number;
  largestFileBytes: number;
  /** Name of the account's group on the old server. A group of svc is named after it, in capitals. */
  group: string;
}

export interface Draft {
  server: Record<string, unknown>;
  services: Record<string, Record<string, unknown>>;
  accounts: Map<string, DraftAccount>;
  /** Whether svc creates missing home folders. */
  createsHomes: boolean;
  notes: Note[];
}

export interface InputFile {
  path: string;
  text: string;
  /** Account to which the file belongs (`alice=FILE`). */
  account: string | undefined;
}

export interface ImportInput {
  files: readonly InputFile[];
  /** Folder with a copy of the old machine's files. It takes the place of `/` on that machine. */
  root: string;
  /** Home folder with `${USER}`, for accounts of a source that has no home folders. */
  home: string;
  port: number | undefined;
  nowMs: number;
}

/** The keyword that grants all permissions. */
export const fullControl = 'allow-full-control';
export const readOnly = ['allow-read', 'allow-list'];

/** Creates an empty draft. */
export function emptyDraft(): Draft {
  return { server: {}, services: {}, accounts: new Map(), createsHomes: true, notes: [] };
}

/** Creates an account with full permissions and without credentials. */
export function draftAccount(name: string, file: string, line: number): DraftAccount {
  return {
    name,
    file,
    line,
    enabled: true,
    password: undefined,
    sshKeys: [],
    email: '',
    home: '',
    permissions: [[fullControl]],
    samples: [{ at: '/' }],
    virtualFolders: [],
    requires: 'any',
    quotaBytes: 0,
    largestFileBytes: 0,
    group: '',
  };
}

/** Adds an account. If the draft already has an account with this name, only a note is added. @returns whether the account was added */
export function addAccount(draft: Draft, account: DraftAccount): boolean {
  const { name, file, line } = account;
  if (!draft.accounts.has(name)) {
    draft.accounts.set(name, account);
    return true;
  }
  draft.notes.push({ file, line, account: name, what: 'the account is listed twice', instead: 'The first one is used.' });
  return false;
}

/** Disables an account for which svc would be less strict than the old server. */
export function disable(
  draft: Draft,
  account: DraftAccount,
  what: string,
  instead: string,
  place: { file: string; line: number } = account,
): void {
  account.enabled = false;
  draft.notes.push({ file: place.file, line: place.line, account: account.name, what, instead: `The account is disabled. ${instead}` });
}

/** Returns an expression that matches all paths below a folder. Each character of the folder's path matches only itself. */
export function belowFolder(path: string): string {
  return `e/^${quoted(path)}\\//`;
}

/** Returns an expression that matches only the given path. */
export function exactly(path: string): string {
  return `e/^${quoted(path)}$/`;
}

function quoted(path: string): string {
  return path.replace(/[^A-Za-z0-9_\u0080-\u{10ffff}]/gu, (character) => `\\${character}`);
}
