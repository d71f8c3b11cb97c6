import { nameInText } from '../../../lib/display-name.ts';
import { ask } from '../../shared/dialogs.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { signInAgain } from '../sign-in.ts';
import { ensureFolder, knownFolders } from './folders.ts';
import { discardUpload, keptUpload } from './kept-uploads.ts';
import { sendFile } from './resumable-sending.ts';
import { isOver, isResumable, nextName, type Upload } from './upload.ts';

/** Choices for a file whose name is taken. */
type ConflictChoice = 'overwrite' | 'keep-both' | 'skip';

let forAll: ConflictChoice | undefined;
let before: Promise<unknown> = Promise.resolve();

/** Asks what to do, one question at a time; an answer for all further conflicts is kept until the queue is empty. */
function decide(name: string): Promise<ConflictChoice> {
  const decision = before.then(() => forAll ?? question(name));
  before = decision;
  return decision;
}

async function question(name: string): Promise<ConflictChoice> {
  const always = make('input', { type: 'checkbox' });
  const answer = await ask({
    title: text('conflict', { name: nameInText(name) }),
    content: [make('p', text('conflictQuestion')), make('label.line', always, text('forAll'))],
    buttons: [
      { value: 'skip', label: text('skip') },
      ...(may('overwrite') ? [{ value: 'overwrite', label: text('overwrite') }] : []),
      { value: 'keep-both', label: text('keepBoth'), kind: 'primary' },
    ],
  });
  const decision = answer === 'overwrite' || answer === 'keep-both' ? answer : 'skip';
  if (always.checked) forAll = decision;
  return decision;
}

/** Concurrent uploads: several hide the pause between small files, many would slow each other down. */
const atOnce = 3;

export type UploadQueue = ReturnType<typeof makeQueue>;

/**
 * Sends uploads in the order in which they were chosen.
 * @param onChange called after each visible change
 * @param onEnd called when nothing is in progress, with the uploads that ended since the last call
 */
export function makeQueue(onChange: () => void, onEnd: (ended: readonly Upload[]) => void) {
  const uploads: Upload[] = [];
  /** Uploads chosen or retried since the queue was last empty. */
  const batch = new Set<Upload>();
  const running = new Set<Upload>();
  let ended: Upload[] = [];
  /** Whether the queue waits until the reader has signed in. */
  let isSignedOut = false;

  const has = (state: Upload['state']) => uploads.some((upload) => upload.state === state);
  const isMoving = () => running.size > 0 || has('waiting');
  /** Whether anything is left to do, paused or not. */
  const isBusy = () => isMoving() || has('paused');

  const changed = () => {
    onChange();
    if (isMoving() || isSignedOut) return;
    forAll = undefined;
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
    if (problem !== undefined) return fail(upload, problem);
    while (upload.state === 'running') {
      const sent = await sendFile(upload, onChange);
      if (upload.state !== 'running') return;
      if (sent === 'done') upload.state = 'done';
      else if (sent === 'stopped') upload.state = 'cancelled';
      else if (sent === 'conflict') await resolveConflict(upload);
      else if (sent === 'signed-out') await signIn(upload);
      else fail(upload, sent.reason);
    }
  };

  // The session has ended: everything waits until the reader has signed in.
  const signIn = async (upload: Upload) => {
    isSignedOut = true;
    onChange();
    const isSignedIn = await signInAgain();
    isSignedOut = false;
    if (!isSignedIn) fail(upload, text('signInFirst'));
    next();
  };

  const begin = (chosen: readonly Upload[]) => {
    if (!isBusy()) batch.clear();
    for (const upload of chosen) batch.add(upload);
  };

  // Continues an unfinished upload of the same file, with the name that was chosen for it.
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

    /** Pauses an upload that is resumable, or has not begun. */
    pause(upload: Upload): void {
      if (upload.state === 'waiting' || (upload.state === 'running' && isResumable(upload))) halt(upload, 'paused');
    },

    resume(upload: Upload): void {
      if (upload.state !== 'paused') return;
      upload.state = 'waiting';
      next();
    },

    retry(upload: Upload): void {
      if (upload.state !== 'failed' && upload.state !== 'cancelled') return;
      begin([upload]);
      Object.assign(upload, { state: 'waiting', sentBytes: 0, foundBytes: 0, reason: '', remark: '' });
      next();
    },

    clear(): void {
      uploads.splice(0, uploads.length, ...uploads.filter((upload) => !isOver(upload)));
    },
  };
}

function fail(upload: Upload, reason: string): void {
  Object.assign(upload, { state: 'failed', reason });
}

async function resolveConflict(upload: Upload): Promise<void> {
  Object.assign(upload, { sentBytes: 0, foundBytes: 0 });
  const decision = upload.onConflict === 'ask' ? await decide(upload.name) : upload.onConflict;
  if (upload.state !== 'running') return;
  if (decision === 'skip') {
    upload.state = 'skipped';
    return;
  }
  upload.onConflict = decision;
  if (decision === 'keep-both') upload.name = nextName(upload.name);
}
