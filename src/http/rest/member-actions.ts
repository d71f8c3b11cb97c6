import type { AccountFiles } from '../../files/account-files.ts';
import type { CopyProgress } from '../../files/operations/folder-copy.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { isServiceError, type Problem, ServiceError } from '../../lib/errors.ts';
import { baseName, memberPath, pathFromSegments, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { problemItem } from '../html/problem-message.ts';
import type { CustomTrigger } from '../options.ts';
import { errorsReply, statusCodes } from '../reply/error-reply.ts';
import type { DroppedFile } from '../reply/receipt.ts';
import type { Reply } from '../reply/reply.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { reservedName, targetPath } from '../request/request-target.ts';
import { type HeldResult, heldResult } from './held.ts';

/** Names of the folder commands and form actions that move or copy members to another folder (docs/spec/files.md#folder-commands). */
const transferKinds = ['move', 'copy'] as const;
export type TransferKind = (typeof transferKinds)[number];

interface Transfer {
  kind: TransferKind;
  destination: VirtualPath;
  /** Whether a file may replace an existing file at the destination. */
  overwrite: boolean;
  /** The name at the destination, if it is not the name of the member. */
  newName?: string | undefined;
}

/** Returns whether a command or form action moves or copies members to another folder. */
export function isTransfer(name: string): name is TransferKind {
  return transferKinds.some((kind) => kind === name);
}

/**
 * Returns the folder that the `destination` of a transfer names: `/home/…`, or a path relative to the folder of the request. Like the
 * `target` of a command, it is plain text: names are not percent-encoded.
 * @throws ServiceError `bad-request`, or `name-invalid` for `.` and `..`
 */
export function destinationFolder(folder: VirtualPath, text: string): VirtualPath {
  const names = text.split('/').filter((name) => name !== '');
  const isAbsolute = text.startsWith('/');
  if (names.length === 0) throw new ServiceError('bad-request', 'The destination must be a folder.');
  if (isAbsolute && names.shift() !== 'home') throw new ServiceError('bad-request', 'The destination is outside /home/.');
  const path = pathFromSegments(isAbsolute ? names : [...pathSegments(folder), ...names]);
  if (pathSegments(path)[0] === reservedName) throw new ServiceError('bad-request', 'This name is reserved.');
  return path;
}

/**
 * Moves or copies the named members of a folder to another folder, one after the other. The copy of a folder also yields its progress.
 *
 * @param stop interrupts a copy
 */
export async function* transferMembers(
  files: AccountFiles,
  folder: VirtualPath,
  names: readonly string[],
  transfer: Transfer,
  stop?: AbortSignal,
): AsyncGenerator<MemberResult> {
  for await (const name of cooperatively(names)) {
    try {
      const steps = transferMember(files, targetPath(folder, name), transfer, stop);
      let step = await steps.next();
      for (; !step.done; step = await steps.next()) yield { target: name, problem: undefined, status: 200, progress: step.value };
      yield* outcomes(name, step.value);
    } catch (error) {
      yield memberFailure(name, error);
    }
    if (stop?.aborted) return;
  }
}

/** Moves or copies one member. @throws ServiceError `exists` if the name is taken at the destination */
async function* transferMember(
  files: AccountFiles,
  path: VirtualPath,
  { kind, destination, overwrite, newName }: Transfer,
  stop: AbortSignal | undefined,
): AsyncGenerator<CopyProgress, readonly Problem[]> {
  const to = newName === undefined ? memberPath(destination, baseName(path)) : targetPath(destination, newName);
  const rules = { mayReplace: overwrite ? 'file' : 'nothing', acrossKinds: false } as const;
  try {
    if (kind === 'copy' && files.inspect(path, 'listFolder')?.isFolder) return yield* files.copyFolder(path, to, stop);
    await (kind === 'move' ? files.move(path, to, rules) : files.copyFile(path, to, { ...rules, stop }));
    return [];
  } catch (error) {
    // The client sent no `Overwrite` header, so the fault must not say that a condition failed.
    if (isServiceError(error, 'destination-exists'))
      throw new ServiceError('exists', 'The name is taken at the destination.', { cause: error });
    throw error;
  }
}

/** Returns the custom triggers that the client's group may run, in configured order (service option `triggers`). */
export function allowedTriggers(exchange: Exchange): CustomTrigger[] {
  if (exchange.visit) return [];
  const { groupUuid } = signedIn(exchange).account;
  return exchange.service.options.triggers.filter((trigger) => trigger.groups.length === 0 || trigger.groups.includes(groupUuid));
}

/** Returns the trigger with this exact name, if the client may run it. */
export function findTrigger(exchange: Exchange, name: string): CustomTrigger | undefined {
  return allowedTriggers(exchange).find((trigger) => trigger.name === name);
}

/** The result of a form or folder command for one member of a folder. */
export interface MemberResult {
  target: string;
  /** Undefined if the action succeeded. */
  problem: Problem | undefined;
  status: number;
  /** The held upload, if an inspection holds the file. This does not count as a problem. */
  held?: HeldResult | undefined;
  dropped?: DroppedFile | undefined;
  /** Progress of the action. A result with progress precedes the final one. */
  progress?: CopyProgress;
}

/** Yields a result for each problem of a member, or one successful result if there are no problems. */
function* outcomes(target: string, problems: readonly Problem[]): Generator<MemberResult> {
  if (problems.length === 0) yield { target, problem: undefined, status: 200 };
  else for (const problem of problems) yield { target, problem, status: 422 };
}

/** Builds a JSON reply with an `errors` item for each member, including those without a problem. */
export function memberErrorsReply(exchange: Exchange, status: number, results: readonly MemberResult[]): Reply {
  return errorsReply(
    status,
    results.map(({ target, problem, held }) => ({ ...problemItem(exchange, problem, target), held: held?.id })),
  );
}

/** An action on one member. @returns a problem for each path for which the action failed; for all other paths it succeeded */
type MemberAction = (path: VirtualPath) => Promise<readonly Problem[]>;

/**
 * Runs an action on the named members of a folder, one after the other, and yields their results. An error of one member does not stop the
 * others.
 */
export function eachMember(folder: VirtualPath, names: readonly string[], action: MemberAction): AsyncGenerator<MemberResult> {
  return eachResult(names, (name) => action(targetPath(folder, name)));
}

/** Runs an action on each target, like `eachMember`. */
export async function* eachResult(
  targets: readonly string[],
  action: (target: string) => Promise<readonly Problem[]>,
): AsyncGenerator<MemberResult> {
  for await (const name of cooperatively(targets)) {
    try {
      yield* outcomes(name, await action(name));
    } catch (error) {
      yield memberFailure(name, error);
    }
  }
}

/** Collects all final results, for replies whose status depends on them. */
export async function allResults(results: AsyncIterable<MemberResult>): Promise<MemberResult[]> {
  const all: MemberResult[] = [];
  for await (const result of results) if (!result.progress) all.push(result);
  return all;
}

/** Converts a refusal to the result of a member. @throws other errors unchanged */
export function memberFailure(target: string, error: unknown): MemberResult {
  const held = heldResult(error);
  if (held) return { target, problem: undefined, status: 202, held };
  if (!isServiceError(error) || error.code === 'internal') throw error;
  return { target, problem: error, status: statusCodes[error.code] };
}

/**
 * Deletes a file, or a folder with its content.
 *
 * @param stop interrupts the deletion of a folder
 * @returns a problem for each path that remains
 */
export async function deleteMember(files: AccountFiles, path: VirtualPath, stop?: AbortSignal): Promise<readonly Problem[]> {
  const entry = files.inspect(path, 'deleteMember');
  if (!entry?.isFolder) {
    await files.deleteFile(path);
    return [];
  }
  return files.deleteFolder(path, { stop });
}

/** Restores an item of the trash. @returns the path of the restored item */
export function restoreMember(files: AccountFiles, id: string, wanted?: string): Promise<VirtualPath> {
  const verify = (to: VirtualPath) => {
    if (pathSegments(to)[0] === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  };
  return files.trash.restore(id, verify, wanted);
}

/** Runs a trigger on the named members that exist. */
export async function* runTrigger(
  exchange: Exchange,
  folder: VirtualPath,
  trigger: CustomTrigger,
  names: readonly string[],
): AsyncGenerator<MemberResult> {
  const { files } = signedIn(exchange);
  const checks = eachMember(folder, names, async (path) => {
    if (!files.inspect(path, 'inspectFile')) throw new ServiceError('not-found', 'Path not found.');
    return [];
  });
  const results = await allResults(checks);
  const present = results.filter(({ problem }) => problem === undefined).map(({ target }) => target);
  if (present.length > 0) await files.runTrigger(folder, trigger.name, present);
  yield* results;
}
