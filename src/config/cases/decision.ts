import type { Account, LocalAccount } from '../../accounts/account.ts';
import { type CredentialKind, credentialKinds } from '../../accounts/credential-kinds.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import type { PermissionSet } from '../../accounts/permissions.ts';
import { methodsInForce } from '../../auth/options.ts';
import { isHiddenName } from '../../files/disk/temporaries.ts';
import { Mounts } from '../../files/mounts.ts';
import { type ConditionalRight, neededRights, type Operation, type RequestOperations } from '../../files/needed-rights.ts';
import { statusCodes } from '../../http/reply/error-reply.ts';
import { parseRequestTarget, reservedName } from '../../http/request/request-target.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { isWithin, parseVirtualPath, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import type { SshServiceOptions } from '../../ssh/options.ts';
import { keyLineFault } from '../../ssh/public-keys.ts';
import { requiredByGroups } from '../../ssh/required-credentials.ts';
import { loginMethod, operationsOnPath, requestedPath, sftpOperations } from '../../ssh/sftp/request-operations.ts';
import { statusByError } from '../../ssh/sftp/status.ts';
import type { Decision } from '../report-shapes.ts';
import { type Config, takesLocks } from '../schema/schema.ts';
import { type AddStep, accountInForce, localAccount, Refused } from './decision-steps.ts';
import { addInspections } from './inspected.ts';
import { describeToken, type KeptToken, methodRefusal, narrowedBy } from './kept-token.ts';
import { type Acceptance, followLogin } from './login-course.ts';

const move = { source: 'rename', destination: 'rename' } as const;

const overwriting = (end: 'source' | 'destination') =>
  ({
    end,
    purpose: 'replace a file',
    anyOf: end === 'source' ? neededRights.overwriteFile : neededRights.replaceFile,
    isUsual: true,
  }) as const;

/** The operations of each HTTP method on a file. Explanations list the methods in this order. */
const ofFiles: Readonly<Record<string, RequestOperations>> = {
  OPTIONS: {},
  GET: { source: 'readFile' },
  HEAD: { source: 'readFile' },
  PUT: { source: 'createFile', conditional: overwriting('source') },
  DELETE: { source: 'deleteFile' },
  PROPFIND: { source: 'inspectFile' },
  COPY: { source: 'readFile', destination: 'createFile', conditional: overwriting('destination') },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a file', anyOf: neededRights.replaceFile } },
};

const ofFolders: Readonly<Record<string, RequestOperations>> = {
  OPTIONS: {},
  GET: { source: 'listFolder' },
  HEAD: { source: 'listFolder' },
  PUT: { source: 'createFolder' },
  MKCOL: { source: 'createFolder' },
  DELETE: { source: 'deleteFolder', conditional: { end: 'source', purpose: 'delete files in it', anyOf: neededRights.deleteFile } },
  PROPFIND: { source: 'listFolder' },
  MOVE: { ...move, conditional: { end: 'destination', purpose: 'replace a folder', anyOf: neededRights.deleteFolder } },
};

/** Returns the operations of each HTTP method on the URL of a file or folder. */
function requestOperations(isFolder: boolean): Readonly<Record<string, RequestOperations>> {
  return isFolder ? ofFolders : ofFiles;
}

/** The part of a question that describes a login over SSH. */
interface LoginQuestion {
  user: string;
  /** Group of the account, for accounts that only the authentication endpoint knows. */
  group?: string | undefined;
  /** UUID of the SSH service; by default the first one. */
  service?: string | undefined;
  /** Kinds of valid credentials that the client presents, in this order; by default all kinds. */
  credentials?: readonly CredentialKind[] | undefined;
}

/**
 * Explains a login over SSH by the configuration alone. It assumes that the client presents valid credentials of each kind that the account
 * has, and that authentication endpoints accept them.
 *
 * @throws Refused if there is no such service, or if the account cannot log in
 */
function explainLogin(config: Config, question: LoginQuestion, decision: Decision): void {
  const addStep: AddStep = (step, text) => decision.steps.push({ step, ok: true, text });
  const [service, options] = findSshService(config, question.service);
  addStep('service', `${service}, ${options.address}:${options.port}`);
  const chained = withChain(config, options);
  const known = localAccount(chained, question.user);
  addStep('method', describeMethod(chained, question.user, known));
  const account = accountInForce(chained, question, addStep);
  decision.group = account.groupUuid;
  addStep('home', `home folder ${account.homeFolderPath}`);
  const accepted: Acceptance = { group: account.groupUuid, required: account.requiredCredentials };
  const answerTo = (kind: CredentialKind): Acceptance => {
    const refusal = known && lack(known.account, kind);
    return refusal === undefined ? accepted : { refusal };
  };
  const presented = question.credentials ?? credentialKinds;
  const login = followLogin(
    service,
    requiredByGroups(withDefaultGroup(config.groups).values()),
    presented.map((kind) => [kind, answerTo(kind)]),
  );
  for (const { outcome, reason, offered } of login.credentials) {
    const next = outcome === 'partial' ? `; ${offered.join(' or ')} is asked for next` : '';
    decision.steps.push({ step: 'credentials', ok: outcome !== 'refused', text: `${reason}${next}` });
  }
  const last = login.credentials.at(-1);
  decision.login = { ...login, required_credentials: account.requiredCredentials };
  decision.allowed = last?.outcome === 'granted';
  decision.reason = decision.allowed ? null : (last?.reason ?? 'the client presents no credentials');
}

