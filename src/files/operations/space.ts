import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { inspect, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';

/** Room for files, in bytes. */
export interface Space {
  availableBytes: number;
  usedBytes: number;
}

/**
 * Free and used bytes (RFC 4331): of the account's quota where it has one, and never more than the disk has.
 *
 * @throws ServiceError `not-found` for what is not on disk
 */
export async function spaceAt({ account, mounts, environment }: AccountPaths, path: VirtualPath): Promise<Space> {
  const [root = '/'] = mounts.roots.paths;
  const location = mounts.locate(path);
  const folder = location.kind === 'real' ? openFolderOf(mounts.roots, location.realPath) : undefined;
  try {
    const disk = statfsSync(folder?.member('.') ?? root);
    const freeBytes = disk.bavail * disk.bsize;
    const limitBytes = account.quotaSizeBytes;
    if (limitBytes === 0) return { availableBytes: freeBytes, usedBytes: (disk.blocks - disk.bfree) * disk.bsize };
    const usedBytes = await environment.quotas.usedBytes(mounts.roots);
    return { availableBytes: Math.max(0, Math.min(freeBytes, limitBytes - usedBytes)), usedBytes };
  } finally {
    folder?.close();
  }
}

/** Opens a folder, or the one that a file is in. */
function openFolderOf(roots: RealRoots, path: string) {
  const found = inspect(roots, path);
  if (!found) throw new ServiceError('not-found', 'Path not found.');
  return openFolder(roots, found.stats.isDirectory() ? found.realPath : dirname(found.realPath));
}
