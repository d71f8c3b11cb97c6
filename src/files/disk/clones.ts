import { constants, copyFile, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../../lib/errors.ts';

const copyFileAsync = promisify(copyFile);

/** Error codes that mean that a file system, or a pair of file systems, cannot clone files. */
const unable = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EXDEV', 'EINVAL', 'EPERM'];

/** Whether files of a device can be cloned. Devices that were not tried yet are missing. */
const known = new Map<number, boolean>();

/** Makes `path` a copy-on-write clone of an opened file, without copying data. @throws the system's error; `path` is then removed */
export async function cloneFile(fd: number, path: string): Promise<void> {
  await copyFileAsync(`/proc/self/fd/${fd}`, path, constants.COPYFILE_FICLONE_FORCE);
}

/** Whether an opened file can be cloned on its device. @param scratchPath an unused path on that device, for the first attempt */
export async function canClone(fd: number, device: number, scratchPath: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const before = known.get(device);
  if (before !== undefined) return before;
  try {
    await cloneFile(fd, scratchPath);
    rmSync(scratchPath);
    known.set(device, true);
    return true;
  } catch (error) {
    if (unable.includes(systemErrorCode(error) ?? '')) known.set(device, false);
    return false;
  }
}
