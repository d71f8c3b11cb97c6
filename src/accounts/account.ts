import { ServiceError } from '../lib/errors.ts';
import { parseVirtualPath, type VirtualPath } from '../lib/virtual-path.ts';
import type { RequiredCredentials } from './credential-kinds.ts';
import { type InspectionOptions, InspectionRules, noInspections } from './inspection-rules.ts';
import type { GrantName, Narrowing } from './narrowing.ts';
import { defaultPermissions, type PermissionOptions, Permissions } from './permissions.ts';
import { expandUserInPath } from './user-names.ts';

/** One address of an account's `email`. */
interface EmailAddress {
  /** The display name before the address; empty if there is none. */
  name: string;
  address: string;
}

/** Splits an account's `email` into its comma-separated addresses. Example: `Bob B <bob@example.com>, "Doe, Jane" <jane@example.com>`. */
export function emailAddresses(email: string): EmailAddress[] {
  return splitOutsideQuotes(email)
    .map(emailAddress)
    .filter(({ address }) => address !== '');
}

function emailAddress(text: string): EmailAddress {
  const open = text.lastIndexOf('<');
  if (open < 0 || !text.endsWith('>')) return { name: '', address: text };
  return { name: unquoted(text.slice(0, open).trim()), address: text.slice(open + 1, -1).trim() };
}

// A comma inside a quoted name (RFC 5322 §3.2.4) does not separate addresses.
function splitOutsideQuotes(list: string): string[] {
  const items: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      items.push(list.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...items, list.slice(start).trim()];
}

function unquoted(name: string): string {
  const isQuoted = name.length >= 2 && name.startsWith('"') && name.endsWith('"');
  return isQuoted ? name.slice(1, -1).replace(/\\(.)/g, '$1') : name;
}

/** An account of the configuration or of the accounts file. */
export interface LocalAccount {
  readonly name: string;
  readonly enabled: boolean;
  readonly passwordHash: string | undefined;
  /**
   * SHA-256 in base64url of the earlier hash, if svc replaced the hash of another system by its own hash of the same password. Sessions
   * that were opened with the earlier hash stay valid.
   */
  readonly replacedHashFingerprint?: string | undefined;
  /** SSH public keys, each as a line in OpenSSH format. */
  readonly sshKeys: readonly string[];
  /** Client certificates in PEM format. */
  readonly certificates: readonly string[];
  readonly configuration: AccountConfiguration;
}

/** One entry of `accounts`. The members have the option names of the configuration. */
export interface LocalAccountOptions extends AccountConfiguration {
  enabled: boolean;
  password?: string | null | undefined;
  ssh_keys?: readonly string[] | null | undefined;
  certificates?: readonly string[] | null | undefined;
}

/** Converts an entry of `accounts` to a local account. */
export function toLocalAccount(name: string, options: LocalAccountOptions): LocalAccount {
  const { enabled, password, ssh_keys, certificates, ...configuration } = options;
  return {
    name,
    enabled,
    passwordHash: password || undefined,
    sshKeys: ssh_keys ?? [],
    certificates: certificates ?? [],
    configuration,
  };
}

/** The group of the accounts that name no group (docs/spec/authentication.md#account-of-a-reply). */
export const defaultGroupUuid = 'DEFAULT_GROUP';

/** The options for the home folder and its owner. The members have the option names of the configuration. */
export interface HomeFolderConfiguration {
  home_folder_path?: string | null | undefined;
  create_home_folder?: boolean | null | undefined;
  create_home_folder_owner?: string | null | undefined;
  create_home_folder_group?: string | null | undefined;
}

/** The option `tokens`, which limits the access tokens of an account. The members have the option names of the configuration. */
export interface TokenOptions {
  enabled: boolean;
  maximum: number;
  maximum_days: number;
  services?: readonly string[] | undefined;
}

/** The option `links`, which limits the shared links of an account. The members have the option names of the configuration. */
export interface LinkOptions {
  enabled: boolean;
  maximum: number;
  maximum_days: number;
  default_days: number;
  require_password: boolean;
}

export const defaultTokens: TokenOptions = { enabled: true, maximum: 100, maximum_days: 365 };
export const defaultLinks: LinkOptions = { enabled: true, maximum: 1000, maximum_days: 90, default_days: 7, require_password: false };

