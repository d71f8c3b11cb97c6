import * as z from 'zod';
import { type Account, AccountError, effectiveAccount } from '../../accounts/account.ts';
import { AccountsFile } from '../../accounts/accounts-file.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import type { PermissionSet } from '../../accounts/permissions.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { accountsFilePath, methodsInForce } from '../../auth/options.ts';
import { isHiddenName } from '../../files/disk/temporaries.ts';
import { Mounts } from '../../files/mounts.ts';
import { type ConditionalRight, neededRights, type Operation, type RequestOperations } from '../../files/needed-rights.ts';
import { operationsOf } from '../../http/method-operations.ts';
import { statusOf } from '../../http/reply/error-reply.ts';
import { parseRequestTarget, reservedName } from '../../http/request/request-target.ts';
import { systemClock } from '../../lib/clock.ts';
import { type ErrorCode, isServiceError } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import { isWithin, parseVirtualPath, segmentsOf, type VirtualPath } from '../../lib/virtual-path.ts';
import { sftpOperations, sftpOperationsOf } from '../../ssh/sftp/request-operations.ts';
import { requestedPath } from '../../ssh/sftp/requested-path.ts';
import { statusCodeOf } from '../../ssh/sftp/status.ts';
import type { Config } from '../schema/schema.ts';
import { isHttpService } from '../schema/services.ts';

/** Where in a decision something was found. */
type StepName = Decision['steps'][number]['step'];

/** Ends a decision with a refusal. */
class Refused extends Error {
  readonly code: ErrorCode;
  readonly step: StepName;

  constructor(step: StepName, code: ErrorCode, message: string) {
    super(message);
    this.step = step;
    this.code = code;
  }
}

/** Takes one step of a decision that holds. */
type Note = (step: StepName, text: string) => void;

/** What is asked. */
export interface Question {
  user: string;
  /** Group of an account that only the callout knows. */
  group?: string | undefined;
  /** Of HTTP, or the name of a request of SFTP. */
  method: string;
  /** Path of the URL: `/home/…`; of SFTP the path that the client names. */
  path: string;
  /** Path of the URL in `Destination`, for COPY and MOVE; that of the new name, for renames. */
  destination?: string | undefined;
}

/** Whether the configuration lets a request through, and why. Names are those of `--json`. */
export const decision = z.strictObject({
  user: z.string(),
  method: z.string(),
  path: z.string(),
  allowed: z.boolean(),
  status: z.int().nullable().describe('Status of the refusal, of HTTP or of SFTP.'),
  reason: z.string().nullable().describe('Why it is refused.'),
  group: z.string().nullable(),
  real_path: z.string().nullable(),
  rule: z.string().nullable().describe('The set of permissions that decided: general, or the expression of a rule.'),
  steps: z.array(
    z.strictObject({
      step: z.enum(['request', 'account', 'group', 'home', 'mount', 'rule', 'permission']),
      ok: z.boolean(),
      text: z.string().describe('For people.'),
    }),
  ),
});

export type Decision = z.infer<typeof decision>;

/**
 * Decides about a request by the configuration alone: neither the disk nor an authentication endpoint is asked, and the
 * account counts as logged in.
 *
 * @throws ServiceError `unavailable` when the accounts file cannot be used
 */
export function decide(config: Config, question: Question): Decision {
  const made: Decision = {
    user: question.user,
    method: question.method.toUpperCase(),
    path: question.path,
    allowed: true,
    status: null,
    reason: null,
    group: null,
    real_path: null,
    rule: null,
    steps: [],
  };
  try {
    follow(config, question, made);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    made.steps.push({ step: error.step, ok: false, text: error.message });
    const status = isOfSftp(made.method) ? statusCodeOf[error.code] : statusOf[error.code];
    return { ...made, allowed: false, status, reason: error.message };
  }
  return made;
}