function findSshService(config: Config, wanted: string | undefined): [string, SshServiceOptions] {
  for (const [uuid, service] of Object.entries(config.services))
    if (service.type === 'ssh' && service.enabled && (wanted === undefined || uuid === wanted)) return [uuid, service];
  const what = wanted === undefined ? 'the configuration has no enabled ssh service' : `there is no enabled ssh service "${wanted}"`;
  throw new Refused('service', 'not-found', what);
}

/** Returns the configuration with only the authentication methods that the service uses, in the order in which it asks them. */
function withChain(config: Config, { authentications: order }: SshServiceOptions): Config {
  const all = methodsInForce(config.authentications);
  const ordered = order === null ? all : order.flatMap((uuid) => all.filter(([candidate]) => candidate === uuid));
  // A login over SSH always names an account, so no anonymous method is asked.
  const chain = ordered.filter(([, { enabled, type }]) => enabled && type !== 'anonymous');
  if (chain.length === 0) throw new Refused('method', 'unauthorized', 'the service has no enabled authentication method for logins');
  return { ...config, authentications: Object.fromEntries(chain) };
}

function describeMethod({ authentications }: Config, user: string, known: ReturnType<typeof localAccount>): string {
  const chain = Object.keys(authentications);
  const endpoints = chain.filter((uuid) => authentications[uuid]?.type === 'http');
  if (!known) return endpoints.length > 0 ? `${endpoints[0]} decides` : `${chain.join(', ')}: none has an account "${user}"`;
  const before = endpoints.filter((uuid) => chain.indexOf(uuid) < chain.indexOf(known.method));
  const passing = before.length > 0 ? `; assumed: ${before.join(', ')}, which is asked first, passes the login on (401)` : '';
  return `${known.method} decides${passing}`;
}

/** Explains why a local account has no usable credential of a kind. @returns undefined if it has one */
function lack({ passwordHash, sshKeys }: LocalAccount, kind: CredentialKind): string | undefined {
  if (kind === 'password') return passwordHash === undefined ? 'the account has no password' : undefined;
  if (sshKeys.length === 0) return 'the account has no key';
  const faults = sshKeys.map(keyLineFault);
  return faults.includes(undefined) ? undefined : `the account has no key that can be used: each ${faults[0]}`;
}

/** A question before its check. A login has no path. */
type AskedQuestion = Omit<Question, 'path'> & { path?: string | undefined };

/** Checks a question before `decide` answers it. @throws ServiceError `bad-request` if `decide` cannot answer it */
export function checkQuestion(asked: AskedQuestion): Question {
  const { method, path } = asked;
  const isLogin = method.toUpperCase() === loginMethod;
  if (isLogin && asked.token)
    throw new ServiceError('bad-request', 'LOGIN cannot be combined with a token: over SSH, a client presents a token as the password.');
  if (isLogin !== (path === undefined))
    throw new ServiceError('bad-request', isLogin ? 'LOGIN has no path.' : `The path is missing: name the file or folder for ${method}.`);
  if (method.toUpperCase() === 'POST')
    throw new ServiceError(
      'bad-request',
      'POST runs commands; ask about their effect instead: PUT FOLDER/ to create a folder, DELETE to delete.',
    );
  return { ...asked, path: path ?? '' };
}

/** A question that was checked. Only a login has `service` and `credentials`. */
export interface Question extends LoginQuestion {
  /** An HTTP method, an SFTP request, or `LOGIN`. */
  method: string;
  /** URL path (`/home/…`) or SFTP path; empty for a login. */
  path: string;
  /** URL path of the `Destination` header, or the new path of an SFTP rename. */
  destination?: string | undefined;
  /** The token with which the account logs in. */
  token?: KeptToken | undefined;
}

