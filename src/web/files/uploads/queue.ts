import { byId } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { replyReason, send } from '../server.ts';
import { signInAgain, signInCount } from '../sign-in.ts';
import { askSpace, askTrashBytes } from '../space.ts';
import { forgetAnswer, resolveConflict } from './conflict.ts';
import { discardUpload, keptUpload } from './kept-uploads.ts';
import { pauseAfter, type Refused, tryRequest, uploadUrl } from './requests.ts';
import { isSame, sendFile } from './resumable-sending.ts';
import { isOver, isResumable, type Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/** Number of concurrent uploads. A single one would leave pauses between small files. Too many would slow each other down. */
const atOnce = 3;

export type UploadQueue = ReturnType<typeof makeQueue>;

/**
 * Sends uploads in the order in which they were chosen.
 * @param onChange called after each visible change
 * @param onDone called for each file that was stored
 * @param onEnd called as soon as no upload is running or waiting, with the uploads that have ended since the last call
 */
export function makeQueue(onChange: () => void, onDone: (upload: Upload) => void, onEnd: (ended: readonly Upload[]) => void) {
  const uploads: Upload[] = [];
  /** The uploads that were chosen or retried since all earlier uploads ended. */
  const batch = new Set<Upload>();
  const running = new Set<Upload>();
  let ended: Upload[] = [];
  let isSignedOut = false;

  const has = (state: Upload['state']) => uploads.some((upload) => upload.state === state);
  const isMoving = () => running.size > 0 || has('waiting');
  const isBusy = () => isMoving() || has('paused');

  const changed = () => {
    onChange();
    if (isMoving() || isSignedOut) return;
    forgetAnswer();
    forgetRoom();
    knownFolders.clear();
    const over = ended;
    ended = [];
    if (over.length > 0) onEnd(over);
  };

  const next = () => {
    while (running.size < atOnce && !isSignedOut) {
      const upload = uploads.find((candidate) => candidate.state === 'waiting' && !running.has(candidate));
      if (!upload) break;
      upload.state = 'running';
      running.add(upload);
      void run(upload).finally(() => {
        running.delete(upload);
        if (isOver(upload)) ended.push(upload);
        if (upload.state === 'cancelled') void discardUpload(upload);
        next();
        changed();
      });
    }
    changed();
  };

  const run = async (upload: Upload): Promise<void> => {
    const problem = await ensureFolder(upload.home, upload.folder);
    if (upload.state !== 'running') return;
    if (problem !== undefined) return fail(upload, { reason: problem });
    while (upload.state === 'running') {
      const lack = excessOf(upload) ?? (await lackOfRoom(upload));
      if (upload.state !== 'running') return;
      if (lack !== undefined) return fail(upload, { reason: lack, isFinal: true });
      const before = signInCount();
      const sent = await sendFile(upload, onChange);
      if (upload.state !== 'running') return;
      if (sent === 'done') {
        upload.state = 'done';
        onDone(upload);
      } else if (sent === 'held') {
        await askVerdict(upload);
        if (upload.isChecking) void followVerdict(upload);
      } else if (sent === 'stopped') upload.state = 'cancelled';
      else if (sent === 'conflict') await resolveConflict(upload, async () => (may('quota') ? askRoom() : undefined));
      else if (sent === 'signed-out') await signIn(upload, before);
      else fail(upload, sent);
    }
  };

  // The next files are sent while the inspection of this one goes on.
  const followVerdict = async (upload: Upload) => {
    for (let asked = 0; upload.isChecking; asked++) {
      // Each pause is used four times, so that the panel is at most a quarter of the waiting time behind.
      await pauseAfter(Math.floor(asked / 4));
      await askVerdict(upload);
    }
    if (upload.state === 'done') onDone(upload);
    ended.push(upload);
    changed();
  };

  // Called when the session has ended. All uploads wait until the user has signed in.
  const signIn = async (upload: Upload, before: number) => {
    isSignedOut = true;
    onChange();
    const isSignedIn = await signInAgain(before);
    isSignedOut = false;
    if (!isSignedIn) fail(upload, { reason: uploadText('signInFirst') });
    next();
  };

  const begin = (chosen: readonly Upload[]) => {
    if (!isBusy()) batch.clear();
    for (const upload of chosen) batch.add(upload);
  };

  // Continues an unfinished upload of the same file, under the name that was chosen for it before.
  const find = (upload: Upload) => {
    const kept = isResumable(upload) ? keptUpload(upload) : undefined;
    if (!kept) return;
    const other = uploads.find((candidate) => candidate.location === kept.location);
    if (other && !isOver(other)) return;
    if (other) other.location = undefined;
    Object.assign(upload, { location: kept.location, name: kept.name });
  };

  const halt = (upload: Upload, state: 'paused' | 'cancelled') => {
    upload.state = state;
    upload.stop?.();
    changed();
  };

  return {
    uploads,
    batch,
    isBusy,
    isSignedOut: () => isSignedOut,

    add(chosen: readonly Upload[]): void {
      begin(chosen);
      for (const upload of chosen) find(upload);
      uploads.push(...chosen);
      next();
    },

    cancel(upload: Upload): void {
      if (isOver(upload)) return;
      halt(upload, 'cancelled');
      if (!running.has(upload)) void discardUpload(upload);
    },

    pause(upload: Upload): void {
      if (upload.state === 'waiting' || (upload.state === 'running' && isResumable(upload))) halt(upload, 'paused');
    },

    resume(upload: Upload): void {
      if (upload.state !== 'paused') return;
      upload.state = 'waiting';
      next();
    },

    retry(upload: Upload): void {
      if (upload.isRefused || (upload.state !== 'failed' && upload.state !== 'cancelled')) return;
      begin([upload]);
      Object.assign(upload, { state: 'waiting', sentBytes: 0, foundBytes: 0, reason: '', remark: '' });
      next();
    },

    clear(): void {
      uploads.splice(0, uploads.length, ...uploads.filter((upload) => !isOver(upload)));
    },
  };
}

function fail(upload: Upload, { reason, isFinal = false }: Refused): void {
  Object.assign(upload, { state: 'failed', reason, isRefused: isFinal });
}

/** Asks whether a held file is still being inspected, and what became of it (docs/spec/inspections.md#held-uploads). */
async function askVerdict(upload: Upload): Promise<void> {
  const reply = upload.heldAt === undefined ? undefined : await tryRequest('GET', upload.heldAt);
  if (reply?.ok) upload.isChecking = ((await reply.json()) as { state: string }).state === 'inspecting';
  upload.state = 'held';
  if (reply?.status !== 404) return;
  upload.isChecking = false;
  const present = await tryRequest('HEAD', uploadUrl(upload));
  if (present?.ok && isSame(present, upload.file)) upload.state = 'done';
  else if (present?.ok || present?.status === 404) fail(upload, { reason: uploadText('notAccepted'), isFinal: true });
}

/**
 * Returns why a file is too large for the account, as a message. The service would refuse it only after its first bytes.
 * @returns undefined if the file is small enough, or if the page does not know the limit
 */
function excessOf({ file }: Upload): string | undefined {
  const largestBytes = Number(byId('main').dataset.largest) || Number.POSITIVE_INFINITY;
  return file.size > largestBytes ? uploadText('fileTooLarge', { size: sizeText(largestBytes) }) : undefined;
}

/** Number of bytes of the quota that are left for uploads; undefined if the service must be asked. */
let roomBytes: number | undefined;

function forgetRoom(): void {
  roomBytes = undefined;
}

/**
 * Checks whether a file fits into the quota before it is sent. If there is a trash, the service makes room by deleting items from the
 * trash.
 * @returns the problem as a message; undefined if the file fits
 */
async function lackOfRoom(upload: Upload): Promise<string | undefined> {
  // An unfinished upload already counts towards the quota.
  if (!may('quota') || upload.location !== undefined) return undefined;
  const needed = upload.file.size;
  if (roomBytes === undefined || roomBytes < needed) roomBytes = await askRoom();
  if (roomBytes === undefined) return undefined;
  const mayFree = upload.onConflict !== 'keep-both' && may('overwrite');
  const freed = roomBytes < needed && mayFree ? await presentBytes(upload) : 0;
  if (roomBytes + freed < needed) return uploadText('quotaLacks', { needed: sizeText(needed), free: sizeText(roomBytes) });
  roomBytes = Math.max(0, roomBytes + freed - needed);
  return undefined;
}

async function askRoom(): Promise<number | undefined> {
  const space = await askSpace();
  // If the trash cannot be read, the page sets no limit. The service decides when it gets the file.
  return space && space.availableBytes + ((await askTrashBytes()) ?? Number.POSITIVE_INFINITY);
}

async function presentBytes(upload: Upload): Promise<number> {
  const reply = await tryRequest('HEAD', uploadUrl(upload));
  return reply?.ok ? Number(reply.headers.get('content-length')) : 0;
}

/**
 * The result of creating each folder, by URL; undefined if there was no problem. Cleared when no upload is running or waiting, because
 * folders can be deleted later.
 */
const knownFolders = new Map<string, Promise<string | undefined>>();

/**
 * Creates a folder below an existing one, with its missing parents. A folder that already exists is no problem.
 * @param home URL path of an existing folder; ends in `/`
 * @param folder names separated by `/`; empty for `home` itself
 * @returns the problem as a message
 */
export function ensureFolder(home: string, folder: string): Promise<string | undefined> {
  if (folder === '') return Promise.resolve(undefined);
  const url = `${home}${folder.split('/').map(encodeURIComponent).join('/')}/`;
  const before = knownFolders.get(url);
  if (before) return before;
  const made = create(home, folder, url);
  knownFolders.set(url, made);
  void made.then((problem) => problem !== undefined && knownFolders.delete(url));
  return made;
}

async function create(home: string, folder: string, url: string): Promise<string | undefined> {
  const slash = folder.lastIndexOf('/');
  const problem = await ensureFolder(home, slash < 0 ? '' : folder.slice(0, slash));
  if (problem !== undefined) return problem;
  try {
    const reply = await send('PUT', url);
    // 409 means that the name is taken. If a file has this name, uploads to the folder will fail with a message.
    return reply.ok || reply.status === 409 ? undefined : await replyReason(reply);
  } catch {
    return text('noConnection');
  }
}
