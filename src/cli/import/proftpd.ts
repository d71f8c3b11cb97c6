import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemErrorCode } from '../../lib/errors.ts';
import { compileExpression } from '../../lib/expression.ts';
import { ownMember } from '../../lib/json.ts';
import { readStrings } from '../../ssh/public-keys.ts';
import {
  addAccount,
  belowFolder,
  type Draft,
  type DraftAccount,
  disable,
  emptyDraft,
  exactly,
  type ImportInput,
  type InputFile,
} from './draft.ts';
import { allRights, commandRights, makeDraftAccount, permissionSet } from './ftp-rights.ts';
import { matchesPattern, splitWords } from './sshd-config.ts';
import { noShells, readUnixAccounts, type UnixAccount, unixFileKind } from './unix-accounts.ts';

interface Entry {
  name: string;
  args: string[];
  file: string;
  line: number;
  /** The entries of a section; undefined for a directive. */
  entries?: Entry[];
}

const maxDepth = 32;

/** Directives without a counterpart in svc. They concern FTP, logs and the process. Ignoring them removes no restriction. */
const withoutCounterpart =
  /^(?:access\w*|allowforeignaddress|allowlogsymlinks|allowretrieverestart|allowstorerestart|auth(?:aliasonly|groupfile|order|pam\w*|userfile)|ban\w*|commandbuffersize|controls\w*|createhome|debuglevel|default(?:address|chdir|server|transfermode)|deferwelcome|delay\w*|deleteabortedstores|displaychdir|displayquit|extendedlog|group|groupowner|hidden\w*|identlookups|include|langdefault|langengine|listoptions|loadmodule|logformat|masqueradeaddress|maxinstances|moduleControls\w*|modulepath|multilinerfc2228|passiveports|persistentpasswd|pidfile|port|quotaengine|rewrite\w*|rlimit\w*|rootrevoke|scoreboardfile|serveradmin|serverident|servername|servertype|setenv|sftp(?:acceptenv|ciphers|clientalive|clientmatch|compression|digests|engine|extensions|keyexchanges|log|options|passphraseprovider|rekey|traffic\w*)|showsymlinks|socketbindtight|storeuniqueprefix|syslog\w*|systemlog|tcpnodelay|times\w*|timeout(?:linger|notransfer|session|stalled)|tls\w*|transferlog|useipv6|useencoding|user|userowner|usesendfile|usereversedns|useutf8|wtmplog)$/i;

const ofAccounts =
  /^(?:allowoverwrite|defaultroot|pathallowfilter|pathdenyfilter|requirevalidshell|rootlogin|sftpauthmethods|sftpauthorizeduserkeys|useftpusers)$/i;

const remedies: Readonly<Record<string, string>> = {
  maxclientsperhost: 'Set maximum_unauthenticated_connections_per_address of the service.',
  maxclientsperuser: 'Set maximum_sessions_per_account of the service.',
  quotalimittable: 'Set quota_size of a group.',
  transferrate: 'Limit the bandwidth in the network.',
  sqlauthenticate: 'The accounts are in a database, which an authentication callout can query.',
  ldapserver: 'The accounts are in a directory, which an authentication callout can query.',
};

/** Reads proftpd.conf with files of users and groups (AuthUserFile, passwd). */
export function importProftpd({ files, root, port, nowMs }: ImportInput): Draft {
  const draft: Draft = { ...emptyDraft(), createsHomes: false };
  const isUnix = (file: InputFile) => unixFileKind(file) !== undefined;
  const entries = files.filter((file) => !isUnix(file) && file.text !== '').flatMap((file) => readEntries(file, draft));
  const all = [...flattened(entries)];
  const value = (name: string) => all.find((entry) => entry.name.toLowerCase() === name)?.args;
  const service: Record<string, unknown> = { type: 'ssh', port: port ?? 2222 };
  draft.services.sftp = service;
  for (const entry of all) {
    const { name, args, file, line } = entry;
    const number = /^[1-9]\d{0,5}$/.test(args[0] ?? '') ? Number(args[0]) : undefined;
    const lower = name.toLowerCase();
    if (lower === 'maxloginattempts' && number !== undefined && number <= 100) service.max_auth_tries = number;
    else if (lower === 'timeoutlogin' && number !== undefined && number <= 3600) service.login_grace_time = number;
    else if (lower === 'timeoutidle' && number !== undefined && number <= 86_400) service.idle_connection_timeout = number;
    else if (lower === 'maxclients' && number !== undefined) service.maximum_concurrent_connections = number;
    else if (lower === 'umask' && /^[0-7]{1,4}$/.test(args[0] ?? '')) addUmask(draft, args, entry);
    else if (lower === 'sftphostkey')
      draft.notes.push({ file, line, what: `${name} ${args[0]} is not read`, instead: `Run: svc ssh host-key import ${args[0]}` });
    else if (!withoutCounterpart.test(name) && !ofAccounts.test(name) && !entry.entries && !/^(?:allow|deny|order)/i.test(name))
      draft.notes.push({
        file,
        line,
        what: `${name} is not carried over`,
        instead: ownMember(remedies, lower) ?? 'Check its effect before you switch.',
      });
  }
  if (!/^on$/i.test(value('sftpengine')?.[0] ?? ''))
    draft.notes.push({ file: '', line: 0, what: 'svc does not support FTP', instead: `Clients change to SFTP, port ${port ?? 2222}.` });
  const accounts = readUnixAccounts(files.filter(isUnix), nowMs, draft.notes);
  if (accounts.size === 0)
    draft.notes.push({ file: '', line: 0, what: 'there are no accounts', instead: 'Give the AuthUserFile or a copy of /etc/passwd, too.' });
  for (const unix of accounts.values()) {
    if (unix.uid === 0 || unix.uid === 65_534) continue;
    const account = makeDraftAccount(draft, unix, nowMs);
    if (addAccount(draft, account)) setAccount({ draft, entries, all, root }, account, unix);
  }
  return draft;
}

