import * as z from 'zod';
import {
  expressionText,
  integer,
  largestSizeBytes,
  number,
  optionalText,
  readOrIssue,
  textList,
  uuidText,
  yesNo,
} from '../lib/option-types.ts';
import { parseVirtualPath } from '../lib/virtual-path.ts';
import { defaultGroupUuid, type GroupConfiguration } from './account.ts';
import { requiredCredentials } from './credential-kinds.ts';
import { structureSegments } from './home-folder.ts';
import type { InspectionOptions } from './inspection-rules.ts';
import { parsePasswordHash, parseScryptHash } from './passwords.ts';
import { defaultPermissions, type PermissionOptions, permissionKeywords, permissionsOfEmptyList } from './permissions.ts';

const keyword = z.enum(permissionKeywords, { error: `must be one of ${permissionKeywords.join(', ')}` });

const keywordList = z.array(keyword, { error: `must be a list of permissions: ${permissionKeywords.join(', ')}` });
const keywordText = textList().pipe(keywordList);
const pathRule = z
  .array(z.string(), { error: 'must be a path expression followed by permissions' })
  .min(2, 'must be a path expression followed by permissions')
  .transform(([expression = '', ...permissions]) => ({ expression, permissions }))
  .pipe(z.object({ expression: expressionText(), permissions: z.array(keyword) }));

/**
 * The option for permissions. The first entry is the general set. Each further entry is a path expression and its permissions. A flat list
 * of keywords is treated as the general set. For an empty list, the value is undefined, which means the default. `[[]]` grants nothing.
 */
export const permissionsOption = z
  .union([z.array(z.unknown()), z.string()], { error: 'must be a list of lists of permissions' })
  .transform((value, context): PermissionOptions | undefined => {
    const entries = typeof value === 'string' ? linesOfLists(value) : value;
    if (entries.length === 0) return undefined;
    const read = <T>(schema: z.ZodType<T>, entry: unknown, at: number): T | undefined => {
      const { data, error } = schema.safeParse(entry, { reportInput: true });
      for (const issue of error?.issues ?? []) {
        const params = issue.code === 'invalid_value' ? { given: issue.input, known: issue.values } : {};
        context.addIssue({ code: 'custom', message: issue.message, path: [at, ...placeInEntry(entry, issue.path)], params });
      }
      return data;
    };
    const readGeneral = (entry: unknown, at: number) => read(typeof entry === 'string' ? keywordText : keywordList, entry, at);
    const isFlat = entries.every((entry) => typeof entry === 'string');
    const general = isFlat ? entries.flatMap(readGeneral) : readGeneral(entries[0], 0);
    const rules = isFlat ? [] : entries.slice(1).map((rule, index) => read(pathRule, rule, index + 1));
    const isThere = <T>(item: T | undefined): item is T => item !== undefined;
    return { general: (general ?? []).filter(isThere), rules: rules.filter(isThere) };
  });

/** Returns the position of an issue in an entry of the permissions. In a rule, the expression is the first item. */
function placeInEntry(entry: unknown, [member, index]: PropertyKey[]): number[] {
  if (!Array.isArray(entry)) return [];
  if (member === 'permissions' && typeof index === 'number') return [index + 1];
  return member === 'expression' ? [0] : typeof member === 'number' ? [member] : [];
}

function linesOfLists(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(',').map((item) => item.trim()));
}

const pathOrListOfOne = z.union([z.string(), z.tuple([z.string()]).transform(([path]) => path)]);
const structurePaths = z.array(z.string()).superRefine((entries, context) => {
  for (const entry of entries) readOrIssue(context, () => structureSegments(entry));
});

/** A list of relative folders. Each is a text, or a list of one text. */
export const structureList = z.array(pathOrListOfOne, { error: 'must be a list of relative paths' }).pipe(structurePaths);

/** A list of relative folders as the configuration may write it. */
export const structureOption = z
  .union([z.array(pathOrListOfOne), textList()], { error: 'must be a list of relative paths' })
  .pipe(structurePaths);

/** A list of pairs: a virtual path, and the real path to which it leads. */
export const virtualFoldersOption = z
  .array(z.tuple([z.string(), z.string().min(1)], { error: 'must be a list of two: the virtual path and the real path' }), {
    error: 'must be a list of pairs',
  })
  .superRefine((folders, context) => {
    for (const [index, [path]] of folders.entries()) {
      if (readOrIssue(context, () => parseVirtualPath(path)) === '/')
        context.addIssue({ code: 'custom', message: 'must not be "/"; set home_folder_path', path: [index, 0] });
    }
  });

/** The option for uploads whose name is taken. */
export const onNameTakenOption = z.enum(['refuse', 'number'], { error: 'must be refuse or number' });

