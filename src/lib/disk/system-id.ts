import { readFileSync } from 'node:fs';
import { ServiceError } from '../errors.ts';

/**
 * The number of an account or a group of the operating system.
 *
 * @param column which number: 2 its own, 3 in `/etc/passwd` that of the account's group
 * @throws ServiceError `unauthorized` when there is none of this name
 */
export function systemId(file: '/etc/passwd' | '/etc/group', name: string, column = 2): number {
  if (/^\d+$/.test(name) && column === 2) return Number(name);
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const fields = line.split(':');
    if (fields[0] === name) return Number(fields[column]);
  }
  throw new ServiceError('unauthorized', `"${name}" is not in ${file}.`);
}
