import { isAbsolute } from 'node:path';
import * as z from 'zod';
import type { AccountConfiguration } from '../accounts/account.ts';
import { permissionsOption, structureList, virtualFoldersOption } from '../accounts/options.ts';
import { expressionCost, permissionKeywords } from '../accounts/permissions.ts';
import { eventIds } from '../events/event-ids.ts';
import { dropOldest } from '../lib/expiring-map.ts';
import { isObject, JsonLimitError, parseJson } from '../lib/json.ts';
import { nearestName } from '../lib/nearest-name.ts';
import type { AuthResult, PublicFailure } from './auth-method.ts';

/** A reply of the authentication endpoint. */
export interface CalloutReply {
  status: number;
  body: Buffer;
}

/** Longest failure text that is kept for events, in characters. */
const longestTextCharacters = 1000;

/** Most values of an account: more would take noticeable time to check. */
const maxAccountValues = 20_000;

/** Most that the lists of an account may have: all rules may be asked about each path, and each folder is looked at or made. */
const maxItems = { permissions: 1000, virtualFolders: 1000, homeFolderStructure: 200 };

/** Most folders that the entries of `homeFolderStructure` name, those on the way to others included: each is made, and synced, at a login. */
const maxFolders = 1000;

/** Longest text of an account, in characters: it stands in each of its events, and no path is longer (PATH_MAX). */
const longestAccountText = 4096;

/** Most that the expressions of an account may cost together (`expressionCost`): a longer path would keep others waiting. */
const maxExpressionCost = 2000;

/** Longest unknown key that is told whole, in characters. */
const longestShownKey = 100;

/** Most unknown keys or bad values that are told of one reply. */
const maxProblems = 20;

// JSON has types: the text spellings of the configuration are not for replies.
const permissions = z
  .union([z.array(z.array(z.string())), z.array(z.enum(permissionKeywords))], {
    error: 'must be a list of lists of permissions, or one list of permissions',
  })
  .superRefine((entries, context) => {
    if (entries.length > maxItems.permissions) context.addIssue(`has more than ${maxItems.permissions} items`);
    const cost = entries.slice(1).reduce((sum, entry) => sum + (Array.isArray(entry) ? expressionCost(entry[0] ?? '') : 0), 0);
    if (cost > maxExpressionCost) context.addIssue('has expressions that would take too long to match');
  })
  .transform((value): unknown[] | string => value)
  .pipe(permissionsOption);
const tooMany = { error: ({ maximum }: { maximum?: unknown }) => `has more than ${maximum} items` };
const shortText = z.string().max(longestAccountText, { error: `has more than ${longestAccountText} characters` });
const absolutePath = shortText.refine(isAbsolute, 'must be an absolute path');
const structure = z
  .array(z.unknown())
  .max(maxItems.homeFolderStructure, tooMany)
  .pipe(structureList)
  .superRefine((entries, context) => {
    const folders = entries.reduce((sum, entry) => sum + entry.split('/').length, 0);
    if (folders > maxFolders) context.addIssue(`names more than ${maxFolders} folders`);
  });

/** The account of a 200 reply (docs/spec/authentication.md#account-of-a-reply): lower-case keys, nothing else. */
const accountReply = z.lazy(() =>
  z.strictObject({
    home_folder_path: absolutePath.optional(),
    uuid: shortText.optional(),
    email: shortText.optional(),
    group: shortText.optional(),
    create_home_folder: z.boolean().optional(),
    create_home_folder_owner: shortText.optional(),
    create_home_folder_group: shortText.optional(),
    home_folder_structure: structure.optional(),
    virtual_folders: z
      .array(z.tuple([z.string(), absolutePath]))
      .max(maxItems.virtualFolders, tooMany)
      .pipe(virtualFoldersOption)
      .optional(),
    permissions: permissions.optional(),
  }),
);
const replyBody = z.strictObject({ account: accountReply.optional() });

/**
 * What a reply of the endpoint means: the one verdict, for logins and for `svc auth-test` (docs/spec/authentication.md#callout-outcome).
 * Pure.
 *
 * @param groupUuids groups that exist
 */
export function judgeReply(reply: CalloutReply, groupUuids: ReadonlySet<string>): AuthResult {
  switch (reply.status) {
    case 204:
      return { outcome: 'authenticated', account: {} };
    case 200:
      return accountVerdict(reply.body, groupUuids);
    case 401:
      return { outcome: 'next', reason: 'The endpoint does not know the credentials (401).' };
    case 403:
      return forbiddenVerdict(reply.body);
    default:
      return { outcome: 'rejected', kind: 'invalid', reason: `The endpoint answered with the status ${reply.status}, which rejects.` };
  }
}

/** Larger replies are not kept, in bytes. */
const largestKeptBytes = 8 * 1024;

/** Names whose last verdict is remembered. */
const maxVerdicts = 1000;

