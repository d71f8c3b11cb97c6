import { constants, copyFile, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../../lib/errors.ts';

const copyFileAsync = promisify(copyFile);

/** Codes of file systems, and pairs of them, that share no content between files. */
const unable = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EXDEV', 'EINVAL', 'EPERM'];

/** Whether files of a device can share their content, copy-on-write, as far as that was tried. */
const known = new Map<number, boolean>();

/** Makes a file the copy-on-write clone of an opened one, without copying data. @throws the error of the system; the file is gone then */
export async function cloneFile(fd: number, path: string): Promise<void> {
  await copyFileAsync(`/proc/self/fd/${fd}`, path, constants.COPYFILE_FICLONE_FORCE);
}

/** Whether an opened file can be cloned on its device. @param scratchPath a free path there, for the first attempt on each device */
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
