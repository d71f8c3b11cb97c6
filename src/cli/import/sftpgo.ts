import { ServiceError } from '../../lib/errors.ts';
import { isObject, ownMember } from '../../lib/json.ts';
import {
  addAccount,
  belowFolder,
  type Draft,
  type DraftAccount,
  disable,
  draftAccount,
  emptyDraft,
  exactly,
  fullControl,
  type ImportInput,
} from './draft.ts';

type Members = Record<string, unknown>;

/** The permissions of SFTPGo, each with the permissions of svc that come closest without granting more. */
const rights: Readonly<Record<string, readonly string[]>> = {
  '*': [fullControl],
  list: ['allow-list'],
  download: ['allow-read'],
  overwrite: [],
  create_dirs: ['allow-create-folder'],
  rename: ['allow-rename'],
  delete: ['allow-delete-file', 'allow-delete-folder'],
  delete_files: ['allow-delete-file'],
  delete_dirs: ['allow-delete-folder'],
  chmod: [],
  chtimes: [],
  // svc does not have the following operations, or requires other permissions for them.
  create_symlinks: [],
  chown: [],
  copy: [],
};

function mapPermissions(given: readonly string[]): string[] {
  const has = (name: string) => given.includes(name);
  if (has('*')) return [fullControl];
  const granted = given.flatMap((name) => ownMember(rights, name) ?? []);
  if (has('upload')) granted.push(has('overwrite') ? 'allow-write' : 'allow-create-file');
  // Each of these pairs of SFTPGo permissions corresponds to one permission of svc. Only users who have both get that permission.
  if (has('chmod') && has('chtimes')) granted.push('allow-set-attributes');
  if (has('rename_files') && has('rename_dirs')) granted.push('allow-rename');
  return [...new Set(granted)];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const texts = (value: unknown): string[] => list(value).filter((item) => typeof item === 'string');
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
const members = (value: unknown): Members => (isObject(value) ? (value as Members) : {});

/** Parts of a dump that svc represents differently or does not have, each with advice. */
const otherParts: Readonly<Record<string, string>> = {
  admins: 'Add administrators to a service of type console: services.NAME.administrators.',
  api_keys: 'Give the clients new credentials for svc.',
  shares: 'Inform the users of such links, and create new ones in svc.',
  event_actions: 'Write event handlers (webhooks): docs/integrate/webhooks.md.',
  event_rules: 'Write event handlers (webhooks): docs/integrate/webhooks.md.',
  ip_lists: 'Set server.security_policy, and keep lists of addresses in a firewall.',
  roles: 'Roles limit administrators; svc has the roles viewer, reviewer and operator.',
  configs: 'See docs/operate/migrating.md for the settings of the server.',
};

/** Reads a dump of SFTPGo (`dumpdata`) with users, their groups and virtual folders. */
export function importSftpgo({ files, home, port, nowMs }: ImportInput): Draft {
  const draft = emptyDraft();
  draft.services.sftp = { type: 'ssh', port: port ?? 2222 };
  for (const { path: file, text: content } of files) {
    let dump: Members;
    try {
      dump = members(JSON.parse(content.replace(/^\ufeff/, '')));
    } catch (error) {
      throw new ServiceError('bad-request', `${file} is not JSON: it must be a dump of SFTPGo (dumpdata).`, { cause: error });
    }
    if (!Array.isArray(dump.users))
      throw new ServiceError('bad-request', `${file} has no "users": it must be a dump of SFTPGo (dumpdata).`);
    const named = (part: unknown) => new Map(list(part).map((item) => [text(members(item).name), members(item)]));
    const reader = { draft, file, lineOf: lineFinder(content), groups: named(dump.groups), folders: named(dump.folders), home, nowMs };
    for (const user of dump.users) addUser(reader, members(user));
    for (const [part, instead] of Object.entries(otherParts)) {
      const count = Array.isArray(dump[part]) ? dump[part].length : Object.keys(members(dump[part])).length;
      if (count > 0) draft.notes.push({ file, line: reader.lineOf(part), what: `"${part}" (${count}) is not carried over`, instead });
    }
  }
  return draft;
}

interface Reader {
  draft: Draft;
  file: string;
  /** Returns the number of the first line that contains a text in quotes. */
  lineOf: (text: string) => number;
  groups: ReadonlyMap<string, Members>;
  folders: ReadonlyMap<string, Members>;
  home: string;
  nowMs: number;
}

/** Returns a function that finds the number of the first line with a text. The content is searched only once for all texts. */
function lineFinder(content: string): (text: string) => number {
  const lines = new Map<string, number>();
  let line = 1;
  for (const [token] of content.matchAll(/\n|"(?:[^"\\\n]|\\.)*"/g)) {
    if (token === '\n') line++;
    else if (!lines.has(token)) lines.set(token, line);
  }
  return (wanted) => lines.get(JSON.stringify(wanted)) ?? 0;
}

