import { ServiceError } from '../../lib/errors.ts';
import type { AccountPaths } from '../account-paths.ts';
import { endUpload } from './end-upload.ts';
import { resumedData } from './upload-events.ts';

/**
 * Ends the unfinished uploads into a folder that is not there any more; event 40022 each. A request that brings content to one of them is cut.
 *
 * @param realPath where the folder was, links resolved
 * @param movedTo where it is now, when it was moved: the uploads do not move along
 */
export async function endUploadsBelow({ environment, context }: AccountPaths, realPath: string, movedTo?: string): Promise<void> {
  const { uploads } = environment;
  for (const { id } of await uploads.within(realPath)) {
    const hold = await uploads.hold(id, () => {});
    try {
      const record = await uploads.find(id);
      if (!record || record.outcome) continue;
      const reason = new ServiceError('not-found', `The folder of the upload was ${movedTo === undefined ? 'removed' : 'moved'}.`);
      const data = resumedData(record, record.requests, record.offsetBytes);
      const contentPath = movedTo === undefined ? record.contentPath : movedTo + record.contentPath.slice(realPath.length);
      await endUpload(environment, record, reason, {
        how: undefined,
        data,
        context: { ...record.origin, request: context.request },
        contentPath,
      });
    } finally {
      hold.release();
    }
  }
}
