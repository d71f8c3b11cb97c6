import { createHash } from 'node:crypto';
import { closeSync, constants, lstatSync, openSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import { readChunks } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { mediaTypeByName } from '../../lib/media-types.ts';
import { baseName, memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { isTemporaryName } from '../disk/temporaries.ts';
import type { Gate, GateOptions, HiddenContent, Leave, MovableContent } from './holding.ts';
import type { InspectedContent, Judgement, Verdict } from './verdict.ts';

/** Whether an error says that an upload is held: it waits for a review, or for inspections that take long. */
export function isHeld(error: unknown): error is ServiceError {
  return isServiceError(error) && typeof error.details.held_id === 'string';
}

/**
 * Returns the UUIDs of the inspections that apply to a file. The rules of all virtual paths that lead to the file are combined.
 *
 * @param realPath real path of the file, with the symbolic links of its folder resolved
 */
export function neededInspections(
  { account, mounts }: Pick<AccountPaths, 'account' | 'mounts'>,
  path: VirtualPath,
  realPath: string,
): ReadonlySet<string> {
  const { inspections } = account;
  if (inspections.isEmpty) return new Set();
  return new Set([path, ...mounts.virtualPathsOf(realPath)].flatMap((one) => inspections.at(one)));
}

/**
 * Creates the gate of an upload: a function that inspects the complete content before the content gets its final name.
 *
 * @param path returns the final path of the file, which may change during the upload
 * @returns undefined if no files of the account are inspected
 */
export function uploadGate(paths: AccountPaths, path: () => VirtualPath, options: GateOptions = {}): Gate | undefined {
  if (paths.account.inspections.isEmpty) return undefined;
  return async (content) => {
    const { held } = paths.environment;
    const target = () => `${content.folder()}/${content.name}`;
    const uuids = neededInspections(paths, path(), target());
    const leave: Leave = {
      recheck: recheckFor(paths, path, content, uuids),
      given: async () => {
        if (uuids.size > 0) await held.supersede(target(), undefined);
      },
    };
    if (uuids.size === 0) return leave;
    if (options.isPartial) throw new ServiceError('unprocessable', 'A part of a file cannot be inspected.');
    const inspected = inspectedContent(paths, path(), content, options);
    const judgement = await judgeContent(paths, path(), inspected, uuids, true);
    switch (judgement.outcome) {
      case 'accept':
        return leave;
      case 'refuse':
        throw refusal(judgement.by);
      case 'hold':
        throw await held.hold({ paths, path: path(), content, inspected, judgement, uuids, options });
      default:
        return judgement satisfies never;
    }
  };
}

/**
 * Returns a function that checks a new name. The function throws if the name requires an inspection that the file has not passed.
 *
 * @param uuids UUIDs of the inspections that the file has passed
 */
export function recheckFor(
  paths: AccountPaths,
  path: () => VirtualPath,
  content: Pick<HiddenContent, 'folder'>,
  uuids: ReadonlySet<string>,
): Leave['recheck'] {
  return (name) => {
    const folder = content.folder();
    // A temporary name in the path means that the folder is being moved. The new path may require more inspections.
    const isMoving = folder.split('/').some(isTemporaryName);
    if (
      isMoving ||
      [...neededInspections(paths, memberPath(parentPath(path()), name), `${folder}/${name}`)].some((uuid) => !uuids.has(uuid))
    )
      throw new ServiceError('unavailable', 'The inspections of the path have changed meanwhile; try again.');
    return folder;
  };
}

/** Creates the gate for content that was already inspected. @param uuids UUIDs of the inspections that the content has passed */
export function passedGate(paths: AccountPaths, path: VirtualPath, uuids: ReadonlySet<string>): Gate {
  return async (content) => ({ recheck: recheckFor(paths, () => path, content, uuids), given: async () => {} });
}

/** Size of a chunk in bytes. Only one chunk is in memory at a time. */
const chunkBytes = 256 * 1024;

/** Lets inspections read the content of a hidden file, several times if necessary. */
export function inspectedContent(
  { account, context, environment }: AccountPaths,
  path: VirtualPath,
  content: Pick<HiddenContent, 'folder' | 'hiddenName' | 'sizeBytes' | 'modifiedMs' | 'current'>,
  { metadata = {}, toldAs }: GateOptions,
): MovableContent {
  const told = toldAs === undefined ? path : memberPath(parentPath(path), toldAs);
  let realPath = `${content.folder()}/${content.hiddenName}`;
  const { sizeBytes, modifiedMs } = content;
  const { uuid, name } = environment.held.server;
  let digest: Promise<Buffer> | undefined;
  async function* chunks(): AsyncGenerator<Buffer> {
    const fd = openSync(realPath, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      let left = sizeBytes;
      for await (const chunk of readChunks(fd, Math.min(sizeBytes, chunkBytes))) {
        yield chunk.subarray(0, left);
        left -= Math.min(left, chunk.length);
        if (left === 0) return;
      }
      if (left > 0) throw new Error('the file is shorter than its recorded size');
    } finally {
      closeSync(fd);
    }
  }
  const sha256 = async () => {
    const hash = createHash('sha256');
    for await (const chunk of chunks()) hash.update(chunk);
    return hash.digest();
  };
  return {
    sizeBytes,
    mediaType: mediaTypeByName(baseName(told)),
    realPath: () => realPath,
    chunks,
    sha256: () => {
      digest ??= sha256();
      return digest;
    },
    facts: {
      file: { path: told, name: baseName(told), modified: modifiedMs / 1000, metadata, replaces: content.current() !== undefined },
      account: { username: account.name, uuid: account.uuid, group: account.groupUuid },
      client: { address: context.account.peer.address },
      creator: { uuid: context.component.uuid, type: context.component.type },
      server: { uuid, name },
    },
    moveTo(path) {
      realPath = path;
    },
  };
}

/** Runs inspections on content. Emits the events about failures and a refusal. @throws ServiceError `unavailable` if the service stops */
export async function judgeContent(
  paths: AccountPaths,
  path: VirtualPath,
  content: InspectedContent,
  uuids: ReadonlySet<string>,
  isWaitedFor: boolean,
): Promise<Judgement> {
  const judgement = await paths.environment.held.inspections.judge([...uuids], content, paths.account.uuid, isWaitedFor);
  if (!judgement) throw new ServiceError('unavailable', 'The service stops; try again.');
  await tellVerdicts(paths, path, judgement);
  return judgement;
}

/** Emits one event for each inspection that failed, and one for a refusal. */
export async function tellVerdicts(paths: AccountPaths, path: VirtualPath, judgement: Judgement): Promise<void> {
  for (const { verdict, inspection, message } of judgement.verdicts)
    if (verdict === 'failure') paths.emit(eventIds.inspectionFailed, path, { inspection, details: message });
  if (judgement.outcome !== 'refuse') return;
  const { inspection, message, response } = judgement.by;
  await paths.emitDurable(eventIds.uploadRefused, path, { inspection, message, response });
}

/** Creates the error for a refused file. The error contains the message of the inspection only if `public_error` allows that. */
export function refusal({ inspection, shown }: Pick<Verdict, 'inspection' | 'shown'>): ServiceError {
  return new ServiceError('unprocessable', 'An inspection refused the file.', { details: { inspection, public_refusal: shown ?? {} } });
}

/**
 * Returns a text that identifies the state of the file at a path. When a held upload with conditions is released, it replaces the file only
 * if the file is still in the same state.
 */
export function stateAt(realPath: string): string {
  const stats = lstatSync(realPath, { throwIfNoEntry: false });
  return stats ? `${stats.dev}-${stats.ino}-${stats.size}-${stats.mtimeMs}` : '';
}
