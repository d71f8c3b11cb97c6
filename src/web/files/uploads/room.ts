import { sizeText } from '../../shared/locale.ts';
import { may } from '../navigation/folder.ts';
import { askSpace } from '../space.ts';
import { tryRequest, uploadUrl } from './requests.ts';
import type { Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/** Number of bytes of the quota that are left for uploads; undefined if the service must be asked. */
let roomBytes: number | undefined;

export function forgetRoom(): void {
  roomBytes = undefined;
}

/**
 * Checks whether a file fits into the quota before it is sent. If there is a trash, the service makes room by deleting from it.
 * @returns the problem as a message; undefined if the file fits
 */
export async function lackOfRoom(upload: Upload): Promise<string | undefined> {
  // An unfinished upload already counts towards the quota.
  if (!may('quota') || upload.location !== undefined) return undefined;
  const needed = upload.file.size;
  if (roomBytes === undefined || roomBytes < needed) roomBytes = await askRoom();
  if (roomBytes === undefined) return undefined;
  const freed = roomBytes < needed && upload.onConflict !== 'keep-both' ? await presentBytes(upload) : 0;
  if (roomBytes + freed < needed) return uploadText('quotaLacks', { needed: sizeText(needed), free: sizeText(roomBytes) });
  roomBytes = Math.max(0, roomBytes + freed - needed);
  return undefined;
}

/**
 * Returns the number of bytes that are left, including those that the service can free in the trash; undefined if it does not report them.
 */
async function askRoom(): Promise<number | undefined> {
  const space = await askSpace();
  return space && space.availableBytes + (may('trash') ? await trashBytes() : 0);
}

async function trashBytes(): Promise<number> {
  const reply = await tryRequest('GET', '/home/__svc__/trash', { accept: 'application/json' });
  // Without an answer, the service decides when it gets the file.
  if (!reply?.ok) return Number.POSITIVE_INFINITY;
  const { trash } = (await reply.json()) as { trash: { size: number }[] };
  return trash.reduce((sum, { size }) => sum + size, 0);
}

/** Returns the size of the file that an upload would replace. */
async function presentBytes(upload: Upload): Promise<number> {
  const reply = await tryRequest('HEAD', uploadUrl(upload));
  return reply?.ok ? Number(reply.headers.get('content-length')) : 0;
}
