import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemErrorCode } from '../../lib/errors.ts';
import { takeKeys } from './authorized-keys.ts';
import {
  addAccount,
  type Draft,
  type DraftAccount,
  disable,
  draftAccount,
  emptyDraft,
  fullControl,
  type ImportInput,
  type InputFile,
  readOnly,
} from './draft.ts';
import { importSshService, refusedKeys } from './openssh-service.ts';
import { appliesTo, type Block, type Directive, lookUp, matchesList, matchesPattern, readSshdConfig, splitWords } from './sshd-config.ts';
import { noShells, readUnixAccounts, type UnixAccount, unixFileKind } from './unix-accounts.ts';

/** The first UID of people on Linux systems, and the UID of `nobody`. */
const firstPerson = 1000;
const nobody = 65_534;

/** Reads sshd_config with passwd, shadow, group and authorized_keys. Imports the accounts that may use SFTP. */
export function importOpenssh({ files, root, home, port, nowMs }: ImportInput): Draft {
  const draft: Draft = { ...emptyDraft(), createsHomes: false };
  const isUnix = (file: InputFile) => unixFileKind(file) !== undefined;
  const keyFiles = files.filter((file) => !isUnix(file) && (file.account !== undefined || isKeyFile(file)));
  const configs = files.filter((file) => !isUnix(file) && !keyFiles.includes(file));
  const blocks = configs.flatMap((file) => readSshdConfig(file, root, draft.notes));
  if (blocks.length === 0) blocks.push({ criteria: [], directives: [] });
  const accounts = readUnixAccounts(files.filter(isUnix), nowMs, draft.notes);
  for (const { account } of keyFiles)
    if (account !== undefined && !accounts.has(account)) accounts.set(account, bareAccount(account, home));
  if (accounts.size === 0)
    draft.notes.push({
      file: '',
      line: 0,
      what: 'there are no accounts',
      instead: 'Give copies of /etc/passwd, /etc/shadow and /etc/group, too.',
    });
  importSshService(draft, blocks, root, port);
  const isAccepted = refusedKeys(draft, blocks, root);
  const left: string[] = [];
  for (const unix of accounts.values()) {
    const isPerson = unix.uid >= firstPerson && unix.uid !== nobody;
    if (unix.uid === 0 || !(isPerson || isNamed(blocks, unix.name))) left.push(unix.name);
    else importAccount({ draft, blocks, root, keyFiles, isAccepted, nowMs }, unix);
  }
  if (left.length > 0)
    draft.notes.push({
      file: '',
      line: 0,
      what: `system accounts are not carried over: ${left.join(', ')}`,
      instead: 'Keep sshd on a separate port for administrators.',
    });
  return draft;
}

/** Matches the root folder of a chroot and its direct members. */
const chrootItself = 'e/^\\/[^\\/]*$/';

interface Reader {
  draft: Draft;
  blocks: readonly Block[];
  root: string;
  keyFiles: readonly InputFile[];
  isAccepted: (type: string, blob: string) => boolean;
  nowMs: number;
}