function addUser(reader: Reader, user: Members): void {
  const { draft, file, lineOf } = reader;
  const name = text(user.username);
  const account = draftAccount(name, file, lineOf(name));
  if (!addAccount(draft, account)) return;
  const tell = (what: string, instead: string) => draft.notes.push({ file, line: account.line, account: name, what, instead });
  const own = members(user.filters);
  const groupName = text(
    list(user.groups)
      .map(members)
      .find(({ type }) => type === 1)?.name,
  );
  const others = list(user.groups)
    .map(members)
    .filter(({ type }) => type === 2);
  const group = reader.groups.get(groupName) ?? {};
  const settings = members(group.user_settings);
  const ofGroup = members(settings.filters);
  const expand = (path: string) => path.replaceAll('%username%', () => name);

  account.group = groupName;
  account.enabled = user.status === 1;
  account.email = text(user.email);
  account.password = text(user.password) || undefined;
  account.sshKeys = texts(user.public_keys)
    .flatMap((keys) => keys.split('\n'))
    .map((key) => key.trim())
    .filter(Boolean);
  account.home = expand(text(user.home_dir)) || expand(text(settings.home_dir)) || reader.home;
  account.quotaBytes = appliedLimit(number(user.quota_size), number(settings.quota_size));
  account.largestFileBytes = appliedLimit(number(own.max_upload_file_size), number(ofGroup.max_upload_file_size));
  setPermissions(account, { ...members(settings.permissions), ...members(user.permissions) }, expand);
  setVirtualFolders(reader, account, [...list(group.virtual_folders), ...list(user.virtual_folders)].map(members), expand, tell);
  setCredentials(
    draft,
    account,
    [...texts(own.denied_login_methods), ...texts(ofGroup.denied_login_methods)],
    [...texts(own.denied_protocols), ...texts(ofGroup.denied_protocols)],
  );

  // These are restrictions that svc does not have.
  const strict: [boolean, string, string][] = [
    [
      [user.filesystem, settings.filesystem].some((fs) => ![0, undefined].includes(members(fs).provider as number)),
      'its files are encrypted, or are in S3, Azure, GCS or SFTP',
      'svc serves local folders: copy the files to one, and set home_folder_path.',
    ],
    [
      [own, ofGroup].some((filters) => list(filters.allowed_ip).length + list(filters.denied_ip).length > 0),
      'it may log in only from some addresses',
      'Keep the other addresses out with a firewall.',
    ],
    [
      [own, ofGroup].some((filters) => list(filters.file_patterns).length > 0),
      'patterns allow or deny names of files',
      'Write rules of permissions for them.',
    ],
    [
      [own, ofGroup].some((filters) => list(filters.access_time).length > 0),
      'it may log in only at some hours',
      'Enable it if it may log in at any time.',
    ],
    [
      number(user.expiration_date) > reader.nowMs,
      `it expires on ${formatDay(number(user.expiration_date))}`,
      'Enable it, and disable it again on that day.',
    ],
    [number(user.expiration_date) > 0 && number(user.expiration_date) <= reader.nowMs, 'it has expired', 'Nothing needs to be done.'],
    [
      number(user.quota_files) > 0 || number(settings.quota_files) > 0,
      'the number of its files is limited',
      'Enable it if the limit of bytes (quota_size) is enough.',
    ],
    [
      [own, ofGroup].some((filters) => members(filters.totp_config).enabled === true || list(filters.two_factor_protocols).length > 0),
      'it has a second factor',
      'Let an authentication callout ask for it.',
    ],
    [
      own.require_password_change === true || ofGroup.require_password_change === true,
      'its password has to be changed',
      'Give it a new password.',
    ],
    [others.length > 0, 'it has secondary groups, whose settings add to its own', 'Check their permissions and folders.'],
    [
      [own, ofGroup].some(
        (filters) => members(filters.hooks).check_password_disabled === true || text(filters.external_auth_cache_time) !== '',
      ),
      'hooks take part in its logins',
      'Write an authentication callout.',
    ],
  ];
  for (const [holds, what, instead] of strict) if (holds) disable(draft, account, what, instead);
  const loose: [boolean, string, string][] = [
    [
      number(user.max_sessions) > 0,
      `max_sessions is ${number(user.max_sessions)}`,
      'Set maximum_sessions_per_account of the service; it applies to all accounts.',
    ],
    [
      number(user.upload_bandwidth) + number(user.download_bandwidth) + list(own.bandwidth_limits).length > 0,
      'its bandwidth is limited',
      'Limit it in the network.',
    ],
    [
      number(user.upload_data_transfer) + number(user.download_data_transfer) + number(user.total_data_transfer) > 0,
      'the amount of data that it may transfer is limited',
      'svc does not limit this; watch it with svc events.',
    ],
    [
      text(own.start_directory) !== '',
      `it starts in ${text(own.start_directory)}`,
      'In svc, it starts in /; clients must name the folder.',
    ],
    [number(own.password_expiration) > 0, 'its password expires', 'svc has no expiry of passwords: remind the person.'],
    [list(own.tls_certs).length > 0, 'it has client certificates', 'Add them as certificates of the account (HTTPS).'],
    [text(user.additional_info) !== '' || text(user.description) !== '', 'it has a description', 'Accounts of svc have no description.'],
  ];
  for (const [holds, what, instead] of loose) if (holds) tell(what, instead);
}

