import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../lib/errors.ts';

/** Name of the control socket in the data folder. */
const socketName = 'control.sock';

/** Longest path of a Unix socket in bytes that all systems take: 103 on macOS, 107 on Linux (unix(7), `sun_path`). */
const longestPathBytes = 103;

/** The control socket of a data folder, by a path that bind(2) and connect(2) take. */
export interface SocketPath {
  readonly path: string;
  /** Ends what the path needs; not before the socket is closed. */
  close(): void;
}

/**
 * Finds a path for the control socket. One that is too long goes through a descriptor of the folder.
 *
 * @throws ServiceError `unavailable` for one that is too long where there is no /proc
 * @throws what `openSync` throws
 */
export function openSocketPath(dataFolderPath: string): SocketPath {
  const path = join(dataFolderPath, socketName);
  if (Buffer.byteLength(path) <= longestPathBytes) return { path, close() {} };
  if (!existsSync('/proc/self/fd'))
    throw new ServiceError('unavailable', `${path} is longer than the ${longestPathBytes} bytes that a Unix socket's path may have.`);
  const fd = openSync(dataFolderPath, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${fd}/${socketName}`, close: () => closeSync(fd) };
}
