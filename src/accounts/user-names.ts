import { ServiceError } from '../lib/errors.ts';

/**
 * Largest length of account names and passwords in characters. Longer ones are refused immediately
 * (docs/spec/authentication.md#names-and-passwords).
 */
export const longestCredentialCharacters = 150;

/** The variable for the account's name in real paths and in path expressions. */
export const userVariable = '${USER}';

/**
 * Whether a text can be the name of an account (docs/spec/authentication.md#names-and-passwords). A name must not be empty, `.` or `..`,
 * must not be longer than 150 characters, and must not have control characters, lone surrogates, `/` or `\`. Other names could do harm
 * later, so they are refused before any authentication method gets them.
 */
export function isUserName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.length > longestCredentialCharacters) return false;
  return name.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f/\\]/.test(name);
}

/** An account's name as a part of paths: each of `\ / : * ? " < > |` becomes `.` (docs/spec/authentication.md#names-and-passwords). */
export function userForPath(name: string): string {
  return name.replace(/[\\/:*?"<>|]/g, '.');
}

/**
 * Replaces `${USER}` in a path with the account's name.
 *
 * @throws ServiceError `never-allowed` if the name would become only dots, such as `..`, because such a path would lead out of its folder
 */
export function expandUserInPath(path: string, name: string): string {
  if (!path.includes(userVariable)) return path;
  const segment = userForPath(name);
  // The names `:` and `?*` become `.` and `..`. The home folder of such an account would contain the home folders of all others.
  if (/^\.+$/.test(segment)) throw new ServiceError('never-allowed', 'The account name cannot be used as a folder name.');
  return path.replaceAll(userVariable, () => segment);
}