/** Returns the limit that SFTPGo applies: the user's own limit or, if the user has none, the limit of the group. 0 means no limit. */
function appliedLimit(own: number, ofGroup: number): number {
  return Math.max(0, own > 0 ? own : ofGroup);
}

function formatDay(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? 'a day that cannot be read' : date.toISOString().slice(0, 10);
}

/**
 * Converts permissions of folders. In SFTPGo, they apply to the content of a folder. Operations on the folder itself need the permissions
 * of its parent.
 */
function setPermissions(account: DraftAccount, given: Members, expand: (path: string) => string): void {
  const sets = Object.entries(given).map(([path, names]) => ({
    path: expand(path).replace(/(.)\/+$/, '$1'),
    granted: mapPermissions(texts(names)),
  }));
  const general = sets.find(({ path }) => path === '/')?.granted ?? [];
  account.permissions = [general];
  const below = sets.filter(({ path }) => path !== '/').sort((a, b) => b.path.length - a.path.length);
  const grantedAbove = (folder: string) => below.find(({ path }) => folder.startsWith(`${path}/`))?.granted ?? general;
  for (const { path, granted } of below) {
    account.permissions.push([belowFolder(path), ...granted]);
    account.samples.push({ at: path, granted });
  }
  for (const { path, granted } of below) {
    const parent = grantedAbove(path);
    const listed = [fullControl, 'allow-list'].some((keyword) => granted.includes(keyword)) ? ['allow-list'] : [];
    const kept = parent.includes(fullControl)
      ? ['allow-create-folder', 'allow-rename', 'allow-delete-folder', 'allow-set-attributes']
      : parent.filter((keyword) => keyword !== 'allow-list');
    account.permissions.push([exactly(path), ...listed, ...kept]);
  }
  // A rule must not be empty, so a rule without permissions gets the keyword that refuses everything.
  account.permissions = account.permissions.map((rule, index) => (index > 0 && rule.length === 1 ? [...rule, 'deny-full-control'] : rule));
}

function setVirtualFolders(
  { draft, folders }: Reader,
  account: DraftAccount,
  mounts: readonly Members[],
  expand: (path: string) => string,
  tell: (what: string, instead: string) => unknown,
): void {
  for (const mount of mounts) {
    const folder = folders.get(text(mount.name)) ?? {};
    const virtual = expand(text(mount.virtual_path))
      .replace(/\/{2,}/g, '/')
      .replace(/(.)\/$/, '$1');
    const real = expand(text(mount.mapped_path) || text(folder.mapped_path));
    const provider = members(mount.filesystem ?? folder.filesystem).provider ?? 0;
    if (provider !== 0 || real === '' || virtual === '' || virtual === '/') {
      tell(`the virtual folder ${virtual} ("${text(mount.name)}") is not a local folder`, 'svc serves local folders: copy the files.');
      continue;
    }
    if (account.virtualFolders.some(([path]) => path === virtual)) continue;
    account.virtualFolders.push([virtual, real]);
    if (number(mount.quota_size) > 0 || number(mount.quota_files) > 0)
      disable(draft, account, `the virtual folder ${virtual} has a separate quota`, 'Enable it if quota_size of the group is enough.');
  }
}

/** Sets the required credentials. Key and password are both required if SFTPGo accepts them only together. */
function setCredentials(draft: Draft, account: DraftAccount, denied: readonly string[], protocols: readonly string[]): void {
  const has = (name: string) => !denied.includes(name);
  const byPassword = has('password') && has('password-over-SSH');
  const byKey = has('publickey');
  const byBoth = has('publickey+password') && has('publickey+keyboard-interactive');
  if (byPassword && byKey) account.requires = 'any';
  else if (byKey) account.requires = 'ssh-key';
  else if (byPassword) account.requires = 'password';
  else if (byBoth) account.requires = 'both';
  else disable(draft, account, 'its login methods are all denied', 'Enable it if it may log in.');
  if (protocols.includes('SSH')) disable(draft, account, 'it may not use SFTP', 'Add a service of type https for it, and enable it.');
}