/**
 * Decides about a request by the configuration alone, without reading served files and without asking authentication endpoints. Unless
 * the request is `LOGIN`, the account is assumed to have logged in.
 *
 * @throws ServiceError `unavailable` if the accounts file cannot be used
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
    const status = isSftpRequest(made.method) ? statusByError[error.code] : statusCodes[error.code];
    return { ...made, allowed: false, status: isLogin ? null : status, reason: error.message };
  }
  return made;
}

function follow(config: Config, question: Question, decision: Decision): void {
  const addStep: AddStep = (step, text) => decision.steps.push({ step, ok: true, text });
  const isSftp = isSftpRequest(decision.method);
  const parseTarget = isSftp ? parseSftpTarget : parseHttpTarget;
  const target = parseTarget(question.path);
  addStep('request', `${decision.method} of ${isSftp ? '' : target.isFolder ? 'the folder ' : 'the file '}${target.path}`);
  const whole = accountInForce(config, question, addStep);
  const account = question.token ? byToken(config, whole, question.token, addStep) : whole;
  decision.group = account.groupUuid;
  addStep('home', `home folder ${account.homeFolderPath}`);
  if (target.isReserved) throw new Refused('request', 'name-reserved', `URLs below /home/${reservedName} are the service's own`);
  const mounts = new Mounts(account, []);
  const operations: Readonly<Record<string, RequestOperations>> = isSftp
    ? operationsOnPath(target.isFolder)
    : requestOperations(target.isFolder);
  const needs = Object.hasOwn(operations, decision.method) ? operations[decision.method] : undefined;
  if (!needs) {
    const kind = target.isFolder ? 'folder' : 'file';
    const problem = `${decision.method} is not supported on a ${kind}; supported are ${Object.keys(operations).join(', ')}`;
    throw new Refused('request', 'method-not-allowed', problem);
  }
  addMount(account, mounts, target.path, decision, addStep);
  if (needs.source) checkRights(account, target.path, needs.source, decision, addStep);
  const { conditional } = needs;
  if (conditional?.end === 'source') addRight(account, target.path, conditional, addStep);
  if (needs.source === 'createFile') addFate(account, target.path, conditional, addStep);
  checkPlace(mounts, decision.method, target);
  const addJudged = (destination?: VirtualPath) =>
    addInspections({ account, mounts, needs, path: target.path, destination, isFolder: target.isFolder }, decision, addStep);
  if (!needs.destination) {
    addJudged();
    return;
  }
  if (question.destination === undefined) throw new Refused('request', 'bad-request', `${decision.method} needs a destination`);
  const destination = parseTarget(question.destination);
  checkRights(account, destination.path, needs.destination, decision, addStep);
  if (conditional?.end === 'destination') addRight(account, destination.path, conditional, addStep);
  if (needs.destination === 'createFile') addFate(account, destination.path, undefined, addStep);
  if (!isSftp && destination.isFolder && !target.isFolder && !takesLocks(config))
    throw new Refused('request', 'exists', 'the destination of a file must not end in "/"');
  addJudged(destination.path);
}

/** Limits an account to the rights of its token. @throws Refused if the token is not valid for the account */
function byToken(config: Config, account: Account, token: KeptToken, addStep: AddStep): Account {
  const isOthers = token.grant.account.name !== account.name || token.grant.account.uuid !== account.uuid;
  const isOff = account.tokens.enabled ? undefined : 'the account has no tokens (option "tokens")';
  const refusal =
    token.over ??
    (isOthers ? 'the token belongs to another account' : methodRefusal(token.grant, methodsInForce(config.authentications))) ??
    isOff;
  if (refusal !== undefined) throw new Refused('token', 'unauthorized', refusal);
  addStep('token', describeToken(token));
  return narrowedBy(account, token);
}

interface Target {
  path: VirtualPath;
  isFolder: boolean;
  isReserved?: boolean;
}

/** Whether a method is an SFTP request. */
export function isSftpRequest(method: string): boolean {
  return Object.hasOwn(sftpOperations, method);
}

/** Parses an SFTP path. The disk is not read, so a path is a folder only if it ends with a slash. */
function parseSftpTarget(path: string): Target {
  try {
    return { path: requestedPath(path), isFolder: path.endsWith('/') };
  } catch (error) {
    if (isServiceError(error)) throw new Refused('request', error.code, error.message);
    throw error;
  }
}

/**
 * Parses the path of a URL. Reserved URLs are refused later, in `follow`: like the service, it finds the account before it refuses them.
 *
 * @throws Refused if `path` is not the URL path of a file or folder
 */
function parseHttpTarget(path: string): Target {
  try {
    const target = parseRequestTarget(path);
    if (target.kind === 'member') return target;
    if (target.kind === 'account-service')
      return { path: parseVirtualPath(`/${reservedName}`), isFolder: path.endsWith('/'), isReserved: true };
    throw new Refused('request', 'not-found', `${path} is not the URL of a file or folder; such URLs begin with /home/`);
  } catch (error) {
    if (isServiceError(error)) throw new Refused('request', error.code, error.message);
    throw error;
  }
}

