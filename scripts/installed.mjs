// Finds programs on this machine.
import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Whether a program is on the PATH.
 *
 * @param {string} program its name
 */
export function isInstalled(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => statSync(join(folder, program), { throwIfNoEntry: false }));
}