function addUmask(draft: Draft, args: readonly string[], { file, line }: Entry): void {
  const before = Number.parseInt(String(draft.server.umask ?? '0'), 8);
  const umask = (before | Number.parseInt(args[0] ?? '0', 8)).toString(8).padStart(3, '0');
  if (draft.server.umask !== undefined && draft.server.umask !== umask)
    draft.notes.push({ file, line, what: 'there are several umasks', instead: `All files get the umask ${umask} (server.umask).` });
  draft.server.umask = umask;
}

function readEntries({ path: file, text }: InputFile, draft: Draft): Entry[] {
  const top: Entry[] = [];
  const open: Entry[] = [];
  for (const [index, content] of text
    .replace(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .entries()) {
    const place = { file, line: index + 1 };
    const row = content.trim();
    if (row === '' || row.startsWith('#')) continue;
    const fault = (what: string) => draft.notes.push({ ...place, what, instead: 'ProFTPD would not start with this line: correct it.' });
    const into = open.at(-1)?.entries ?? top;
    const [, end] = /^<\/(\w+)>$/.exec(row) ?? [];
    const [, section = '', rest = ''] = /^<(\w+)\s*([^>]*)>$/.exec(row) ?? [];
    if (end !== undefined) {
      if (open.pop()?.name.toLowerCase() !== end.toLowerCase()) fault('the section ends but did not begin');
    } else if (section !== '') {
      const entry: Entry = { name: section, args: splitWords(rest) ?? [], ...place, entries: [] };
      if (open.length >= maxDepth) fault('sections are nested too deep');
      else {
        into.push(entry);
        open.push(entry);
      }
    } else {
      const [name = '', ...args] = splitWords(row) ?? [];
      if (name === '') fault('a quotation mark is not closed');
      else into.push({ name, args, ...place });
    }
  }
  return top;
}

/** Sections that do not depend on the account. The condition of `<IfModule>` and `<IfDefine>` is assumed to be met. */
const transparent = /^(?:global|virtualhost|ifmodule|ifdefine)$/i;

/** Yields the entries. Those in a section that does not depend on the account are yielded without the section. */
function* flattened(entries: readonly Entry[]): Generator<Entry> {
  for (const entry of entries) {
    if (entry.entries && transparent.test(entry.name)) yield* flattened(entry.entries);
    else yield entry;
  }
}

interface Reader {
  draft: Draft;
  entries: readonly Entry[];
  all: readonly Entry[];
  root: string;
}

function setAccount(reader: Reader, account: DraftAccount, unix: UnixAccount): void {
  const { draft, all, root } = reader;
  const named = (name: string) => all.filter((entry) => entry.name.toLowerCase() === name);
  const [shells] = named('requirevalidshell');
  if (!/^off$/i.test(shells?.args[0] ?? 'on') && noShells.test(unix.shell))
    disable(draft, account, 'RequireValidShell excludes it', 'Enable it if it may log in.', shells ?? account);
  if (!/^off$/i.test(named('useftpusers')[0]?.args[0] ?? 'on') && isListed(join(root, '/etc/ftpusers'), unix.name))
    disable(draft, account, '/etc/ftpusers excludes it', 'Enable it if it may log in.');
  for (const entry of all)
    if (entry.entries && !/^(?:directory|limit|anonymous)$/i.test(entry.name))
      disable(draft, account, `<${entry.name}> applies to some accounts or addresses`, 'Check whether it applies to this account.', entry);
  for (const entry of named('anonymous'))
    if (account === [...draft.accounts.values()][0])
      draft.notes.push({
        file: entry.file,
        line: entry.line,
        what: '<Anonymous> is not carried over',
        instead: 'An authentication method of type anonymous accepts requests without credentials (only over HTTP).',
      });
  setFolder(draft, account, unix, named('defaultroot'));
  setPermissions(reader, account, unix);
  const methods = named('sftpauthmethods')[0]?.args.flatMap((arg) => arg.split(',')) ?? [];
  const isPassword = (method: string) => /^(?:password|keyboard-interactive)$/.test(method);
  if (methods.length > 0 && methods.every(isPassword)) account.requires = 'password';
  else if (methods.length > 0 && !methods.some(isPassword)) account.requires = 'ssh-key';
  if (methods.some((method) => method.includes('+')))
    disable(
      draft,
      account,
      'SFTPAuthMethods asks for several methods',
      'Set required_credentials of its group, and enable the account.',
      named('sftpauthmethods')[0] ?? account,
    );
  for (const entry of named('sftpauthorizeduserkeys')) addKeys(draft, account, unix, entry, root);
}

function isListed(path: string, name: string): boolean {
  try {
    return readFileSync(path, 'utf8')
      .split(/\r?\n/)
      .some((line) => line.trim() === name);
  } catch {
    return false;
  }
}

/** Returns whether an expression of groups or users is met. For `a,!b`, every item must be met. */
function holds(expression: string, names: readonly string[]): boolean {
  return expression
    .split(',')
    .every((part) => (part.startsWith('!') ? !names.includes(part.slice(1)) : names.some((name) => matchesPattern(name, part))));
}

function setFolder(draft: Draft, account: DraftAccount, unix: UnixAccount, roots: readonly Entry[]): void {
  const entry = roots.find(({ args }) => args[1] === undefined || holds(args[1], unix.groups));
  const folder = entry?.args[0];
  if (folder !== undefined && folder !== '/')
    account.home = folder
      .replace(/^~(?=$|\/)/, () => unix.home)
      .replaceAll('%u', () => unix.name)
      .replace(/(.)\/+$/, '$1');
  else
    draft.notes.push({
      file: account.file,
      line: account.line,
      account: account.name,
      what: `without DefaultRoot it sees the whole machine; in svc, it sees only ${unix.home}`,
      instead: 'Add virtual_folders for other folders that it needs.',
    });
}

type Verdict = 'allow' | 'deny' | undefined;

/** Returns whether a `<Limit>` section allows or denies an account. Conditions on addresses and classes cannot be evaluated. */
function limitVerdict(limit: Entry, unix: UnixAccount): { verdict: Verdict; isConditional: boolean } {
  let [verdict, isConditional, isListed]: [Verdict, boolean, boolean] = [undefined, false, false];
  for (const { name, args } of limit.entries ?? []) {
    const lower = name.toLowerCase();
    const names = /group/.test(lower) ? unix.groups : [unix.name];
    const isMeant = args.length > 0 && args.every((arg) => holds(arg, names));
    if (lower === 'denyall') verdict ??= 'deny';
    else if (lower === 'allowall') verdict ??= 'allow';
    else if (/^deny(?:user|group)$/.test(lower)) verdict = isMeant ? 'deny' : verdict;
    else if (/^allow(?:user|group)$/.test(lower)) {
      isListed = true;
      if (isMeant && verdict !== 'deny') verdict = 'allow';
    } else if (lower !== 'order' && lower !== 'ignorehidden') isConditional = true;
  }
  // AllowUser is effective both before and after DenyAll.
  const isExempt = (limit.entries ?? []).some(
    ({ name, args }) =>
      /^allow(?:user|group)$/i.test(name) && args.every((arg) => holds(arg, /group/i.test(name) ? unix.groups : [unix.name])),
  );
  if (isListed && verdict === 'deny' && isExempt && !(limit.entries ?? []).some(({ name }) => /^deny(?:user|group)$/i.test(name)))
    verdict = 'allow';
  return { verdict, isConditional };
}

function setPermissions({ draft, all }: Reader, account: DraftAccount, unix: UnixAccount): void {
  const overwrites = all.some(({ name, args }) => /^allowoverwrite$/i.test(name) && /^on$/i.test(args[0] ?? ''));
  const whole = overwrites ? [...allRights] : [...allRights.filter((right) => right !== 'allow-write'), 'allow-create-file'];
  const limited = (granted: readonly string[], limits: readonly Entry[]) => {
    let result = [...granted];
    for (const limit of limits.filter(({ name }) => /^limit$/i.test(name))) {
      const { verdict, isConditional } = limitVerdict(limit, unix);
      const isLogin = limit.args.some((command) => /^login$/i.test(command));
      if (isConditional)
        disable(
          draft,
          account,
          `<Limit ${limit.args.join(' ')}> depends on the address or the class`,
          'Enable it once a firewall keeps the other addresses out.',
          limit,
        );
      if (isLogin && verdict === 'deny') disable(draft, account, '<Limit LOGIN> excludes it', 'Enable it if it may log in.', limit);
      const rights = commandRights(limit.args);
      if (verdict === 'deny') result = result.filter((right) => !rights.includes(right));
      else if (verdict === 'allow') result.push(...rights.filter((right) => whole.includes(right)));
    }
    return [...new Set(result)];
  };
  let general = limited(whole, all);
  const rules: { path: string; granted: string[] }[] = [];
  const folders = all
    .filter(({ name }) => /^directory$/i.test(name))
    .map((entry) => ({
      entry,
      path: (entry.args[0] ?? '')
        .replace(/^~(?=$|\/)/, () => unix.home)
        .replace(/\/\*$/, '')
        .replace(/(.)\/+$/, '$1'),
    }));
  folders.sort((a, b) => a.path.length - b.path.length);
  for (const { entry, path } of folders) {
    const limits = entry.entries ?? [];
    if (/[*?[]/.test(path)) {
      if (limits.length > 0)
        disable(draft, account, `<Directory ${entry.args[0]}> is a pattern`, 'Write a rule of permissions for it.', entry);
    } else if (path === '/' || path === account.home || account.home.startsWith(`${path}/`)) general = limited(general, limits);
    else if (path.startsWith(`${account.home}/`)) {
      const virtual = path.slice(account.home.length);
      const above = rules.findLast((rule) => virtual.startsWith(`${rule.path}/`))?.granted ?? general;
      rules.push({ path: virtual, granted: limited(above, limits) });
    }
  }
  account.permissions = [permissionSet(general), ...pathFilters(draft, account, all)];
  account.samples = account.permissions.length > 1 ? [] : account.samples;
  for (const { path, granted } of rules.toReversed()) {
    const above = rules.findLast((rule) => rule.path !== path && path.startsWith(`${rule.path}/`))?.granted ?? general;
    const both = granted.filter((right) => above.includes(right));
    account.permissions.push([belowFolder(path), ...orNothing(granted)], [exactly(path), ...orNothing(both)]);
    account.samples.push({ at: path, granted });
  }
}

function orNothing(granted: readonly string[]): string[] {
  const set = permissionSet(granted);
  return set.length > 0 ? set : ['deny-full-control'];
}

function pathFilters(draft: Draft, account: DraftAccount, all: readonly Entry[]): string[][] {
  const rules: string[][] = [];
  for (const entry of all) {
    if (!/^path(?:allow|deny)filter$/i.test(entry.name) || /^none$/i.test(entry.args[0] ?? '')) continue;
    const expression = `${/^pathallow/i.test(entry.name) ? '!' : ''}e/${(entry.args[0] ?? '').replaceAll('/', '\\/')}/${/NC/.test(entry.args[1] ?? '') ? 'i' : ''}`;
    try {
      compileExpression(expression, 'paths');
      rules.push([expression, 'deny-full-control']);
    } catch {
      disable(draft, account, `${entry.name} is not an expression that svc supports`, 'Write a rule of permissions for it.', entry);
    }
  }
  return rules;
}

/** Reads keys in the format of RFC 4716, from one file per account. */
function addKeys(draft: Draft, account: DraftAccount, unix: UnixAccount, { args }: Entry, root: string): void {
  const path = /^file:(.*)$/.exec(args[0] ?? '')?.[1];
  if (path === undefined) return;
  const real = join(
    root,
    path.replace(/^~(?=\/)/, () => unix.home).replaceAll('%u', () => unix.name),
  );
  let text: string;
  try {
    text = readFileSync(real, 'latin1');
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT')
      draft.notes.push({ file: real, line: 0, account: account.name, what: 'its keys cannot be read', instead: 'Add them as ssh_keys.' });
    return;
  }
  for (const [, body = ''] of text.matchAll(/---- BEGIN SSH2 PUBLIC KEY ----\r?\n([\s\S]*?)---- END SSH2 PUBLIC KEY ----/g)) {
    const blob = body
      .replace(/\\\r?\n/g, '')
      .replace(/^[\w-]+:.*$/gm, '')
      .replace(/\s/g, '');
    try {
      const [type] = readStrings(Buffer.from(blob, 'base64'), 1);
      account.sshKeys.push(`${type?.toString('latin1')} ${blob}`);
    } catch {
      draft.notes.push({ file: real, line: 0, account: account.name, what: 'a key is damaged', instead: 'Ask for the key again.' });
    }
  }
}