/**
 * Verdicts of one method. A client with Basic is asked about with each request, and the reply is mostly that of before, byte for
 * byte: then the account is the very object of before, and so is what is made of it.
 */
export class Verdicts {
  readonly #groupUuids: ReadonlySet<string>;
  readonly #last = new Map<string, CalloutReply & { verdict: AuthResult }>();

  /** @param groupUuids groups that exist */
  constructor(groupUuids: ReadonlySet<string>) {
    this.#groupUuids = groupUuids;
  }

  /** What a reply about a name means: see `verdictOf`. */
  of(username: string, reply: CalloutReply): AuthResult {
    const { status, body } = reply;
    const last = this.#last.get(username);
    if (last?.status === status && last.body.equals(body)) return last.verdict;
    const verdict = judgeReply(reply, this.#groupUuids);
    this.#last.delete(username);
    if (verdict.outcome !== 'authenticated' || body.length > largestKeptBytes) return verdict;
    this.#last.set(username, { status, body, verdict });
    dropOldest(this.#last, maxVerdicts);
    return verdict;
  }
}

function invalid(
  reason: string,
  configurationFault?: {
    event: typeof eventIds.accountConfigurationBad | typeof eventIds.accountConfigurationUnknownKeys;
    details: unknown;
  },
): AuthResult {
  return { outcome: 'rejected', kind: 'invalid', reason, ...(configurationFault ? { configurationFault } : {}) };
}

function accountVerdict(body: Buffer, groupUuids: ReadonlySet<string>): AuthResult {
  let value: unknown;
  try {
    // The decoder takes a byte order mark away.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    value = text.trim() === '' ? {} : parseJson(text, { maxValues: maxAccountValues });
  } catch (error) {
    if (error instanceof JsonLimitError) return invalid(`The body of the 200 reply is not taken: ${error.message}.`);
    return invalid(`The body of the 200 reply is not UTF-8 JSON: ${(error as Error).message}`);
  }
  const result = replyBody.safeParse(value);
  if (!result.success) {
    const unknownKeys = result.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.slice(0, maxProblems).map((key) => unknownKeyText(issue.path, key)) : [],
    );
    if (unknownKeys.length > 0)
      return invalid(`The 200 reply has unknown keys: ${unknownKeys.join('; ')}`, {
        event: eventIds.accountConfigurationUnknownKeys,
        details: unknownKeys,
      });
    const problems = result.error.issues.slice(0, maxProblems).map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
    return invalid(`The 200 reply has bad values: ${problems.join('; ')}`, { event: eventIds.accountConfigurationBad, details: problems });
  }
  const { account = {} } = result.data;
  if (account.group && !groupUuids.has(account.group)) {
    const details = `account.group: there is no group "${account.group}"`;
    return invalid(`The 200 reply has bad values: ${details}`, { event: eventIds.accountConfigurationBad, details: [details] });
  }
  return { outcome: 'authenticated', account: withoutEmpty(account) };
}

/** An empty list or text is as good as none, so the group's value applies (docs/spec/authentication.md#account-of-a-reply). */
function withoutEmpty(account: z.infer<typeof accountReply>): AccountConfiguration {
  const isGiven = (value: unknown) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(account).filter(([, value]) => isGiven(value)));
}

function unknownKeyText(path: readonly PropertyKey[], key: string): string {
  const known = path.length === 0 ? ['account'] : Object.keys(accountReply.unwrap().shape);
  const nearest = nearestName(key, known);
  const where = [...path, key.length > longestShownKey ? `${key.slice(0, longestShownKey)}…` : key].join('.');
  if (nearest === undefined) return `"${where}" is not known`;
  return nearest === key.toLowerCase()
    ? `"${where}" is not known; keys are lower-case: "${nearest}"`
    : `"${where}" is not known; did you mean "${nearest}"?`;
}

function forbiddenVerdict(body: Buffer): AuthResult {
  const reason = 'The endpoint forbids the account (403).';
  const text = body.toString('utf8').trim();
  let members: Record<string, unknown> | undefined;
  try {
    members = jsonObject(text);
  } catch (error) {
    return { outcome: 'rejected', kind: 'forbidden', reason: `${reason} Its body is left out: ${(error as Error).message}.` };
  }
  if (!members)
    return { outcome: 'rejected', kind: 'forbidden', reason, ...(text === '' ? {} : { response: text.slice(0, longestTextCharacters) }) };
  const shown: PublicFailure = {
    ...(typeof members.message === 'string' ? { message: members.message } : {}),
    ...(members.public_response === undefined ? {} : { public_response: members.public_response }),
  };
  return { outcome: 'rejected', kind: 'forbidden', reason, response: members, public: shown };
}

/** @throws JsonLimitError */
function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonLimitError) throw error;
    return undefined;
  }
}