/** The options that both accounts and groups have. The members have the option names of the configuration. */
interface SharedConfiguration extends HomeFolderConfiguration {
  home_folder_structure?: readonly string[] | null | undefined;
  virtual_folders?: readonly (readonly [string, string])[] | null | undefined;
  permissions?: PermissionOptions | null | undefined;
  on_name_taken?: 'refuse' | 'number' | null | undefined;
  retain?: { days: number } | null | undefined;
  trash?: { days: number } | null | undefined;
  inspections?: InspectionOptions | null | undefined;
  show_expectations?: boolean | null | undefined;
  tokens?: TokenOptions | null | undefined;
  links?: LinkOptions | null | undefined;
}

/** The options of a group. They apply to an account of the group unless the account sets its own. */
export interface GroupConfiguration extends SharedConfiguration {
  enabled: boolean;
  allow_own_password_change?: boolean | null | undefined;
  file_write_size?: number | null | undefined;
  quota_size?: number | null | undefined;
  required_credentials?: RequiredCredentials | null | undefined;
  show_recent?: boolean | null | undefined;
}

/** The options of an account as an authentication method returns them (docs/spec/authentication.md#account-of-a-reply). */
export interface AccountConfiguration extends SharedConfiguration {
  uuid?: string | null | undefined;
  email?: string | null | undefined;
  group?: string | null | undefined;
}

/** The effective account: its own options joined with those of its group (docs/spec/authentication.md#effective-account). */
export interface Account {
  readonly name: string;
  readonly uuid: string;
  readonly email: string;
  readonly groupUuid: string;
  /** Absolute path on the disk. `${USER}` is already replaced. */
  readonly homeFolderPath: string;
  readonly createHomeFolder: boolean;
  readonly homeFolderOwner: string | undefined;
  readonly homeFolderGroup: string | undefined;
  readonly homeFolderStructure: readonly string[];
  readonly virtualFolders: readonly { path: VirtualPath; realPath: string }[];
  readonly permissions: Permissions;
  /** The token or link that the client presented, if any. `permissions` are already narrowed to the scope of this token or link. */
  readonly grant?: GrantName | undefined;
  /** The treatment of an upload whose name is taken by a file that must not be replaced: it is refused, or gets a numbered name. */
  readonly onNameTaken: 'refuse' | 'number';
  /** Number of days for which nobody may change, move or delete a file that the account created; 0 for none. */
  readonly retainDays: number;
  /** The inspections that an uploaded file must pass before it becomes visible. */
  readonly inspections: InspectionRules;
  readonly allowOwnPasswordChange: boolean;
  /** Largest size of a file that the account may write; 0 for no limit. */
  readonly fileWriteSizeBytes: number;
  /** Largest total size of the account's folders; 0 for no limit. */
  readonly quotaSizeBytes: number;
  readonly requiredCredentials: RequiredCredentials;
  /** Number of days for which deleted or replaced files stay in the trash; 0 if they are deleted immediately. */
  readonly trashDays: number;
  /** Whether the account may see which of its files are due. */
  readonly showExpectations: boolean;
  /** Whether the account may see a list of its recent changes. */
  readonly showRecent: boolean;
  readonly tokens: TokenOptions;
  readonly links: LinkOptions;
  /** UUID and type of the authentication method that accepted the account. */
  readonly method: { readonly uuid: string; readonly type: string };
}

/** The reason why an account cannot be used although an authentication method accepted it. */
export type AccountProblem = 'group-unknown' | 'group-disabled' | 'no-home-folder' | 'bad-value';

/** Thrown by `effectiveAccount`. `problem` decides which event the administrator gets. */
export class AccountError extends ServiceError {
  readonly problem: AccountProblem;

  constructor(problem: AccountProblem, message: string, cause?: unknown) {
    super('unauthorized', message, { cause });
    this.problem = problem;
  }
}

/**
 * The home folder options that apply to an account: each is taken from the first of `holders` that sets it
 * (docs/spec/authentication.md#effective-account).
 *
 * @param holders the options of the account, of its group and of `DEFAULT_GROUP`, in this order; undefined for a group that does not exist
 */
export function homeFolderOptions(...holders: (HomeFolderConfiguration | undefined)[]) {
  const firstText = (name: 'home_folder_path' | 'create_home_folder_owner' | 'create_home_folder_group') =>
    holders.map((holder) => holder?.[name]).find((text) => text) ?? '';
  const createHomeFolder = holders.map((holder) => holder?.create_home_folder).find((value) => value !== undefined && value !== null);
  return {
    home_folder_path: firstText('home_folder_path'),
    create_home_folder: createHomeFolder ?? true,
    create_home_folder_owner: firstText('create_home_folder_owner'),
    create_home_folder_group: firstText('create_home_folder_group'),
  };
}

