import { ServiceError } from '../../lib/errors.ts';
import { severalAtOnce } from '../../lib/turns/several-at-once.ts';
import type { AccountPaths } from '../account-paths.ts';
import { inodeOf } from '../disk/temporaries.ts';
import { endsAtOnce, endUpload, whileHeld } from './end-upload.ts';
import type { UploadHold, UploadRecord } from './upload-store.ts';

/**
 * Ends the unfinished uploads into a folder that is not there any more; event `uploadFailed` each. A request that brings content to one of them is cut;
 * an upload that ends with its connection fails, unless its folder was moved, which takes it along.
 *
 * @param realPath where the folder was, links resolved
 * @param movedTo where it is now, when it was moved: the uploads do not move along
 */
export async function endUploadsBelow({ environment, context }: AccountPaths, realPath: string, movedTo?: string): Promise<void> {
  const { uploads } = environment;
  if (movedTo === undefined) await uploads.dismiss(realPath);
  const end = async (hold: UploadHold, record: UploadRecord) => {
    if (record.outcome) return;
    const reason = new ServiceError('not-found', `The folder of the upload was ${movedTo === undefined ? 'removed' : 'moved'}.`);
    const contentPath = movedTo === undefined ? record.contentPath : movedTo + record.contentPath.slice(realPath.length);
    // One that has its name already is done, and one whose end is decided has it: whoever looks after uploads tells of both.
    if (record.ending || (record.completion && inodeOf(contentPath) === undefined)) return;
    await endUpload(environment, hold, reason, { context: { ...record.origin, request: context.request }, contentPath });
  };
  await severalAtOnce(await uploads.within(realPath), endsAtOnce, ({ id }) => whileHeld(uploads, id, end));
}
