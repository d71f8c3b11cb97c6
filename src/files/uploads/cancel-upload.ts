import { ServiceError } from '../../lib/errors.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { endUpload } from './end-upload.ts';
import { resumedData } from './upload-events.ts';

/**
 * Cancels an upload for those who run the service; a request that brings content to it is cut. Events 40069 and 40022. Nothing happens to one that
 * is over, or that has been given its name.
 */
export async function cancelUpload(files: Pick<FilesEnvironment, 'events' | 'uploads'>, id: string): Promise<void> {
  const { uploads } = files;
  const hold = await uploads.hold(id, () => {});
  try {
    const record = await uploads.find(id);
    if (!record || record.outcome || record.completion) return;
    const reason = new ServiceError('not-found', 'An administrator cancelled the upload.');
    const data = resumedData(record, record.requests, record.offsetBytes);
    await endUpload(files, record, reason, { how: 'cancelled', data, context: record.origin });
  } finally {
    hold.release();
  }
}