function follow(config: Config, question: Question, decision: Decision): void {
  const note = (step: StepName, text: string) => decision.steps.push({ step, ok: true, text });
  const isSftp = isOfSftp(decision.method);
  const targetOf = isSftp ? sftpMemberOf : memberOf;
  const target = targetOf(question.path);
  const kind = isSftp ? '' : target.isFolder ? 'the folder ' : 'the file ';
  note('request', `${decision.method} of ${kind}${target.path}`);
  const account = accountInForce(config, question, note);
  decision.group = account.groupUuid;
  note('home', `home folder ${account.homeFolderPath}`);
  if (target.isReserved) throw new Refused('request', 'name-reserved', `URLs below /home/${reservedName} are the service's own`);
  const mounts = new Mounts(account, []);
  const operations: Readonly<Record<string, RequestOperations>> = isSftp
    ? sftpOperationsOf(target.isFolder)
    : operationsOf(target.isFolder);
  const needs = Object.hasOwn(operations, decision.method) ? operations[decision.method] : undefined;
  if (!needs) {
    const allow = Object.keys(operations).join(', ');
    throw new Refused(
      'request',
      'method-not-allowed',
      `${decision.method} is not supported on a ${target.isFolder ? 'folder' : 'file'}; ${allow} are`,
    );
  }
  notePlace(account, mounts, target.path, decision, note);
  if (needs.source) checkRights(account, target.path, needs.source, decision, note);
  const { conditional } = needs;
  if (conditional?.end === 'source') noteRight(account, target.path, conditional, note);
  checkPlace(mounts, decision.method, target);
  if (!needs.destination) return;
  if (question.destination === undefined) throw new Refused('request', 'bad-request', `${decision.method} needs a destination`);
  const destination = targetOf(question.destination);
  checkRights(account, destination.path, needs.destination, decision, note);
  if (conditional?.end === 'destination') noteRight(account, destination.path, conditional, note);
  const isCompatible = Object.values(config.services).some((service) => isHttpService(service) && service.webdav_compatibility);
  if (!isSftp && destination.isFolder && !target.isFolder && !isCompatible)
    throw new Refused('request', 'exists', 'the destination of a file must not end in "/"');
}

/** What a decision is about. */
interface Target {
  path: VirtualPath;
  isFolder: boolean;
  isReserved?: boolean;
}

function isOfSftp(method: string): boolean {
  return Object.hasOwn(sftpOperations, method);
}

/** Only the disk could tell for sure of what kind it is. */
function sftpMemberOf(path: string): Target {
  try {
    return { path: requestedPath(path), isFolder: path.endsWith('/') };
  } catch (error) {
    if (isServiceError(error)) throw new Refused('request', error.code, error.message);
    throw error;
  }
}

/** @throws Refused for what is no file or folder URL; the service's own URLs are refused after the account, as it does */
function memberOf(path: string): Target {
  try {
    const target = parseRequestTarget(path);
    if (target.kind === 'member') return target;
    if (target.kind === 'account-service')
      return { path: parseVirtualPath(`/${reservedName}`), isFolder: path.endsWith('/'), isReserved: true };
    throw new Refused('request', 'not-found', `${path} is no file or folder URL; those begin with /home/`);
  } catch (error) {
    if (isServiceError(error)) throw new Refused('request', error.code, error.message);
    throw error;
  }
}

function notePlace(account: Account, mounts: Mounts, path: VirtualPath, decision: Decision, note: Note): void {
  if (segmentsOf(path).some(isHiddenName))
    throw new Refused('mount', 'name-reserved', 'the name is reserved for unfinished uploads and removed files');
  const location = mounts.locate(path);
  if (location.kind !== 'real') {
    note(
      'mount',
      location.kind === 'virtual' ? 'a folder that only holds virtual folders' : 'below a folder that only holds virtual folders',
    );
    return;
  }
  decision.real_path = location.realPath;
  const mount = account.virtualFolders.toSorted((a, b) => b.path.length - a.path.length).find((folder) => isWithin(path, folder.path));
  note('mount', `${mount ? `virtual folder ${mount.path}` : 'home folder'}: ${location.realPath}`);
}

function checkRights(account: Account, path: VirtualPath, operation: Operation, decision: Decision, note: Note): void {
  const anyOf = neededRights[operation];
  const set = account.permissions.setAt(path);
  decision.rule = set.expression ?? 'general';
  note('rule', `${path}: ${ruleText(set)}`);
  const names = anyOf.map((right) => `allow-${right}`);
  const granted = anyOf.find((right) => account.permissions.allows(path, right));
  if (granted === undefined) throw new Refused('permission', 'forbidden', `${path}: ${names.join(' or ')} is not granted`);
  note('permission', `${path}: allow-${granted} is granted`);
}

