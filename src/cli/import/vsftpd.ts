import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownMember } from '../../lib/json.ts';
import { addAccount, type Draft, type DraftAccount, disable, draftAccount, emptyDraft, type ImportInput, type InputFile } from './draft.ts';
import { allRights, commandRights, makeDraftAccount, permissionSet } from './ftp-rights.ts';
import { readUnixAccounts, unixFileKind } from './unix-accounts.ts';

interface Setting {
  value: string;
  file: string;
  line: number;
}

type Settings = Map<string, Setting>;

/** Settings without a counterpart in svc. They concern FTP, logs and the process. Ignoring them removes no restriction. */
const withoutCounterpart =
  /^(?:accept_timeout|allow_\w+|anon_max_rate|anon_root|anon_umask|anon_upload_enable|anon_mkdir_write_enable|anon_other_write_enable|anon_world_readable_only|ascii_\w+|async_abor_enable|background|ca_certs_file|check_shell|chown_\w+|chroot_\w+|connect_\w+|data_connection_timeout|debug_ssl|delay_\w+|dh_param_file|dirmessage_enable|dsa_\w+|dual_log_enable|ecdh_param_file|force_\w+|ftp_data_port|ftp_username|guest_username|hide_ids|implicit_ssl|isolate\w*|listen\w*|lock_upload_files|log_\w+|ls_recurse_enable|max_login_fails|mdtm_write|message_file|no_anon_password|no_log_lock|nopriv_user|one_process_model|passwd_chroot_enable|pasv_\w+|port_\w+|require_\w+|rsa_\w+|run_as_launching_user|seccomp_sandbox|secure_chroot_dir|secure_email_list_enable|session_support|setproctitle_enable|ssl_\w+|strict_ssl_\w+|syslog_enable|text_userdb_names|tilde_user_enable|trans_chunk_size|use_localtime|use_sendfile|utf8_filesystem|vsftpd_log_file|xferlog_\w+)$/;

const ofAccounts =
  /^(?:chmod_enable|cmds_allowed|cmds_denied|deny_file|dirlist_enable|download_enable|file_open_mode|guest_enable|local_enable|local_root|user_config_dir|user_sub_token|userlist_deny|userlist_enable|userlist_file|userlist_log|virtual_use_local_privs|write_enable)$/;

const remedies: Readonly<Record<string, string>> = {
  anonymous_enable: 'An authentication method of type anonymous accepts requests without credentials (only over HTTP).',
  banner_file: 'Copy its text to before_login_message.',
  hide_file: 'svc shows all names: move such files elsewhere, or write rules of permissions.',
  local_max_rate: 'Limit the bandwidth in the network.',
  max_per_ip: 'Set maximum_unauthenticated_connections_per_address of the service.',
  pam_service_name: 'svc knows neither what PAM refuses nor accounts that only PAM has: an authentication callout can ask PAM.',
  tcp_wrappers: 'Keep the addresses of hosts.deny out with a firewall before the switch.',
};

/** Reads vsftpd.conf, passwd and shadow, the configuration files of single users, and the list of users (userlist_file). */
export function importVsftpd({ files, root, home, port, nowMs }: ImportInput): Draft {
  const draft: Draft = { ...emptyDraft(), createsHomes: false };
  const service: Record<string, unknown> = { type: 'ssh', port: port ?? 2222 };
  draft.services.sftp = service;
  const configs = files.filter((file) => unixFileKind(file) === undefined && file.text !== '');
  const settings: Settings = new Map(configs.flatMap((file) => [...readSettings(file, draft)]));
  for (const [name, { value, file, line }] of settings) {
    if (name === 'ftpd_banner' && !value.includes('${')) service.before_login_message = value;
    else if (name === 'idle_session_timeout' && isCount(value, 86_400)) service.idle_connection_timeout = Number(value);
    else if (name === 'max_clients' && isCount(value, 1_000_000)) service.maximum_concurrent_connections = Number(value);
    else if (name === 'local_umask' && /^[0-7]{1,4}$/.test(value)) draft.server.umask = value.padStart(3, '0');
    else if (!withoutCounterpart.test(name) && !ofAccounts.test(name) && (isOn(settings, name, true) || !/^no$/i.test(value)))
      draft.notes.push({
        file,
        line,
        what: `${name} is not carried over`,
        instead: ownMember(remedies, name) ?? 'Check its effect before you switch.',
      });
  }
  draft.server.umask ??= '077';
  if (isOn(settings, 'anonymous_enable', true) && !settings.has('anonymous_enable'))
    draft.notes.push({
      file: '',
      line: 0,
      what: 'anonymous_enable is on by default and is not carried over',
      instead: remedies.anonymous_enable as string,
    });
  draft.notes.push({ file: '', line: 0, what: 'svc does not support FTP', instead: `Clients change to SFTP, port ${port ?? 2222}.` });
  addAccounts({ draft, settings, root, nowMs }, files, home);
  return draft;
}

function isCount(text: string, most: number): boolean {
  return /^[1-9]\d*$/.test(text) && Number(text) <= most;
}

function readSettings({ path: file, text }: InputFile, draft: Draft): Settings {
  const settings: Settings = new Map();
  for (const [index, content] of text.split(/\r?\n/).entries()) {
    if (content.trim() === '' || content.startsWith('#')) continue;
    const [, name = '', value = ''] = /^([a-z0-9_]+)=(.*?)\s*$/.exec(content.trimStart()) ?? [];
    if (name === '')
      draft.notes.push({
        file,
        line: index + 1,
        what: 'this is not a setting',
        instead: 'vsftpd would not start with this line: correct it.',
      });
    else settings.set(name, { value, file, line: index + 1 });
  }
  return settings;
}

