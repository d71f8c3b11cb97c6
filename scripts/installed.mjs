// Finds programs on this machine.
import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Returns whether a program is in the PATH.
 *
 * @param {string} program name of the program
 */
export function isInstalled(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => statSync(join(folder, program), { throwIfNoEntry: false }));
}
