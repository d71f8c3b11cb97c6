import { stringify as toYaml } from 'yaml';
import { accountOptions, groupOptions } from '../../accounts/options.ts';
import { parsePasswordHash } from '../../accounts/passwords.ts';
import { isUserName, userForPath, userVariable } from '../../accounts/user-names.ts';
import { isServiceError } from '../../lib/errors.ts';
import { keyLineFault } from '../../ssh/public-keys.ts';
import { type Draft, type DraftAccount, fullControl, type Note } from './draft.ts';

const maxAccountsWithCases = 500;

/**
 * Maximum number of accounts in the configuration itself. If there are more, all accounts are written to another file, because each reload
 * reads the whole configuration.
 */
const maxAccountsOfConfig = 1000;

export interface Finished {
  config: string;
  /** The accounts as JSON, which is read 20 times as fast as YAML. Undefined if the configuration contains the accounts. */
  accountsFile: string | undefined;
  cases: string;
  notes: Note[];
  accounts: DraftAccount[];
}

/** The options that accounts of a group share. */
interface GroupKey {
  name: string;
  options: Record<string, unknown>;
}

/**
 * Writes the configuration and test cases of a draft. Accounts, hashes and keys that svc would refuse are omitted, each with a note.
 *
 * @param from name of the imported server, for the first line
 * @param names names of the written files, which are in one folder
 */
export function finish(draft: Draft, from: string, names: { config: string; accountsFile: string }): Finished {
  const notes = [...draft.notes];
  const candidates = [...draft.accounts.values()].filter((account) => isAcceptable(account, notes));
  for (const account of candidates) checkCredentials(account, notes);
  const groups = new Map<string, GroupKey>();
  const written: Record<string, unknown> = Object.create(null);
  for (const account of candidates) {
    const group = findGroupKey(account, draft, groups);
    const options = importedOptions(account, group);
    const [issue] = [accountOptions.safeParse(options), groupOptions.safeParse(group.options)].flatMap(({ error }) => error?.issues ?? []);
    if (!issue) written[account.name] = options;
    else {
      const what = `its ${issue.path.join('.')} would not be valid: ${issue.message}`;
      notes.push({ file: account.file, line: account.line, account: account.name, what, instead: 'Add the account by hand.' });
    }
  }
  const accounts = candidates.filter(({ name }) => name in written);
  const used = new Set(Object.values(written).map((options) => (options as { group: string }).group));
  const kept = [...groups.values()].filter(({ name }) => used.has(name));
  const hasFile = accounts.length > maxAccountsOfConfig;
  const sections = {
    ...(Object.keys(draft.server).length > 0 && { server: draft.server }),
    services: draft.services,
    ...(hasFile && { authentications: { local: { type: 'application', accounts_file_path: `./${names.accountsFile}` } } }),
    ...(kept.length > 0 && { groups: Object.fromEntries(kept.map(({ name, options }) => [name, options])) }),
    ...(!hasFile && { accounts: written }),
  };
  const head = `# yaml-language-server: $schema=./svc.schema.json\n# Imported from ${from} by svc ${SVC_VERSION}. It contains secrets, so keep its mode 0600.\n`;
  const yaml = (value: unknown) => toYaml(value, { lineWidth: 0, aliasDuplicateObjects: false });
  const isSsh = Object.values(draft.services).some(({ type }) => type === 'ssh');
  const cases = {
    config: `./${names.config}`,
    cases: accounts.slice(0, maxAccountsWithCases).flatMap((account) => accountCases(account, isSsh)),
  };
  const accountsFile = hasFile ? `${JSON.stringify({ accounts: written }, undefined, 1)}\n` : undefined;
  return { config: head + yaml(sections), accountsFile, cases: yaml(cases), notes, accounts };
}

function isAcceptable(account: DraftAccount, notes: Note[]): boolean {
  const { name, file, line, home, virtualFolders, permissions, email } = account;
  const refuse = (what: string, instead: string) => {
    notes.push({ file, line, account: name, what, instead });
    return false;
  };
  if (!isUserName(name) || name.includes('\ufffd') || name === '__proto__' || /^\.+$/.test(userForPath(name)))
    return refuse('the name cannot be the name of an account', 'Choose another name and add the account by hand.');
  const texts = [name, email, ...[home, ...permissions.flat()].map((text) => text.replaceAll(userVariable, '')), ...virtualFolders.flat()];
  if (texts.some((text) => text.includes('${') || text.includes('\ufffd') || text.includes('\0')))
    return refuse('a value contains "${" or is not UTF-8, which a configuration does not allow', 'Add the account by hand.');
  if (home === '') return refuse('the account has no home folder', 'Name one with --home.');
  return true;
}

function checkCredentials(account: DraftAccount, notes: Note[]): void {
  const { name, file, line } = account;
  const tell = (what: string, instead: string) => notes.push({ file, line, account: name, what, instead });
  const had = account.password !== undefined || account.sshKeys.length > 0;
  if (account.password !== undefined) {
    try {
      parsePasswordHash(account.password);
    } catch (error) {
      if (!isServiceError(error)) throw error;
      tell(`the password ${error.message.split('; ')[0]}`, 'Set a new password: svc hash-password.');
      account.password = undefined;
    }
  }
  account.sshKeys = [...new Set(account.sshKeys)].filter((key) => {
    const fault = keyLineFault(key);
    if (fault !== undefined) tell(`a public key ${fault}`, 'Ask for another key.');
    return fault === undefined;
  });
  if (account.requires === 'ssh-key' && account.password !== undefined)
    tell('its password is not carried over, because only keys are accepted', 'Nothing needs to be done.');
  // A credential that is refused over SSH must not work over a service that is added later.
  if (account.requires === 'ssh-key') account.password = undefined;
  if (account.requires === 'password') account.sshKeys = [];
  if (account.requires === 'both')
    tell('key and password are required', 'Only services of type ssh ask for both: do not let such accounts use other services.');
  if (account.password === undefined && account.sshKeys.length === 0)
    tell(
      had ? 'no credential can be carried over' : 'there is no credential',
      'Nobody can log in until the account has a password or a key.',
    );
}