function addMount(account: Account, mounts: Mounts, path: VirtualPath, decision: Decision, addStep: AddStep): void {
  if (pathSegments(path).some(isHiddenName))
    throw new Refused('mount', 'name-reserved', 'the name is reserved for unfinished uploads and removed files');
  const location = mounts.locate(path);
  if (location.kind !== 'real') {
    addStep('mount', `${location.kind === 'virtual' ? 'a' : 'below a'} folder that only holds virtual folders`);
    return;
  }
  decision.real_path = location.realPath;
  const mount = account.virtualFolders.toSorted((a, b) => b.path.length - a.path.length).find((folder) => isWithin(path, folder.path));
  addStep('mount', `${mount ? `virtual folder ${mount.path}` : 'home folder'}: ${location.realPath}`);
}

function checkRights(account: Account, path: VirtualPath, operation: Operation, decision: Decision, addStep: AddStep): void {
  const anyOf = neededRights[operation];
  const set = account.permissions.setAt(path);
  decision.rule = set.expression ?? 'general';
  addStep('rule', `${path}: ${describeRule(set)}`);
  // Either of two rights is enough to create a file. The message names only the more usual one.
  const names = operation === 'createFile' ? ['allow-write'] : anyOf.map((right) => `allow-${right}`);
  const granted = anyOf.find((right) => account.permissions.allows(path, right));
  if (granted === undefined) {
    const isLeftOut = account.grant !== undefined && anyOf.some((right) => set.grants(right));
    const why = isLeftOut ? 'the account has this right, but the token does not' : 'is not granted';
    throw new Refused('permission', 'forbidden', `${path}: ${names.join(' or ')}${isLeftOut ? ':' : ''} ${why}`);
  }
  addStep('permission', `${path}: allow-${granted} is granted`);
}

function addRight(account: Account, path: VirtualPath, { purpose, anyOf, isUsual }: ConditionalRight, addStep: AddStep): void {
  const granted = anyOf.find((right) => account.permissions.allows(path, right));
  if (isUsual && granted) return;
  const names = anyOf.map((right) => `allow-${right}`).join(' or ');
  addStep('permission', `${path}: to ${purpose}: ${granted ? `allow-${granted} is granted` : `${names} is not granted`}`);
}

/**
 * Adds steps that explain what happens if the name of a new file already exists, and how long the file is retained.
 *
 * @param overwriting the right to replace an existing file; undefined to add no step about taken names
 */
function addFate(account: Account, path: VirtualPath, overwriting: ConditionalRight | undefined, addStep: AddStep): void {
  const { permissions, onNameTaken, retainDays } = account;
  const mayReplace = !overwriting || permissions.allowsAny(path, overwriting.anyOf);
  if (!mayReplace)
    addStep(
      'permission',
      `${path}: if the name is taken, ${onNameTaken === 'number' ? 'the new file gets a number' : 'the new file is refused (403)'}`,
    );
  if (retainDays > 0) addStep('permission', `${path}: the new file is retained for ${retainDays} ${retainDays === 1 ? 'day' : 'days'}`);
}

function describeRule({ index, expression, permissions }: PermissionSet): string {
  const keywords = permissions.length === 0 ? 'nothing' : permissions.join(', ');
  return index === undefined
    ? `no rule matches; the general set has ${keywords}`
    : `rule ${index} "${expression}" matches; it has ${keywords}`;
}

// Called after the check of permissions, as in files/account-files.ts, so that a refusal does not reveal which paths exist.
function checkPlace(mounts: Mounts, method: string, { path, isFolder }: { path: VirtualPath; isFolder: boolean }): void {
  const { kind, isFixed } = mounts.locate(path);
  const creates = ['PUT', 'MKCOL', 'OPEN-WRITE', 'MKDIR'].includes(method);
  const takesAway = ['DELETE', 'MOVE', 'REMOVE', 'RMDIR', 'RENAME', 'POSIX-RENAME'].includes(method);
  const fixed = 'the home folder, virtual folders and their parents';
  if (isFixed && creates) throw new Refused('mount', isFolder || method === 'MKDIR' ? 'exists' : 'is-folder', `${fixed} already exist`);
  if (isFixed && takesAway) throw new Refused('mount', 'forbidden', `${fixed} cannot be deleted or moved`);
  if (kind === 'nowhere')
    throw new Refused('mount', creates ? 'forbidden' : 'not-found', 'the folder above holds virtual folders and nothing else');
}
