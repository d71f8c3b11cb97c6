import { ServiceError } from '../lib/errors.ts';

/** Longest account name and password that any method is asked about, in characters (docs/spec/authentication.md#names-and-passwords). */
export const longestCredentialCharacters = 150;

/** Stands for the account's name in `home_folder_path` and in path expressions. */
export const userVariable = '${USER}';

/**
 * Refuses names that could do harm in later steps, before any method is asked (docs/spec/authentication.md#names-and-passwords): empty,
 * over 150 characters, control characters, `/`, `\`, `.` and `..`.
 */
export function isUserName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.length > longestCredentialCharacters) return false;
  return name.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f/\\]/.test(name);
}

/** The account's name as it stands in a path: `\ / : * ? " < > |` become `.` (docs/spec/authentication.md#names-and-passwords). */
export function userForPath(name: string): string {
  return name.replace(/[\\/:*?"<>|]/g, '.');
}

/**
 * Puts the account's name in place of `${USER}` in a real path.
 *
 * @throws ServiceError `never-allowed` when the name would become `.` or `..` and so leave its folder
 */
export function expandUserInPath(path: string, name: string): string {
  if (!path.includes(userVariable)) return path;
  const segment = userForPath(name);
  // Otherwise the folder of an account named `:` or `?*` would be the parent of all home folders.
  if (/^\.+$/.test(segment)) throw new ServiceError('never-allowed', 'The account name cannot be used as a folder name.');
  return path.replaceAll(userVariable, () => segment);
}