function isOn(settings: Settings, name: string, byDefault: boolean): boolean {
  const value = settings.get(name)?.value;
  return value === undefined ? byDefault : /^(?:yes|true|1)$/i.test(value);
}

interface Reader {
  draft: Draft;
  settings: Settings;
  root: string;
  nowMs: number;
}

function addAccounts(reader: Reader, files: readonly InputFile[], home: string): void {
  const { draft, settings, root, nowMs } = reader;
  const folder = settings.get('user_config_dir')?.value;
  const own = new Map<string, Settings>();
  for (const name of folder === undefined ? [] : listEntries(join(root, folder))) {
    const path = join(root, folder ?? '', name);
    own.set(name, readSettings({ path, text: readFileSync(path, 'utf8'), account: name }, draft));
  }
  const list = userList(reader);
  const isGuest = isOn(settings, 'guest_enable', false);
  const add = (account: DraftAccount) => {
    if (!addAccount(draft, account)) return;
    const all: Settings = new Map([...settings, ...(own.get(account.name) ?? [])]);
    if (!isOn(settings, 'local_enable', false) && !isGuest) disable(draft, account, 'local_enable is off', 'Enable it if it may log in.');
    if (list !== undefined && (list === 'unreadable' || list.has(account.name) === isOn(settings, 'userlist_deny', true)))
      disable(draft, account, 'the list of users excludes it', 'Enable it if it may log in.', settings.get('userlist_file') ?? account);
    setFolder(account, all, isGuest);
    setPermissions(draft, account, all, isGuest);
  };
  if (isGuest) {
    for (const name of own.keys()) add({ ...draftAccount(name, join(root, folder ?? '', name), 0), home, group: 'FTP' });
    draft.notes.push({
      file: '',
      line: 0,
      what: 'guest_enable: PAM has the names and passwords',
      instead: `${own.size} accounts have a file in user_config_dir; add the others, and give new passwords to all.`,
    });
    return;
  }
  for (const unix of readUnixAccounts(
    files.filter((file) => unixFileKind(file) !== undefined),
    nowMs,
    draft.notes,
  ).values())
    if (unix.uid >= 1000 && unix.uid !== 65_534) add(makeDraftAccount(draft, unix, nowMs));
}

function listEntries(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  } catch {
    return [];
  }
}

function userList({ draft, settings, root }: Reader): Set<string> | 'unreadable' | undefined {
  if (!isOn(settings, 'userlist_enable', false)) return undefined;
  const path = join(root, settings.get('userlist_file')?.value ?? '/etc/vsftpd.user_list');
  try {
    return new Set(readFileSync(path, 'utf8').split(/\s+/).filter(Boolean));
  } catch (error) {
    draft.notes.push({
      file: path,
      line: 0,
      what: `the list of users cannot be read: ${(error as Error).message}`,
      instead: 'All accounts are disabled: give a copy of the list with --root.',
    });
    return 'unreadable';
  }
}

function setFolder(account: DraftAccount, settings: Settings, isGuest: boolean): void {
  const token = settings.get('user_sub_token')?.value;
  const folder = settings.get('local_root')?.value ?? (isGuest ? account.home : undefined);
  if (folder !== undefined) account.home = token ? folder.replaceAll(token, () => account.name) : folder;
}

function setPermissions(draft: Draft, account: DraftAccount, settings: Settings, isGuest: boolean): void {
  const mayWrite = isOn(settings, 'write_enable', false);
  const isAnonymous = isGuest && !isOn(settings, 'virtual_use_local_privs', false);
  const anonymous = (name: string) => mayWrite && isOn(settings, name, false);
  let granted = mayWrite ? [...allRights, 'allow-create-file'] : ['allow-read', 'allow-list'];
  if (isAnonymous)
    granted = [
      'allow-read',
      'allow-list',
      ...(anonymous('anon_upload_enable') ? ['allow-create-file'] : []),
      ...(anonymous('anon_mkdir_write_enable') ? ['allow-create-folder'] : []),
      ...(anonymous('anon_other_write_enable') ? ['allow-write', 'allow-delete-file', 'allow-delete-folder', 'allow-rename'] : []),
    ];
  const commands = (name: string) =>
    settings
      .get(name)
      ?.value.split(',')
      .map((command) => command.trim())
      .filter(Boolean);
  const allowed = commands('cmds_allowed');
  if (allowed) granted = granted.filter((right) => commandRights(allowed).includes(right));
  const refused = [
    ...commandRights(commands('cmds_denied') ?? []),
    ...(isOn(settings, 'download_enable', true) ? [] : ['allow-read']),
    ...(isOn(settings, 'dirlist_enable', true) ? [] : ['allow-list']),
    ...(isOn(settings, 'chmod_enable', true) ? [] : ['allow-set-attributes']),
  ];
  granted = granted.filter((right) => !refused.includes(right) && (right !== 'allow-create-file' || !granted.includes('allow-write')));
  account.permissions = [permissionSet(granted)];
  const denied = settings.get('deny_file');
  if (!denied) return;
  const patterns = expandBraces(denied.value);
  if (!patterns)
    disable(draft, account, `deny_file=${denied.value} is not a pattern that svc supports`, 'Write a rule of permissions for it.', denied);
  else
    for (const pattern of patterns)
      account.permissions.push([`*/${pattern}`, 'deny-full-control'], [`*/${pattern}/*`, 'deny-full-control']);
}

/** Returns the patterns of a list such as `{*.mp3,*.mov}`; undefined if one of them cannot be converted. */
function expandBraces(text: string): string[] | undefined {
  const patterns = /^\{(.*)\}$/.exec(text)?.[1]?.split(',') ?? [text];
  return patterns.every((pattern) => /^[\w.*?-]+$/.test(pattern)) ? patterns : undefined;
}
