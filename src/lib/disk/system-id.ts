import { readFileSync } from 'node:fs';
import { ServiceError } from '../errors.ts';

/** Returns the name of a user or group of the operating system; its number as text if the name cannot be found. */
export function systemName(file: '/etc/passwd' | '/etc/group', id: number): string {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.find((line) => line.split(':')[2] === String(id))?.split(':')[0] ?? String(id);
  } catch {
    return String(id);
  }
}

/**
 * Returns the number of a user or group of the operating system.
 *
 * @param column 2 for the number of the user or group; 3, in `/etc/passwd`, for the number of the user's group
 * @throws ServiceError `unauthorized` for an unknown name
 */
export function systemId(file: '/etc/passwd' | '/etc/group', name: string, column = 2): number {
  if (/^\d+$/.test(name) && column === 2) return Number(name);
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const fields = line.split(':');
    if (fields[0] === name) return Number(fields[column]);
  }
  throw new ServiceError('unauthorized', `"${name}" is not in ${file}.`);
}
