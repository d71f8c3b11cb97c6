import type { AccountFiles } from '../../files/account-files.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, memberPath, segmentsOf, type VirtualPath, virtualPathOf } from '../../lib/virtual-path.ts';
import { reservedName } from '../request/request-target.ts';

/** What takes members of a folder to another one, as folder command and as action of a form (docs/spec/files.md#folder-commands). */
const transferKinds = ['move', 'copy'] as const;
export type TransferKind = (typeof transferKinds)[number];

/** Where members go. */
interface Transfer {
  kind: TransferKind;
  destination: VirtualPath;
  /** Whether a file may take the place of a file there. */
  overwrite: boolean;
}

/** Whether a command or an action of this name takes members to another folder. */
export function isTransfer(name: string): name is TransferKind {
  return transferKinds.some((kind) => kind === name);
}

/**
 * The folder that `destination` of a transfer names: `/home/…`, or a path relative to the folder of the request. It is a text like the names
 * of targets; nothing in it is percent-encoded.
 *
 * @throws ServiceError `bad-request`, or `name-invalid` for `.` and `..`
 */
export function destinationFolder(folder: VirtualPath, text: string): VirtualPath {
  const names = text.split('/').filter((name) => name !== '');
  const isAbsolute = text.startsWith('/');
  if (names.length === 0) throw new ServiceError('bad-request', 'The destination must be a folder.');
  if (isAbsolute && names.shift() !== 'home') throw new ServiceError('bad-request', 'The destination is outside /home/.');
  const path = virtualPathOf(isAbsolute ? names : [...segmentsOf(folder), ...names]);
  if (segmentsOf(path)[0] === reservedName) throw new ServiceError('bad-request', 'This name is reserved.');
  return path;
}

/** Moves a file or a folder, or copies a file, under its own name into another folder. @throws ServiceError `exists` for a name that is taken */
export async function transferMember(files: AccountFiles, path: VirtualPath, { kind, destination, overwrite }: Transfer): Promise<[]> {
  const to = memberPath(destination, baseName(path));
  const rules = { mayReplace: overwrite ? 'file' : 'nothing', acrossKinds: false } as const;
  try {
    await (kind === 'move' ? files.move(path, to, rules) : files.copyFile(path, to, rules));
    return [];
  } catch (error) {
    // There is no header `Overwrite` here that could speak of a condition.
    if (isServiceError(error, 'destination-exists'))
      throw new ServiceError('exists', 'The name is taken at the destination.', { cause: error });
    throw error;
  }
}
