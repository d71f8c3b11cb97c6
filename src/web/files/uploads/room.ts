import { sizeText } from '../../shared/locale.ts';
import { may } from '../navigation/folder.ts';
import { askSpace } from '../space.ts';
import { tryRequest, uploadUrl } from './requests.ts';
import type { Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/** Bytes of the quota that are left for uploads; undefined if the service must be asked. */
let roomBytes: number | undefined;

export function forgetRoom(): void {
  roomBytes = undefined;
}

/**
 * Whether a file fits into the quota, before it is sent. With a trash the service makes room by itself.
 * @returns the problem, for people
 */
export async function lackOfRoom(upload: Upload): Promise<string | undefined> {
  // An unfinished upload already counts towards the quota.
  if (!may('quota') || may('trash') || upload.location !== undefined) return undefined;
  const needed = upload.file.size;
  if (roomBytes === undefined || roomBytes < needed) roomBytes = (await askSpace())?.availableBytes;
  if (roomBytes === undefined) return undefined;
  const freed = roomBytes < needed && upload.onConflict !== 'keep-both' ? await presentBytes(upload) : 0;
  if (roomBytes + freed < needed) return uploadText('quotaLacks', { needed: sizeText(needed), free: sizeText(roomBytes) });
  roomBytes = Math.max(0, roomBytes + freed - needed);
  return undefined;
}

/** Size of the file that an upload would replace. */
async function presentBytes(upload: Upload): Promise<number> {
  const reply = await tryRequest('HEAD', uploadUrl(upload));
  return reply?.ok ? Number(reply.headers.get('content-length')) : 0;
}
