import type { AccountFiles } from '../../files/account-files.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { inTurns } from '../../lib/in-turns.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { CustomTrigger } from '../options.ts';
import { statusOf } from '../reply/error-reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { targetPath } from '../request/request-target.ts';

/** What became of one member of a folder that a form or a folder command names. */
export interface MemberResult {
  target: string;
  /** What went wrong; null for a success. */
  message: string | null;
  status: number;
}

/** @returns a message for each thing that went wrong although the rest was done */
type MemberAction = (path: VirtualPath) => Promise<string[]>;

/** Does something with each named member of a folder in turn; a fault of one does not keep the others from their turn. */
export async function eachMember(folder: VirtualPath, names: readonly string[], action: MemberAction): Promise<MemberResult[]> {
  const results: MemberResult[] = [];
  for await (const name of inTurns(names)) {
    try {
      const messages = await action(targetPath(folder, name));
      if (messages.length === 0) results.push({ target: name, message: null, status: 200 });
      results.push(...messages.map((message) => ({ target: name, message, status: 422 })));
    } catch (error) {
      results.push(memberFailure(name, error));
    }
  }
  return results;
}

/** A fault as the result of a member. @throws the fault again where it is no refusal but something that broke */
export function memberFailure(target: string, error: unknown): MemberResult {
  if (!isServiceError(error) || error.code === 'internal') throw error;
  return { target, message: error.message, status: statusOf[error.code] };
}

/** Deletes a file, or a folder with all it holds. @returns a message for each path that was left */
export async function deleteMember(files: AccountFiles, path: VirtualPath): Promise<string[]> {
  const entry = files.look(path, ['delete-file', 'delete-folder']);
  if (!entry?.isFolder) {
    await files.deleteFile(path);
    return [];
  }
  const left = await files.deleteFolder(path);
  return left.map((item) => `${item.relativePath}: ${item.message}`);
}

/** Runs a trigger on those of the named members that are there. */
export async function runTrigger(
  exchange: Exchange,
  folder: VirtualPath,
  trigger: CustomTrigger,
  names: readonly string[],
): Promise<MemberResult[]> {
  const { files } = clientOf(exchange);
  const results = await eachMember(folder, names, async (path) => {
    if (!files.look(path, ['read', 'list'])) throw new ServiceError('not-found', 'Path not found.');
    return [];
  });
  const present = results.filter(({ message }) => message === null).map(({ target }) => target);
  if (present.length > 0) await files.runTrigger(folder, trigger.name, present);
  return results;
}
