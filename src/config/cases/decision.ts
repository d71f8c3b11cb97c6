import type { Account } from '../../accounts/account.ts';
import type { PermissionSet } from '../../accounts/permissions.ts';
import { isHiddenName } from '../../files/disk/temporaries.ts';
import { Mounts } from '../../files/mounts.ts';
import { type ConditionalRight, neededRights, type Operation, type RequestOperations } from '../../files/needed-rights.ts';
import { operationsOf } from '../../http/method-names.ts';
import { statusOf } from '../../http/reply/error-reply.ts';
import { parseRequestTarget, reservedName } from '../../http/request/request-target.ts';
import { isServiceError } from '../../lib/errors.ts';
import { isWithin, parseVirtualPath, segmentsOf, type VirtualPath } from '../../lib/virtual-path.ts';
import { loginMethod, sftpOperations, sftpOperationsOf } from '../../ssh/sftp/request-operations.ts';
import { requestedPath } from '../../ssh/sftp/requested-path.ts';
import { statusCodeOf } from '../../ssh/sftp/status.ts';
import type { Config } from '../schema/schema.ts';
import { takesLocks } from '../schema/services.ts';
import { accountInForce } from './account-in-force.ts';
import { type Decision, type Note, Refused } from './decision-steps.ts';
import { explainLogin, type LoginQuestion } from './login-decision.ts';

/** What is asked; `service` and `credentials` of a login alone. */
export interface Question extends LoginQuestion {
  /** Of HTTP, the name of a request of SFTP, or `LOGIN`. */
  method: string;
  /** Path of the URL: `/home/…`; of SFTP the path that the client names; empty for a login. */
  path: string;
  /** Path of the URL in `Destination`, for COPY and MOVE; that of the new name, for renames. */
  destination?: string | undefined;
}

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
  const isLogin = made.method === loginMethod;
  try {
    if (isLogin) explainLogin(config, question, made);
    else follow(config, question, made);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    made.steps.push({ step: error.step, ok: false, text: error.message });
    const status = isOfSftp(made.method) ? statusCodeOf[error.code] : statusOf[error.code];
    return { ...made, allowed: false, status: isLogin ? null : status, reason: error.message };
  }
  return made;
}

function follow(config: Config, question: Question, decision: Decision): void {
  const note: Note = (step, text) => decision.steps.push({ step, ok: true, text });
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
  if (!isSftp && destination.isFolder && !target.isFolder && !takesLocks(config))
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