/** The message when neither an account nor its group sets a home folder. */
export function noHomeFolder(groupUuid: string): string {
  const others = groupUuid === defaultGroupUuid ? '' : ` nor ${defaultGroupUuid}`;
  return `neither the account nor its group "${groupUuid}"${others} has a home_folder_path`;
}

/**
 * Joins an account with its group. Each value comes from the account. If it is unset there, it comes from the group. Home folder options
 * that are unset in both come from `DEFAULT_GROUP`. An option that is set nowhere has its default.
 *
 * @param name the account's name, already checked with `isUserName`
 * @param groups all groups by UUID
 * @param method the authentication method that accepted the account
 * @throws AccountError when the group is missing or disabled, no home folder is configured, or a value cannot be used
 */
export function effectiveAccount(
  name: string,
  configuration: AccountConfiguration,
  groups: ReadonlyMap<string, GroupConfiguration>,
  method: { uuid: string; type: string },
): Account {
  const groupUuid = configuration.group || defaultGroupUuid;
  const group = groups.get(groupUuid);
  if (!group) throw new AccountError('group-unknown', `The group "${groupUuid}" does not exist.`);
  if (!group.enabled) throw new AccountError('group-disabled', `The group "${groupUuid}" is disabled.`);
  const home = homeFolderOptions(configuration, group, groups.get(defaultGroupUuid));
  if (home.home_folder_path === '') throw new AccountError('no-home-folder', `No home folder: ${noHomeFolder(groupUuid)}.`);
  try {
    return {
      name,
      uuid: configuration.uuid || name,
      email: configuration.email ?? '',
      groupUuid,
      homeFolderPath: expandUserInPath(home.home_folder_path, name),
      createHomeFolder: home.create_home_folder,
      homeFolderOwner: home.create_home_folder_owner || undefined,
      homeFolderGroup: home.create_home_folder_group || undefined,
      homeFolderStructure: configuration.home_folder_structure ?? group.home_folder_structure ?? [],
      virtualFolders: (configuration.virtual_folders ?? group.virtual_folders ?? []).map(([path, realPath]) => ({
        path: parseVirtualPath(expandUserInPath(path, name)),
        realPath: expandUserInPath(realPath, name),
      })),
      permissions: new Permissions(configuration.permissions ?? group.permissions ?? defaultPermissions, name),
      onNameTaken: configuration.on_name_taken ?? group.on_name_taken ?? 'refuse',
      retainDays: (configuration.retain ?? group.retain)?.days ?? 0,
      inspections: new InspectionRules(configuration.inspections ?? group.inspections ?? noInspections, name),
      allowOwnPasswordChange: group.allow_own_password_change ?? false,
      fileWriteSizeBytes: group.file_write_size ?? 0,
      quotaSizeBytes: group.quota_size ?? 0,
      trashDays: (configuration.trash ?? group.trash)?.days ?? 0,
      requiredCredentials: group.required_credentials ?? 'any',
      showExpectations: configuration.show_expectations ?? group.show_expectations ?? false,
      showRecent: group.show_recent ?? false,
      tokens: configuration.tokens ?? group.tokens ?? defaultTokens,
      links: configuration.links ?? group.links ?? defaultLinks,
      method,
    };
  } catch (error) {
    if (error instanceof ServiceError) throw new AccountError('bad-value', error.message, error);
    throw error;
  }
}

/**
 * The account for the holder of a token or link, with its current rights, narrowed to what the token or link grants. Every protocol acts on
 * behalf of such an account object, so the narrowing holds for all protocols. The holder can neither change the password nor see
 * expectations, because these concern the account as a whole.
 *
 * @param narrowings the narrowing of the token or link, and the narrowings of the tokens with which it was created
 * @param grant names the token or link
 */
export function narrowAccount(account: Account, narrowings: readonly Narrowing[], grant: GrantName): Account {
  const permissions = narrowings.reduce((left, narrowing) => left.narrowed(narrowing), account.permissions);
  return { ...account, grant, permissions, allowOwnPasswordChange: false, showExpectations: false };
}
