import type { InputFile, Note } from './draft.ts';

export interface UnixAccount {
  name: string;
  uid: number;
  gid: number;
  home: string;
  shell: string;
  file: string;
  line: number;
  /** Hash from passwd or shadow; undefined if passwords are not accepted. */
  password: string | undefined;
  /** Reason why the password must not be imported. */
  passwordFault?: string;
  /** Day on which the account expires, counted from 1970. */
  expiresOnDay?: number;
  groups: string[];
}

/** Shells that do not allow a login. */
export const noShells = /(?:^|\/)(?:nologin|false|true|sync|halt|shutdown)$/;

interface Fields {
  fields: string[];
  line: number;
}

function* linesOf(text: string): Generator<Fields> {
  for (const [index, content] of text.split(/\r?\n/).entries())
    if (content.trim() !== '' && !content.startsWith('#')) yield { fields: content.split(':'), line: index + 1 };
}

/** Returns the kind of an account file, judged by its name and its lines. */
export function unixFileKind({ path, text }: InputFile): 'passwd' | 'shadow' | 'group' | undefined {
  const name = /[^/]*$/.exec(path)?.[0] ?? '';
  const named = /passwd/.test(name) ? 'passwd' : /shadow/.test(name) ? 'shadow' : /group/.test(name) ? 'group' : undefined;
  const [first] = linesOf(text);
  const counts = { 7: 'passwd', 9: 'shadow', 4: 'group' } as const;
  const counted = counts[first?.fields.length as 7 | 9 | 4];
  return named === counted ? named : named && first === undefined ? named : undefined;
}

/** Reads passwd, shadow and group files as the system does. Returns accounts with their hashes and groups. */
export function readUnixAccounts(files: readonly InputFile[], nowMs: number, notes: Note[]): Map<string, UnixAccount> {
  const accounts = new Map<string, UnixAccount>();
  const of = (kind: string) => files.filter((file) => unixFileKind(file) === kind);
  for (const { path: file, text } of of('passwd')) {
    for (const { fields, line } of linesOf(text)) {
      const [name = '', hash = '', uid = '', gid = '', , home = '', shell = ''] = fields;
      if (fields.length !== 7 || name === '' || !/^\d+$/.test(uid)) {
        notes.push({ file, line, what: 'this is not an account', instead: 'Correct the line, or add the account by hand.' });
        continue;
      }
      if (accounts.has(name)) continue;
      accounts.set(name, { name, uid: Number(uid), gid: Number(gid), home, shell, file, line, groups: [], password: usable(hash) });
    }
  }
  const today = Math.floor(nowMs / 86_400_000);
  for (const { text } of of('shadow')) for (const { fields } of linesOf(text)) applyShadow(accounts, fields, today);
  for (const { text } of of('group')) {
    for (const { fields } of linesOf(text)) {
      const [name = '', , gid = '', members = ''] = fields;
      for (const account of accounts.values())
        if ((account.gid === Number(gid) && gid !== '') || members.split(',').includes(account.name)) account.groups.push(name);
    }
  }
  return accounts;
}

function applyShadow(accounts: ReadonlyMap<string, UnixAccount>, fields: string[], today: number): void {
  const [name = '', hash = '', changed = '', , longest = '', , inactive = '', expires = ''] = fields;
  const account = accounts.get(name);
  if (!account) return;
  account.password = usable(hash);
  if (expires !== '') account.expiresOnDay = Number(expires);
  const dueDay =
    changed === '' || longest === '' || Number(longest) >= 10_000 ? Number.POSITIVE_INFINITY : Number(changed) + Number(longest);
  if (changed === '0') account.passwordFault = 'the password has to be changed at the next login';
  else if (dueDay + Number(inactive || 0) < today) account.passwordFault = 'the password is out of date';
}

/** Returns the hash in a field; undefined for locked accounts and placeholders. */
function usable(hash: string): string | undefined {
  return hash === '' || hash === 'x' || /^[!*]/.test(hash) ? undefined : hash;
}