/** Returns whether a file contains public keys, judged by its lines or its name. */
function isKeyFile({ path, text }: InputFile): boolean {
  return /authorized_keys|\.pub$/.test(basename(path)) || /^[^#\n]*\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) AAAA/m.test(text);
}

function bareAccount(name: string, home: string): UnixAccount {
  return {
    name,
    uid: firstPerson,
    gid: firstPerson,
    home: home.replaceAll('${USER}', name),
    shell: '',
    file: '',
    line: 0,
    password: undefined,
    groups: [],
  };
}

function isNamed(blocks: readonly Block[], name: string): boolean {
  return blocks.some(({ criteria }) =>
    criteria.some((criterion) => criterion.name === 'user' && criterion.patterns.split(',').includes(name)),
  );
}

function importAccount(reader: Reader, unix: UnixAccount): void {
  const { draft, blocks, nowMs } = reader;
  const account = draftAccount(unix.name, unix.file, unix.line);
  if (!addAccount(draft, account)) return;
  const tell = (what: string, instead: string) => draft.notes.push({ file: unix.file, line: unix.line, account: unix.name, what, instead });
  account.password = unix.password;
  if (unix.passwordFault !== undefined) {
    account.password = undefined;
    tell(unix.passwordFault, 'Give it a new password.');
  }
  if (unix.expiresOnDay !== undefined) {
    const hasExpired = unix.expiresOnDay * 86_400_000 <= nowMs;
    const day = new Date(unix.expiresOnDay * 86_400_000).toISOString().slice(0, 10);
    disable(
      draft,
      account,
      hasExpired ? `it has expired on ${day}` : `it expires on ${day}`,
      hasExpired ? '' : 'Enable it, and disable it again on that day.',
    );
  }
  account.group = groupHint(blocks, unix);
  checkAllowed(reader, account, unix);
  setFolder(reader, account, unix);
  setCommand(reader, account, unix);
  setCredentials(reader, account, unix);
  addKeys(reader, account, unix);
}

function groupHint(blocks: readonly Block[], unix: UnixAccount): string {
  const named = blocks.flatMap(({ criteria }) =>
    criteria.filter(({ name }) => name === 'group').flatMap(({ patterns }) => patterns.split(',')),
  );
  return unix.groups.find((group) => named.includes(group)) ?? 'SFTP';
}

/**
 * Checks AllowUsers, AllowGroups, DenyUsers and DenyGroups. Their arguments are patterns for names of users or groups. Patterns with `@`
 * apply only to certain addresses.
 */
function checkAllowed({ draft, blocks }: Reader, account: DraftAccount, unix: UnixAccount): void {
  const mayApply = blocks.map((block) => ({ block, applies: appliesTo(block, unix) })).filter(({ applies }) => applies !== 'never');
  const isMatched = (patterns: readonly string[], names: readonly string[]) =>
    names.some((name) => patterns.some((pattern) => !pattern.includes('@') && matchesPattern(name, pattern)));
  const hasHost = (patterns: readonly string[]) =>
    patterns.some((pattern) => pattern.includes('@') && matchesPattern(unix.name, pattern.slice(0, pattern.lastIndexOf('@'))));
  for (const [kind, names] of [
    ['users', [unix.name]],
    ['groups', unix.groups],
  ] as const) {
    const isUsers = kind === 'users';
    const of = (part: typeof mayApply, keyword: string) =>
      part.flatMap(({ block }) => block.directives.filter((directive) => directive.keyword === keyword));
    const hit = of(mayApply, `deny${kind}`).find(({ args }) => isMatched(args, names) || (isUsers && hasHost(args)));
    if (hit) disable(draft, account, `${hit.name} refuses it`, 'Enable it if it may log in.', hit);
    // Each part must allow the account: the blocks that always apply, taken together, and each `Match` block for certain addresses.
    const parts = [
      mayApply.filter(({ applies }) => applies === 'always'),
      ...mayApply.filter(({ applies }) => applies === 'sometimes').map((one) => [one]),
    ];
    for (const allowed of parts.map((part) => of(part, `allow${kind}`))) {
      const patterns = allowed.flatMap(({ args }) => args);
      const [first] = allowed;
      if (!first || isMatched(patterns, names)) continue;
      const isByHost = isUsers && hasHost(patterns);
      const what = isByHost ? `${first.name} allows it only from some addresses` : `${first.name} does not name it`;
      disable(
        draft,
        account,
        what,
        isByHost ? 'Keep the other addresses out with a firewall, and enable it.' : 'Enable it if it may log in.',
        first,
      );
    }
  }
}

/** Returns the value of a keyword. If the value depends on the client's address, the account is disabled. */
function settledValue({ draft, blocks }: Reader, account: DraftAccount, unix: UnixAccount, keyword: string): Directive | undefined {
  const { usual, sometimes } = lookUp(blocks, keyword, unix);
  const other = sometimes.find(({ args }) => args.join(' ') !== usual?.args.join(' '));
  if (other) disable(draft, account, `${other.name} has another value for some addresses`, 'Choose one, and enable it.', other);
  return usual;
}

/** Returns whether all of these yes/no keywords are `yes` for every connection of the account. A missing keyword counts as `yes`. */
function isYes({ blocks }: Reader, unix: UnixAccount, keywords: readonly string[]): boolean {
  return keywords.every((keyword) => {
    const { usual, sometimes } = lookUp(blocks, keyword, unix);
    return [usual, ...sometimes].every((directive) => directive === undefined || directive.args[0]?.toLowerCase() !== 'no');
  });
}

function expandTokens(text: string, unix: UnixAccount): string {
  const values: Record<string, string> = { '%u': unix.name, '%h': unix.home, '%U': String(unix.uid), '%%': '%' };
  return text.replace(/%./g, (token) => values[token] ?? token);
}

function setFolder(reader: Reader, account: DraftAccount, unix: UnixAccount): void {
  const { draft } = reader;
  const directive = settledValue(reader, account, unix, 'chrootdirectory');
  const value = directive?.args[0] ?? 'none';
  if (value !== 'none') {
    account.home = expandTokens(value, unix).replace(/(.)\/+$/, '$1');
    // The chroot folder itself belongs to root, and nobody else may write to it.
    account.permissions = [[fullControl], [chrootItself, ...readOnly]];
    account.samples = [{ at: '/', granted: readOnly }, { at: '/folder/' }];
    return;
  }
  account.home = unix.home;
  if (unix.home === '' || unix.home === '/') {
    account.home = '';
    return;
  }
  draft.notes.push({
    file: unix.file,
    line: unix.line,
    account: unix.name,
    what: `without ChrootDirectory it sees the whole machine; in svc, it sees only ${unix.home}`,
    instead: 'Add virtual_folders for other folders that it needs.',
  });
}

/** SFTP requests by their names in internal-sftp, with the permissions that svc requires for them. */
const requestRights: Readonly<Record<string, string>> = {
  read: 'allow-read',
  write: 'allow-write',
  opendir: 'allow-list',
  readdir: 'allow-list',
  remove: 'allow-delete-file',
  mkdir: 'allow-create-folder',
  rmdir: 'allow-delete-folder',
  rename: 'allow-rename',
  'posix-rename': 'allow-rename',
  setstat: 'allow-set-attributes',
  fsetstat: 'allow-set-attributes',
  lsetstat: 'allow-set-attributes',
};

function setCommand(reader: Reader, account: DraftAccount, unix: UnixAccount): void {
  const { draft, blocks } = reader;
  const forced = settledValue(reader, account, unix, 'forcecommand');
  const subsystem = blocks.flatMap((block) => block.directives).find(({ keyword, args }) => keyword === 'subsystem' && args[0] === 'sftp');
  const isForced = forced !== undefined && forced.args.join(' ') !== 'none';
  const directive = isForced ? forced : subsystem;
  if (!directive) {
    disable(draft, account, 'there is no SFTP: neither Subsystem sftp nor ForceCommand internal-sftp', 'Enable it if it may use SFTP.');
    return;
  }
  const [command = '', ...args] = (isForced ? directive.args : directive.args.slice(1)).flatMap((word) => splitWords(word) ?? [word]);
  if (!/(?:^|\/)(?:internal-sftp|sftp-server)$/.test(command)) {
    disable(draft, account, `${directive.name} runs another program`, 'svc runs no programs: enable it if it may use SFTP.', directive);
    return;
  }
  if (!isForced && !noShells.test(unix.shell))
    draft.notes.push({
      file: unix.file,
      line: unix.line,
      account: unix.name,
      what: 'it has a shell',
      instead: 'svc gives no shell: keep sshd on another port for this account.',
    });
  setArguments(draft, account, directive, args);
}

function setArguments(draft: Draft, account: DraftAccount, directive: Directive, args: readonly string[]): void {
  const all = [...new Set(Object.values(requestRights))];
  const rightsIn = (list = '') => list.split(',').flatMap((request) => requestRights[request.trim()] ?? []);
  let granted = [...all];
  for (let index = 0; index < args.length; index++) {
    const [option = '', value] = [args[index]?.slice(0, 2), (args[index]?.length ?? 0) > 2 ? args[index]?.slice(2) : args[index + 1]];
    const takesValue = /^-[dflPpuU]$/.test(option);
    if (takesValue && (args[index]?.length ?? 0) <= 2) index++;
    if (option === '-R') granted = granted.filter((right) => readOnly.includes(right));
    else if (option === '-P') granted = granted.filter((right) => !rightsIn(value).includes(right));
    else if (option === '-p') granted = granted.filter((right) => rightsIn(value).includes(right));
    else if (option === '-u') addUmask(draft, value ?? '', directive);
    else if (option === '-d' && value !== '/')
      draft.notes.push({
        file: directive.file,
        line: directive.line,
        account: account.name,
        what: `it starts in ${value}`,
        instead: 'In svc, it starts in /; clients must name the folder.',
      });
  }
  if (granted.length === all.length) return;
  account.permissions = account.permissions.map((set, index) => {
    if (index === 0) return granted;
    const kept = readOnly.filter((right) => granted.includes(right));
    return [set[0] as string, ...(kept.length > 0 ? kept : ['deny-full-control'])];
  });
  account.samples = account.samples.map(({ at, granted: own }) =>
    own ? { at, granted: own.filter((right) => granted.includes(right)) } : { at },
  );
}

/** Adds the bits of a umask to `server.umask`, because svc has only one umask for all accounts. */
function addUmask(draft: Draft, value: string, { file, line }: Directive): void {
  if (!/^[0-7]{1,4}$/.test(value)) return;
  const before = Number.parseInt(String(draft.server.umask ?? '0'), 8);
  const umask = (before | Number.parseInt(value, 8)).toString(8).padStart(3, '0');
  if (draft.server.umask !== undefined && draft.server.umask !== umask)
    draft.notes.push({
      file,
      line,
      what: `the umask ${value} is not the only one`,
      instead: `All files get the umask ${umask} (server.umask).`,
    });
  draft.server.umask = umask;
}

function setCredentials(reader: Reader, account: DraftAccount, unix: UnixAccount): void {
  const { draft, blocks } = reader;
  const byKey = isYes(reader, unix, ['pubkeyauthentication']);
  const byPassword = isYes(reader, unix, ['passwordauthentication']);
  const byQuestion = isYes(reader, unix, ['kbdinteractiveauthentication', 'challengeresponseauthentication']);
  const isPassword = (method: string) =>
    /^password$/.test(method) ? byPassword : /^keyboard-interactive(?::pam)?$/.test(method) && byQuestion;
  const { usual, sometimes } = lookUp(blocks, 'authenticationmethods', unix);
  const lists = [usual, ...sometimes].filter((directive) => directive !== undefined && directive.args[0] !== 'any') as Directive[];
  const usable = (list: string) =>
    list.split(',').map((method) => (method === 'publickey' && byKey ? 'ssh-key' : isPassword(method) ? 'password' : 'none'));
  const kinds = lists
    .flatMap(({ args }) => args)
    .map(usable)
    .filter((list) => !list.includes('none'));
  const needs = kinds.map((list) => (new Set(list).size === 2 ? 'both' : list.length === 1 ? (list[0] as 'password' | 'ssh-key') : 'none'));
  if (lists.length === 0) {
    if (byKey && (byPassword || byQuestion)) account.requires = 'any';
    else if (byKey) account.requires = 'ssh-key';
    else if (byPassword || byQuestion) account.requires = 'password';
    else disable(draft, account, 'neither keys nor passwords are accepted', 'Enable it if it may log in.');
    return;
  }
  const place = lists[0] as Directive;
  const possible = new Set(needs.filter((need) => need !== 'none'));
  if (possible.size === 0)
    disable(
      draft,
      account,
      `${place.name} requires a method that svc does not have`,
      'Set required_credentials of its group, and enable the account.',
      place,
    );
  // svc has one requirement for all addresses. If the old server had several requirements, the strictest is used.
  else if (possible.has('both') && (possible.size === 1 || sometimes.length > 0)) account.requires = 'both';
  else if (possible.has('ssh-key') && possible.has('password') && sometimes.length === 0) account.requires = 'any';
  else account.requires = possible.has('ssh-key') ? 'ssh-key' : 'password';
  if (
    needs.length > new Set(needs).size ||
    needs.includes('none') ||
    kinds.length < lists.flatMap(({ args }) => args).length ||
    possible.size > 1
  )
    draft.notes.push({
      file: place.file,
      line: place.line,
      account: unix.name,
      what: `${place.name} ${place.args.join(' ')} becomes required_credentials: ${account.requires}`,
      instead: 'Check whether that is intended.',
    });
}

function addKeys(reader: Reader, account: DraftAccount, unix: UnixAccount): void {
  const { draft, root, keyFiles, isAccepted } = reader;
  const take = (file: string, text: string) => takeKeys(draft, account, { file, text }, isAccepted);
  for (const { path, text, account: owner } of keyFiles)
    if (owner === unix.name || (owner === undefined && belongsTo(path, unix))) take(path, text);
  const directive = settledValue(reader, account, unix, 'authorizedkeysfile');
  for (const pattern of directive?.args ?? ['.ssh/authorized_keys', '.ssh/authorized_keys2']) {
    if (pattern === 'none') continue;
    const path = expandTokens(pattern, unix);
    const real = join(root, path.startsWith('/') ? path : join(unix.home, path));
    if (keyFiles.some((file) => file.path === real)) continue;
    try {
      take(real, readFileSync(real, 'utf8'));
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? ''))
        draft.notes.push({
          file: real,
          line: 0,
          account: unix.name,
          what: 'its keys cannot be read',
          instead: `Give a copy as ${unix.name}=FILE.`,
        });
    }
  }
}

/**
 * Returns whether a key file belongs to an account, judged by its path: `…/alice/.ssh/authorized_keys`, `authorized_keys_alice`,
 * `alice.pub`.
 */
function belongsTo(path: string, { name, home }: UnixAccount): boolean {
  const file = basename(path);
  const folder = path.replace(/\/(?:\.ssh\/)?[^/]*$/, '');
  return (
    matchesList(file, `authorized_keys_${name},${name}.pub`) ||
    basename(folder) === name ||
    (home !== '' && folder.endsWith(home)) ||
    (basename(folder) === 'authorized_keys' && file === name)
  );
}
