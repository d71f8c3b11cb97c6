import { isAbsolute } from 'node:path';
import * as z from 'zod';
import type { AccountConfiguration } from '../accounts/account.ts';
import { permissionsOption, structureList, virtualFoldersOption } from '../accounts/options.ts';
import { expressionCost, permissionKeywords } from '../accounts/permissions.ts';
import { eventIds } from '../events/event-ids.ts';
import { dropOldest } from '../lib/expiring-map.ts';
import { JsonLimitError, parseJson } from '../lib/json.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { readRefusal } from '../lib/remote/refusal-body.ts';
import type { AuthResult } from './auth-method.ts';

/** A reply of the authentication endpoint. */
export interface CalloutReply {
  status: number;
  body: Buffer;
}

/** Maximum number of values in the body of a reply. The check of more values would take noticeable time. */
const maxAccountValues = 20_000;

/**
 * Maximum number of items in the lists of an account. For a request, its path may have to be compared with every rule; at a login, each
 * folder is checked or created.
 */
const maxItems = { permissions: 1000, virtualFolders: 1000, homeFolderStructure: 200 };

/** Maximum number of folders in `homeFolderStructure`, including parents. A login creates and syncs each of them. */
const maxFolders = 1000;

/** Maximum length of a text in an account. No path is longer (PATH_MAX), and some of the texts are in each event of the account. */
const longestAccountText = 4096;

/** Maximum total cost of an account's expressions (`expressionCost`). With more, matching a long path would delay other requests. */
const maxExpressionCost = 2000;

/** Maximum number of characters that are shown of an unknown key, and maximum number of problems that are reported for one reply. */
const longestShownKey = 100;
const maxProblems = 20;

// JSON has types, so a reply cannot use the text notation of the configuration.
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
/**
 * A text that is compared with other texts, and that events contain. So different texts must not become the same bytes in UTF-8. If a
 * receiver of events writes the text into the header of an e-mail, a line break must not add another header.
 */
const plainText = shortText.refine(
  (text) => text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(text),
  'must be valid Unicode without control characters',
);
const absolutePath = shortText.refine(isAbsolute, 'must be an absolute path');
const structure = z
  .array(z.unknown())
  .max(maxItems.homeFolderStructure, tooMany)
  .pipe(structureList)
  .superRefine((entries, context) => {
    const folders = entries.reduce((sum, entry) => sum + entry.split('/').length, 0);
    if (folders > maxFolders) context.addIssue(`names more than ${maxFolders} folders`);
  });

/** The account of a 200 reply (docs/spec/authentication.md#account-of-a-reply). Its keys are in lower case. Unknown keys are errors. */
const accountReply = z.lazy(() =>
  z.strictObject({
    home_folder_path: absolutePath.optional(),
    uuid: plainText.optional(),
    email: plainText.optional(),
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
 * Interprets a reply of the endpoint, for logins and for `svc auth-test` (docs/spec/authentication.md#callout-outcome).
 *
 * @param groupUuids UUIDs of the groups that exist
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
      return {
        outcome: 'rejected',
        kind: 'invalid',
        reason: `The endpoint answered with the status ${reply.status}, so the login is rejected.`,
        fault: { code: 'status', value: String(reply.status) },
      };
  }
}

/** Maximum size in bytes of a reply that is remembered, and maximum number of names whose replies are remembered. */
const largestKeptBytes = 8 * 1024;
const maxVerdicts = 1000;

/**
 * Creates a function like `judgeReply` that also remembers the last accepting reply for each name. With Basic authentication, the endpoint
 * is asked for every request. If its reply is the same as before, the same account object is returned, so that all data derived from that
 * object can be reused.
 */
export function rememberVerdicts(groupUuids: ReadonlySet<string>): (username: string, reply: CalloutReply) => AuthResult {
  const kept = new Map<string, CalloutReply & { verdict: AuthResult }>();
  return (username, { status, body }) => {
    const last = kept.get(username);
    if (last?.status === status && last.body.equals(body)) return last.verdict;
    const verdict = judgeReply({ status, body }, groupUuids);
    kept.delete(username);
    if (verdict.outcome !== 'authenticated' || body.length > largestKeptBytes) return verdict;
    kept.set(username, { status, body, verdict });
    dropOldest(kept, maxVerdicts);
    return verdict;
  };
}

type Rejection = Extract<AuthResult, { outcome: 'rejected' }>;

function invalid(reason: string, configurationFault?: NonNullable<Rejection['configurationFault']>): AuthResult {
  return { outcome: 'rejected', kind: 'invalid', reason, ...(configurationFault && { configurationFault }) };
}

function accountVerdict(body: Buffer, groupUuids: ReadonlySet<string>): AuthResult {
  let value: unknown;
  try {
    // The decoder removes a byte order mark.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    value = text.trim() === '' ? {} : parseJson(text, { maxValues: maxAccountValues });
  } catch (error) {
    if (error instanceof JsonLimitError) return invalid(`The body of the 200 reply cannot be used: ${error.message}.`);
    return invalid(`The body of the 200 reply is not UTF-8 JSON: ${(error as Error).message}`);
  }
  const result = replyBody.safeParse(value);
  if (!result.success) {
    const unknownKeys = result.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.slice(0, maxProblems).map((key) => unknownKeyText(issue.path, key)) : [],
    );
    if (unknownKeys.length > 0) {
      const fault = { event: eventIds.accountConfigurationUnknownKeys, details: unknownKeys };
      return invalid(`The 200 reply has unknown keys: ${unknownKeys.join('; ')}`, fault);
    }
    return badValues(result.error.issues.slice(0, maxProblems).map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`));
  }
  const { account = {} } = result.data;
  if (account.group && !groupUuids.has(account.group)) return badValues([`account.group: there is no group "${account.group}"`]);
  return { outcome: 'authenticated', account: withoutEmpty(account) };
}

function badValues(problems: string[]): AuthResult {
  return invalid(`The 200 reply has bad values: ${problems.join('; ')}`, { event: eventIds.accountConfigurationBad, details: problems });
}

/** Leaves out empty lists and texts, so that the values of the group apply (docs/spec/authentication.md#account-of-a-reply). */
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
  const { response, shown, leftOut } = readRefusal(body);
  return {
    outcome: 'rejected',
    kind: 'forbidden',
    reason: leftOut === undefined ? reason : `${reason} The body of the reply is left out: ${leftOut}.`,
    ...(response !== undefined && { response }),
    ...(shown && { public: shown }),
  };
}
