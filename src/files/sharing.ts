import { commonPaths, placeIn } from '../accounts/narrowing.ts';
import { allRights } from '../accounts/permissions.ts';
import { ServiceError } from '../lib/errors.ts';
import { memberPath, type VirtualPath } from '../lib/virtual-path.ts';
import type { AccountFiles } from './account-files.ts';

/**
 * Refuses to make a shared link if its creator is not allowed to share the path (docs/spec/links.md#making-links).
 *
 * @param kind `drop` for a folder into which others upload files
 * @throws ServiceError `forbidden` without the right to share the path; `unprocessable` if the account itself may not read the path
 *   (`download`) or create files in it (`drop`), or if a file is given for `drop`; `not-found` for a missing path
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

/** Whether the account has a right at one or more of the paths that the client can reach. A token or link can limit these paths. */
function mayAnywhere(files: AccountFiles, operation: 'share' | 'createToken', keyword: string): boolean {
  const { permissions } = files.account;
  const reached = commonPaths(permissions.options.narrowings);
  return reached ? reached.some((path) => files.may(path, operation)) : permissions.mayGive(keyword);
}

/** @throws ServiceError `never-allowed` for an account that must not have shared links, or a client without the right to share */
export function requireLinks(files: AccountFiles): void {
  const { links, method } = files.account;
  if (!links.enabled || method.type === 'anonymous') throw new ServiceError('never-allowed', 'The account has no links.');
  if (!mayAnywhere(files, 'share', 'allow-share'))
    throw new ServiceError('never-allowed', 'The account may not share files (`allow-share`).');
}

/** @throws ServiceError `never-allowed` for an account that must not have tokens, or if the client may not create tokens at any path */
export function requireTokens(files: AccountFiles): void {
  const { tokens, method } = files.account;
  if (!tokens.enabled || method.type === 'anonymous') throw new ServiceError('never-allowed', 'The account has no tokens.');
  if (!mayAnywhere(files, 'createToken', 'allow-create-token'))
    throw new ServiceError('never-allowed', 'The account may not create tokens (`allow-create-token`).');
}

/**
 * @param paths if undefined, the token is for all paths that the client can reach
 * @throws ServiceError `unprocessable` for a path where the client itself has no rights, `never-allowed` for a path where it may not create
 * tokens
 */
export function requireTokenRights(files: AccountFiles, paths: readonly VirtualPath[] | undefined): void {
  const { permissions } = files.account;
  const { narrowings = [] } = permissions.options;
  for (const path of paths ?? commonPaths(narrowings) ?? ['/' as VirtualPath]) {
    if (files.may(path, 'createToken')) continue;
    const isOutside = narrowings.some((narrowing) => placeIn(narrowing, path) !== 'inside');
    if (paths && (isOutside || !permissions.allowsAny(path, allRights)))
      throw new ServiceError('unprocessable', `The account itself has no rights at "${path}", so it cannot give any.`);
    throw new ServiceError('never-allowed', `The account may not create tokens for "${path}" (\`allow-create-token\`).`);
  }
}
