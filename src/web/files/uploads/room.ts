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
 * Whether a file fits into the quota, before it is sent. The service makes room for it in the trash, where there is one.
 * @returns the problem, for people
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

/** Bytes that are left, with those that the service can have back from the trash; undefined when it does not say. */
async function askRoom(): Promise<number | undefined> {
  const space = await askSpace();
  return space && space.availableBytes + (may('trash') ? await trashBytes() : 0);
}

async function trashBytes(): Promise<number> {
  const reply = await tryRequest('GET', '/home/__svc__/trash', { accept: 'application/json' });
  // Without an answer the service decides.
  if (!reply?.ok) return Number.POSITIVE_INFINITY;
  const { trash } = (await reply.json()) as { trash: { size: number }[] };
  return trash.reduce((sum, { size }) => sum + size, 0);
}

/** Size of the file that an upload would replace. */
async function presentBytes(upload: Upload): Promise<number> {
  const reply = await tryRequest('HEAD', uploadUrl(upload));
  return reply?.ok ? Number(reply.headers.get('content-length')) : 0;
}
