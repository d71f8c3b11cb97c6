import { ServiceError } from '../lib/errors.ts';
import { memberPath, type VirtualPath } from '../lib/virtual-path.ts';
import type { AccountFiles } from './account-files.ts';

/**
 * Refuses a link that its creator is not allowed to share (docs/spec/links.md#making-links).
 *
 * @param kind `drop` for a folder into which others upload files
 * @throws ServiceError `forbidden` without the right to share the path, `unprocessable` if the account itself may not read or create files
 *   there, `not-found` for a missing path
 */
export function requireSharable(files: AccountFiles, path: VirtualPath, kind: 'download' | 'drop'): void {
  if (!files.may(path, 'share')) throw new ServiceError('forbidden', 'Sharing this needs the right "allow-share".');
  const isDrop = kind === 'drop';
  if (isDrop && !files.may(path, 'createFile') && !files.may(memberPath(path, 'file'), 'createFile'))
    throw new ServiceError('unprocessable', 'The account itself may not create files there.');
  if (!isDrop && !files.may(path, 'readFile') && !files.may(path, 'listFolder'))
    throw new ServiceError('unprocessable', 'The account itself may not read this.');
  // An account that may not inspect a folder may still let others upload files into it.
  if (isDrop && !files.may(path, 'inspect')) return;
  const entry = files.inspect(path);
  if (!entry) throw new ServiceError('not-found', 'Path not found.');
  if (isDrop && !entry.isFolder) throw new ServiceError('unprocessable', 'Files are dropped into a folder, and this is a file.');
  if (!isDrop && !files.may(path, entry.isFolder ? 'listFolder' : 'readFile'))
    throw new ServiceError('unprocessable', 'The account itself may not read this.');
}