/** The option for the number of days for which nobody may change files that an account created. */
export const retainOption = z.strictObject({ days: integer(0, 36_500).describe('Number of days.') }, { error: 'must be {days: NUMBER}' });

const inspectionUuids = z.union([textList(), z.array(z.string())]).pipe(z.array(uuidText));

const inspectionRule = z
  .array(z.string(), { error: 'must be a path expression followed by UUIDs of inspections' })
  .min(1, 'must be a path expression followed by UUIDs of inspections')
  .transform(([expression = '', ...inspections]) => ({ expression, inspections }))
  .pipe(z.object({ expression: expressionText(), inspections: z.array(uuidText) }));

/**
 * The option for the inspections of an account's files. The first entry is the general list. Each further entry is a path expression and
 * its inspections. If an entry names no inspections, files at its paths are not inspected. A flat list is treated as the general list.
 */
const inspectionsOption = z
  .union([z.array(z.unknown()), textList()], { error: 'must be a list of lists of inspections' })
  .transform((entries, context): InspectionOptions => {
    const isFlat = entries.every((entry) => typeof entry === 'string');
    const read = <T>(schema: z.ZodType<T>, entry: unknown, path: number[]): T[] => {
      const { data, error } = schema.safeParse(entry);
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message, path });
      return data === undefined ? [] : [data];
    };
    const general = read(inspectionUuids, isFlat ? entries : (entries[0] ?? []), isFlat ? [] : [0]).flat();
    const rules = isFlat ? [] : entries.slice(1).flatMap((rule, index) => read(inspectionRule, rule, [index + 1]));
    return { general, rules };
  });

const serviceUuids = textList().pipe(z.array(uuidText));
const longestDays = 3650;

/** The option for access tokens of accounts (docs/spec/tokens.md). */
const tokensOption = z
  .strictObject({
    enabled: yesNo().default(true).describe('Whether the account may use access tokens, and create them (with `allow-create-token`).'),
    maximum: integer(1, 100_000).default(100).describe('Maximum number of valid tokens.'),
    maximum_days: number(0.001, longestDays)
      .default(365)
      .describe('Longest lifetime of a token, in days; also the lifetime of a token for which none is given.'),
    services: serviceUuids.optional().describe('UUIDs of the services that accept tokens; default: all.'),
  })
  .describe('Access tokens: secrets for machines, limited to a part of the rights of the account.');

/** The option for shared links to files of accounts (docs/spec/links.md). */
const linksOption = z
  .strictObject({
    enabled: yesNo().default(true).describe('Whether the account may use links, and create them (with `allow-share`).'),
    maximum: integer(1, 100_000).default(1000).describe('Maximum number of valid links.'),
    maximum_days: number(0.001, longestDays).default(90).describe('Longest lifetime of a link, in days.'),
    default_days: number(0.001, longestDays).default(7).describe('Lifetime of a link for which none is given, in days.'),
    require_password: yesNo().default(false).describe('Whether each link needs a password.'),
  })
  .describe('Links: URLs with which people without an account download or drop files.');

const shared = {
  tokens: tokensOption,
  links: linksOption,
  home_folder_path: optionalText()
    .describe('Real folder that the account sees as `/`; `${USER}` stands for the account name.')
    .meta({ example: './files/${USER}' }),
  create_home_folder: yesNo().describe('Create a missing home folder at login, with `home_folder_structure`; default: yes.'),
  create_home_folder_owner: optionalText().describe(
    'OS account that owns a new home folder; the service needs the right to change owners.',
  ),
  create_home_folder_group: optionalText().describe('OS group of a new home folder.'),
  home_folder_structure: structureOption.describe('Folders to create inside the home folder, relative to it.'),
  virtual_folders: virtualFoldersOption.describe('Further folders: pairs of virtual path and real path.'),
  permissions: permissionsOption.describe(
    'Permissions: first the general list, then the rules. Each rule is a list: a path expression, followed by its permissions. The first rule that matches replaces the general list. `[[]]` grants nothing; `[]` means the default.',
  ),
  on_name_taken: onNameTakenOption.describe(
    'Effect of an upload if its name is taken and files may only be added: refuse (403), or number (`a (2).csv`; the reply has the new name).',
  ),
  retain: retainOption.describe(
    'Days for which files that the account uploads cannot be changed, moved or deleted through the service; 0 = none.',
  ),
  show_expectations: yesNo().describe('Whether the account may see which of its files are due (`expectations`).'),
  trash: z
    .strictObject({
      days: integer(0, 3650).default(0).describe('Days after which items are removed for good; 0 = nothing is kept.').meta({ example: 30 }),
    })
    .describe('Keeps deleted and replaced files in a trash, from which the account can restore them.'),
  inspections: inspectionsOption.describe(
    'Inspections that files must pass before they become visible: first the general list, then the rules. Each rule is a list: a path expression, followed by its inspections. The first rule that matches replaces the general list.',
  ),
};