/**
 * Returns the group that sets the options of an account. If the path of the home folder ends with the account's name, this name is replaced
 * by `${USER}`. If the path then contains `${USER}`, the group also sets the home folder.
 */
function findGroupKey(account: DraftAccount, draft: Draft, groups: Map<string, GroupKey>): GroupKey {
  const { name, home, permissions, requires, quotaBytes, largestFileBytes, group } = account;
  const ofUser = home.endsWith(`/${name}`) && userForPath(name) === name ? `${home.slice(0, -name.length)}${userVariable}` : home;
  const isOpen = permissions.length === 1 && permissions[0]?.length === 1 && permissions[0][0] === fullControl;
  const options = {
    ...(ofUser.includes(userVariable) && { home_folder_path: ofUser }),
    ...(!draft.createsHomes && { create_home_folder: false }),
    ...(requires !== 'any' && { required_credentials: requires }),
    ...(!isOpen && { permissions }),
    ...(quotaBytes > 0 && { quota_size: quotaBytes }),
    ...(largestFileBytes > 0 && { file_write_size: largestFileBytes }),
    // Tokens and links are disabled. Otherwise accounts with full control could share files with outsiders as soon as HTTP is added.
    ...(permissions.flat().includes(fullControl) && { tokens: { enabled: false }, links: { enabled: false } }),
  };
  const key = JSON.stringify([group, options]);
  const present = groups.get(key);
  if (present) return present;
  const base = (group || 'IMPORTED').toUpperCase().replace(/[^A-Z0-9_-]+/g, '-') || 'IMPORTED';
  const taken = new Set([...groups.values()].map((other) => other.name));
  let unique = base;
  for (let number = 2; taken.has(unique) || unique === 'DEFAULT_GROUP'; number++) unique = `${base}-${number}`;
  const made = { name: unique, options };
  groups.set(key, made);
  return made;
}

function importedOptions(account: DraftAccount, group: GroupKey): Record<string, unknown> {
  return {
    ...(!account.enabled && { enabled: false }),
    group: group.name,
    ...(account.password !== undefined && { password: account.password }),
    ...(account.email !== '' && { email: account.email }),
    ...(account.sshKeys.length > 0 && { ssh_keys: account.sshKeys }),
    ...(!('home_folder_path' in group.options) && { home_folder_path: account.home }),
    ...(account.virtualFolders.length > 0 && { virtual_folders: account.virtualFolders }),
  };
}

/** SFTP and HTTP requests of the test cases. For each request, one of the permissions in `needed` is sufficient. */
const requests: readonly { needed: readonly string[]; ssh: (path: string) => string; http: (path: string) => string }[] = [
  { needed: ['allow-read'], ssh: (path) => `OPEN-READ ${path}x`, http: (path) => `GET /home${path}x` },
  { needed: ['allow-write', 'allow-create-file'], ssh: (path) => `OPEN-WRITE ${path}x`, http: (path) => `PUT /home${path}x` },
  { needed: ['allow-delete-file'], ssh: (path) => `REMOVE ${path}x`, http: (path) => `DELETE /home${path}x` },
  { needed: ['allow-create-folder'], ssh: (path) => `MKDIR ${path}x`, http: (path) => `MKCOL /home${path}x/` },
  { needed: ['allow-list'], ssh: (path) => `OPENDIR ${path}`, http: (path) => `GET /home${path}` },
];

/**
 * Creates test cases for the account's rights on the old server. The new configuration must pass them, also after later changes.
 */
function accountCases(account: DraftAccount, isSsh: boolean): Record<string, unknown>[] {
  const { name, enabled, requires, password, sshKeys, permissions, samples } = account;
  const verdict = (isAllowed: boolean) => (isAllowed && enabled ? 'allowed' : 'refused');
  const allowsCredential = (kind: string) => requires === 'any' || requires === kind;
  const login = (credentials: string[], isAllowed: boolean) => ({
    request: 'LOGIN',
    account: name,
    credentials,
    expect: verdict(isAllowed),
  });
  const logins = [
    login(['ssh-key'], sshKeys.length > 0 && allowsCredential('ssh-key')),
    login(['password'], password !== undefined && allowsCredential('password')),
    ...(requires === 'both' ? [login(['ssh-key', 'password'], sshKeys.length > 0 && password !== undefined)] : []),
  ];
  const [general = []] = permissions;
  const asked = samples.flatMap(({ at, granted = general }) =>
    requests
      .filter(({ needed }) => !needed.includes('allow-list') || at === '/')
      .map(({ needed, ssh, http }) => {
        const isAllowed = !granted.includes('deny-full-control') && [fullControl, ...needed].some((keyword) => granted.includes(keyword));
        return { request: (isSsh ? ssh : http)(at.endsWith('/') ? at : `${at}/`), account: name, expect: verdict(isAllowed) };
      }),
  );
  return [...(isSsh ? logins : []), ...asked];
}
