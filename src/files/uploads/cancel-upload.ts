import { ServiceError } from '../../lib/errors.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { endUpload, whileHeld } from './end-upload.ts';
import { isEnding } from './upload-store.ts';

/**
 * Cancels an upload for those who run the service; a request that brings content to it is cut. Events `unfinishedUploadEnded` and `uploadFailed`. Nothing happens to one that
 * is over, or that has been given its name.
 */
export async function cancelUpload(files: Pick<FilesEnvironment, 'events' | 'uploads' | 'clock'>, id: string): Promise<void> {
  await whileHeld(files.uploads, id, async (hold, record) => {
    if (record.outcome || isEnding(record)) return;
    const reason = new ServiceError('not-found', 'An administrator cancelled the upload.');
    await endUpload(files, hold, reason, { how: 'cancelled' });
  });
}