/** One entry of `groups`. */
export const groupOptions = z
  .strictObject({
    name: z.string().default('').describe('Name of the group, for people.'),
    description: z.string().default('').describe('Free text.'),
    enabled: yesNo().default(true).describe('A disabled group rejects its accounts.'),
    home_folder_path: shared.home_folder_path.default(''),
    create_home_folder: shared.create_home_folder.optional(),
    create_home_folder_owner: shared.create_home_folder_owner.default(''),
    create_home_folder_group: shared.create_home_folder_group.default(''),
    home_folder_structure: shared.home_folder_structure.default([]),
    virtual_folders: shared.virtual_folders.default([]),
    permissions: shared.permissions.transform((value) => value ?? permissionsOfEmptyList).default(defaultPermissions),
    on_name_taken: shared.on_name_taken.optional(),
    retain: shared.retain.optional(),
    inspections: shared.inspections.optional(),
    allow_own_password_change: yesNo().default(false).describe('Accounts of the group may change their own password.'),
    file_write_size: integer(0, largestSizeBytes).default(0).describe('Largest file that may be written, in bytes; 0 = no limit.'),
    quota_size: integer(0, largestSizeBytes)
      .default(0)
      .describe('Largest total size of the folders of one account, in bytes; 0 = no limit.'),
    trash: shared.trash.prefault({}),
    required_credentials: z
      .enum(requiredCredentials, { error: 'must be any, password, ssh-key or both' })
      .default('any')
      .describe('Credentials that `ssh` services require of accounts of the group: any, password, ssh-key or both (in either order).'),
    show_expectations: shared.show_expectations.optional(),
    tokens: shared.tokens.prefault({}),
    links: shared.links.prefault({}),
    show_recent: yesNo().default(false).describe('Accounts of the group have a page of their recent changes, read from the journal.'),
  })
  .describe('Settings that accounts share. `DEFAULT_GROUP` applies to accounts that name no group.');

/** A password hash in svc's format, as `svc hash-password` prints it. */
export const ownPasswordHash = z.string().superRefine((text, context) => void readOrIssue(context, () => parseScryptHash(text)));

/** A password hash in svc's format or in that of another system. */
const passwordHash = z.string().superRefine((text, context) => void readOrIssue(context, () => parsePasswordHash(text)));

/** One entry of `accounts`. */
export const accountOptions = z
  .strictObject({
    enabled: yesNo().default(true).describe('A disabled account is rejected.'),
    uuid: uuidText.optional().describe('UUID of the account; default: the name.'),
    password: z
      .union([passwordHash, z.null()])
      .optional()
      .describe(
        'Password hash as `svc hash-password` prints it, or a hash of another system (bcrypt, SHA-crypt, Argon2, PBKDF2, MD5-crypt, SSHA, SHA), which the first login replaces. Without a hash no password is accepted.',
      ),
    email: optionalText().optional().describe('One or several e-mail addresses, comma-separated.'),
    group: uuidText.default(defaultGroupUuid).describe('UUID of the group.'),
    ssh_keys: z
      .union([z.array(z.string()), z.null()])
      .optional()
      .describe('OpenSSH public keys.'),
    certificates: z
      .union([z.array(z.string()), z.null()])
      .optional()
      .describe('Client certificates in PEM.'),
    home_folder_path: shared.home_folder_path.optional(),
    create_home_folder: shared.create_home_folder.optional(),
    create_home_folder_owner: shared.create_home_folder_owner.optional(),
    create_home_folder_group: shared.create_home_folder_group.optional(),
    home_folder_structure: shared.home_folder_structure.optional(),
    virtual_folders: shared.virtual_folders.optional(),
    permissions: shared.permissions.optional(),
    on_name_taken: shared.on_name_taken.optional(),
    retain: shared.retain.optional(),
    trash: shared.trash.optional(),
    inspections: shared.inspections.optional(),
    show_expectations: shared.show_expectations.optional(),
    tokens: shared.tokens.optional(),
    links: shared.links.optional(),
  })
  .describe('An account of the `application` method; the key is its name.');

/** The configured groups by UUID, and the default group, which exists even if it is not configured. */
export function withDefaultGroup(groups: Readonly<Record<string, GroupConfiguration>>): Map<string, GroupConfiguration> {
  const all = new Map(Object.entries(groups));
  if (!all.has(defaultGroupUuid)) all.set(defaultGroupUuid, groupOptions.parse({}));
  return all;
}