function noteRight(account: Account, path: VirtualPath, { purpose, anyOf }: ConditionalRight, note: Note): void {
  const granted = anyOf.find((right) => account.permissions.allows(path, right));
  const names = anyOf.map((right) => `allow-${right}`).join(' or ');
  note('permission', `${path}: to ${purpose}: ${granted ? `allow-${granted} is granted` : `${names} is not granted`}`);
}

function ruleText({ index, expression, permissions }: PermissionSet): string {
  const keywords = permissions.length === 0 ? 'nothing' : permissions.join(', ');
  return index === undefined
    ? `no rule matches; the general set has ${keywords}`
    : `rule ${index} "${expression}" matches; it has ${keywords}`;
}

// After the permissions, as in files/account-files.ts: a refusal tells nothing about what exists.
function checkPlace(mounts: Mounts, method: string, { path, isFolder }: { path: VirtualPath; isFolder: boolean }): void {
  const { kind, isFixed } = mounts.locate(path);
  const creates = ['PUT', 'MKCOL', 'OPEN-WRITE', 'MKDIR'].includes(method);
  const takesAway = ['DELETE', 'MOVE', 'REMOVE', 'RMDIR', 'RENAME', 'POSIX-RENAME'].includes(method);
  if (isFixed && creates)
    throw new Refused(
      'mount',
      isFolder || method === 'MKDIR' ? 'exists' : 'is-folder',
      'the home folder, virtual folders and their parents are there already',
    );
  if (isFixed && takesAway)
    throw new Refused('mount', 'forbidden', 'the home folder, virtual folders and their parents cannot be deleted or moved');
  if (kind === 'nowhere')
    throw new Refused('mount', creates ? 'forbidden' : 'not-found', 'the folder above holds virtual folders and nothing else');
}

/**
 * The account as it would be in force after a login.
 *
 * @throws Refused when nobody could log in with it
 */
function accountInForce(config: Config, question: { user: string; group?: string | undefined }, note: Note): Account {
  const groups = withDefaultGroup(config.groups);
  if (!isUserName(question.user)) throw new Refused('account', 'unauthorized', 'no method is asked about such an account name');
  const known = localAccount(config, question.user);
  const anonymous = Object.entries(config.authentications).find(([, method]) => method.type === 'anonymous' && method.enabled)?.[1];
  if (known && !known.account.enabled) throw new Refused('account', 'unauthorized', `the account "${question.user}" is disabled`);
  if (known) note('account', `account "${question.user}" of ${known.where}`);
  else if (question.user === 'anonymous' && anonymous) note('account', 'requests without credentials');
  else if (Object.values(config.authentications).some((method) => method.type === 'http' && method.enabled))
    note('account', `"${question.user}" is no local account; taken as accepted by the authentication endpoint with 204`);
  else throw new Refused('account', 'unauthorized', `nobody knows the account "${question.user}"`);
  const ofMethod = anonymous?.type === 'anonymous' && question.user === 'anonymous' && !known ? { group: anonymous.group } : {};
  const configuration = {
    ...known?.account.configuration,
    ...ofMethod,
    ...(question.group === undefined ? {} : { group: question.group }),
  };
  try {
    const account = effectiveAccount(question.user, configuration, groups, { uuid: 'svc-explain', type: 'application' });
    note('group', `group "${account.groupUuid}"${configuration.group ? '' : ', the default'}`);
    return account;
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    throw new Refused(error.problem.startsWith('group') ? 'group' : 'home', 'unauthorized', error.message);
  }
}

/** An account of the configuration or of an accounts file. */
export function localAccount(config: Config, name: string) {
  for (const [, method] of methodsInForce(config.authentications)) {
    if (method.type !== 'application' || !method.enabled) continue;
    const file = accountsFilePath(method, config.server.data_folder_path);
    const account = new AccountsFile(file, config.accounts, systemClock, silentLog).find(name);
    if (account) return { account, where: Object.hasOwn(config.accounts, name) ? 'the configuration' : file };
  }
  return undefined;
}
