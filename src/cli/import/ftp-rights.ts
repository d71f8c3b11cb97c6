import { type Draft, type DraftAccount, disable, draftAccount, fullControl } from './draft.ts';
import type { UnixAccount } from './unix-accounts.ts';

/**
 * FTP commands, with the permissions of svc that allow the same. STOR and STOU need only one of their two permissions: `allow-write` if the
 * old server let the account overwrite files, otherwise `allow-create-file`.
 */
const rightsOfCommands: Readonly<Record<string, readonly string[]>> = {
  RETR: ['allow-read'],
  LIST: ['allow-list'],
  NLST: ['allow-list'],
  MLSD: ['allow-list'],
  MLST: ['allow-list'],
  STAT: ['allow-list'],
  STOR: ['allow-write', 'allow-create-file'],
  STOU: ['allow-write', 'allow-create-file'],
  APPE: ['allow-write'],
  DELE: ['allow-delete-file'],
  MKD: ['allow-create-folder'],
  XMKD: ['allow-create-folder'],
  RMD: ['allow-delete-folder'],
  XRMD: ['allow-delete-folder'],
  RNFR: ['allow-rename'],
  RNTO: ['allow-rename'],
  SITE: ['allow-set-attributes'],
  SITE_CHMOD: ['allow-set-attributes'],
  MFMT: ['allow-set-attributes'],
  READ: ['allow-read'],
  DIRS: ['allow-list'],
  WRITE: [
    'allow-write',
    'allow-create-file',
    'allow-delete-file',
    'allow-create-folder',
    'allow-delete-folder',
    'allow-rename',
    'allow-set-attributes',
  ],
};

/** All permissions, listed one by one; `allow-create-file` is omitted because `allow-write` includes it. */
export const allRights: readonly string[] = [
  'allow-read',
  'allow-list',
  ...(rightsOfCommands.WRITE as readonly string[]).filter((right) => right !== 'allow-create-file'),
];

/** Returns the permissions in `rightsOfCommands` for some commands. `ALL` means all permissions. */
export function commandRights(commands: readonly string[]): string[] {
  return commands.flatMap((command) =>
    command.toUpperCase() === 'ALL' ? [...allRights, 'allow-create-file'] : (rightsOfCommands[command.toUpperCase()] ?? []),
  );
}

/** Returns a set of permissions in the notation of the configuration. */
export function permissionSet(granted: readonly string[]): string[] {
  return allRights.every((right) => granted.includes(right)) ? [fullControl] : [...new Set(granted)];
}

/** Creates an account from a Unix account. It gets the same home folder, and the same password if its hash can be imported. */
export function makeDraftAccount(draft: Draft, unix: UnixAccount, nowMs: number): DraftAccount {
  const account = {
    ...draftAccount(unix.name, unix.file, unix.line),
    home: unix.home === '/' ? '' : unix.home,
    password: unix.password,
    group: 'FTP',
  };
  if (unix.passwordFault !== undefined) {
    account.password = undefined;
    draft.notes.push({
      file: unix.file,
      line: unix.line,
      account: unix.name,
      what: unix.passwordFault,
      instead: 'Give it a new password.',
    });
  }
  if (unix.expiresOnDay !== undefined) {
    const day = new Date(unix.expiresOnDay * 86_400_000).toISOString().slice(0, 10);
    const hasExpired = unix.expiresOnDay * 86_400_000 <= nowMs;
    disable(
      draft,
      account,
      `it ${hasExpired ? 'has expired' : 'expires'} on ${day}`,
      hasExpired ? 'It stays disabled.' : 'Enable it, and disable it again on that day.',
    );
  }
  return account;
}
