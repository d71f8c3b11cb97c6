import { hashPassword, parsePasswordHash } from '../../accounts/passwords.ts';
import { permissionKeywords } from '../../accounts/permissions.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { addAccount, type Draft, draftAccount, emptyDraft, type ImportInput } from './draft.ts';

export interface CsvRecord {
  fields: string[];
  line: number;
}

/**
 * Reads comma-separated values (RFC 4180). Quoted fields may contain commas, doubled quotes and line ends.
 *
 * @param separator separator of fields: `,`, `;` or a tab
 * @throws ServiceError `bad-request` if a quotation mark is not closed
 */
export function readCsv(text: string, separator: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  const input = text.replace(/^\ufeff/, '');
  let line = 1;
  for (let at = 0; at < input.length; ) {
    const record: CsvRecord = { fields: [], line };
    for (let isEnd = false; !isEnd; ) {
      let field = '';
      if (input[at] === '"') {
        for (at++; ; at++) {
          if (at >= input.length)
            throw new ServiceError('bad-request', `The record that begins in line ${record.line} has a quotation mark that is not closed.`);
          if (input[at] === '"' && input[at + 1] !== '"') break;
          if (input[at] === '"') at++;
          if (input[at] === '\n') line++;
          field += input[at];
        }
        at++;
      }
      const rest = at;
      while (at < input.length && input[at] !== separator && input[at] !== '\n') at++;
      field += input.slice(rest, at).replace(/\r$/, '');
      record.fields.push(field);
      isEnd = input[at] !== separator;
      at++;
    }
    line++;
    if (record.fields.some((field) => field.trim() !== '')) records.push(record);
  }
  return records;
}

/** The accepted names of columns in the first line, each with the meaning of the column. */
const columns: Readonly<Record<string, string>> = {
  name: 'name',
  user: 'name',
  username: 'name',
  login: 'name',
  password: 'password',
  password_hash: 'hash',
  hash: 'hash',
  home: 'home',
  home_dir: 'home',
  home_folder_path: 'home',
  ssh_key: 'key',
  ssh_keys: 'key',
  public_key: 'key',
  public_keys: 'key',
  email: 'email',
  group: 'group',
  permissions: 'permissions',
  enabled: 'enabled',
  quota_size: 'quota',
};

/** Reads tables of accounts. The first line names the columns. Plain-text passwords are replaced by hashes. */
export async function importCsv({ files, home, port }: ImportInput): Promise<Draft> {
  const draft = emptyDraft();
  draft.services.sftp = { type: 'ssh', port: port ?? 2222 };
  for (const { path: file, text } of files) {
    const [first = ''] = text.split(/\r?\n/, 1);
    const separator = [',', ';', '\t'].reduce((best, one) => (first.split(one).length > first.split(best).length ? one : best));
    const [header, ...records] = readCsv(text, separator);
    const names = (header?.fields ?? []).map((field) => field.trim().toLowerCase().replaceAll(/[ -]/g, '_'));
    if (!names.some((name) => columns[name] === 'name'))
      throw new ServiceError('bad-request', `${file}: the first line must name the columns, one of them "name".`);
    for (const [index, name] of names.entries())
      if (!Object.hasOwn(columns, name))
        draft.notes.push({
          file,
          line: 1,
          what: `column ${index + 1} ("${name}") is not known`,
          instead: `The known columns are ${Object.keys(columns).join(', ')}.`,
        });
    for (const record of records) await addRecord(draft, file, names, record, home);
  }
  return draft;
}

async function addRecord(draft: Draft, file: string, names: readonly string[], { fields, line }: CsvRecord, home: string): Promise<void> {
  const value = (column: string) => fields[names.findIndex((name) => columns[name] === column)]?.trim() ?? '';
  const account = draftAccount(value('name'), file, line);
  const tell = (what: string, instead: string) => draft.notes.push({ file, line, account: account.name, what, instead });
  account.home = value('home') || home;
  account.email = value('email');
  account.group = value('group');
  account.sshKeys = value('key')
    .split(/\n|;/)
    .map((key) => key.trim())
    .filter(Boolean);
  account.quotaBytes = /^\d{1,15}$/.test(value('quota')) ? Number(value('quota')) : 0;
  if (value('quota') !== '' && String(account.quotaBytes) !== value('quota')) {
    account.enabled = false;
    tell('the quota is not a number of bytes', 'The account is disabled: set quota_size of its group, and enable the account.');
  }
  const enabled = value('enabled').toLowerCase();
  if (/^(?:no|false|0|off|disabled|inactive)$/.test(enabled)) account.enabled = false;
  else if (enabled !== '' && !/^(?:yes|true|1|on|enabled|active)$/.test(enabled)) {
    account.enabled = false;
    tell('the line does not say whether the account is enabled', 'The account is disabled: write yes or no.');
  }
  const permissions = value('permissions')
    .split(/[\s,;]+/)
    .filter(Boolean);
  const unknown = permissions.filter((keyword) => !(permissionKeywords as readonly string[]).includes(keyword));
  if (unknown.length > 0)
    tell(`permissions that svc does not know: ${unknown.join(', ')}`, `The known permissions are ${permissionKeywords.join(', ')}.`);
  if (permissions.length > 0) account.permissions = [permissions.filter((keyword) => !unknown.includes(keyword))];
  if (!addAccount(draft, account)) return;
  account.password = value('hash') || (await hashImported(value('password'), tell));
}

/** Returns the hash of a password. The column of passwords may already contain hashes. */
async function hashImported(password: string, tell: (what: string, instead: string) => unknown): Promise<string | undefined> {
  if (password === '') return undefined;
  try {
    parsePasswordHash(password);
    return password;
  } catch {
    // This is a plain-text password, or a hash that cannot be verified. The later check of all hashes reports such a hash.
    if (/^\$\w+\$|^\{\w+\}/.test(password)) return password;
  }
  try {
    return await hashPassword(password);
  } catch (error) {
    if (!isServiceError(error)) throw error;
    tell('svc does not accept the password', error.message);
    return undefined;
  }
}
