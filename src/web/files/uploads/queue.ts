import { nameInText } from '../../../lib/display-name.ts';
import { ask } from '../../shared/dialogs.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { signInAgain } from '../sign-in.ts';
import { ensureFolder, forgetFolders } from './folders.ts';
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

function forgetChoice(): void {
  forAll = undefined;
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

/** Files sent at the same time: more than one hides the time between small ones, many would starve each other. */
const atOnce = 3;

/** Uploads in the order in which they were chosen. */
export class UploadQueue {
  readonly uploads: Upload[] = [];
  /** Uploads chosen or retried since the queue was last empty. */
  readonly batch = new Set<Upload>();
  /** Whether the queue waits until the reader has signed in. */
  isSignedOut = false;
  readonly #onChange: () => void;
  readonly #onEnd: (ended: readonly Upload[]) => void;
  readonly #running = new Set<Upload>();
  #ended: Upload[] = [];

  /**
   * @param onChange called after each visible change
   * @param onEnd called when nothing is in progress, with the uploads that ended since the last call
   */
  constructor(onChange: () => void, onEnd: (ended: readonly Upload[]) => void) {
    this.#onChange = onChange;
    this.#onEnd = onEnd;
  }

  /** Whether anything is left to do, paused or not. */
  get isBusy(): boolean {
    return this.#isMoving || this.uploads.some((upload) => upload.state === 'paused');
  }

  get #isMoving(): boolean {
    return this.#running.size > 0 || this.uploads.some((upload) => upload.state === 'waiting');
  }

  add(uploads: readonly Upload[]): void {
    this.#begin(uploads);
    for (const upload of uploads) this.#find(upload);
    this.uploads.push(...uploads);
    this.#next();
  }

  cancel(upload: Upload): void {
    if (isOver(upload)) return;
    this.#halt(upload, 'cancelled');
    if (!this.#running.has(upload)) void discardUpload(upload);
  }

  /** Halts an upload that can go on where it is, or has not begun. */
  pause(upload: Upload): void {
    if (upload.state === 'waiting' || (upload.state === 'running' && isResumable(upload))) this.#halt(upload, 'paused');
  }

  resume(upload: Upload): void {
    if (upload.state !== 'paused') return;
    upload.state = 'waiting';
    this.#next();
  }

  retry(upload: Upload): void {
    if (upload.state !== 'failed' && upload.state !== 'cancelled') return;
    this.#begin([upload]);
    Object.assign(upload, { state: 'waiting', sentBytes: 0, foundBytes: 0, reason: '', remark: '' });
    this.#next();
  }

  clear(): void {
    this.uploads.splice(0, this.uploads.length, ...this.uploads.filter((upload) => !isOver(upload)));
  }

  #begin(uploads: readonly Upload[]): void {
    if (!this.isBusy) this.batch.clear();
    for (const upload of uploads) this.batch.add(upload);
  }

  // An upload of the same file that was left unfinished goes on, with the name that was chosen for it.
  #find(upload: Upload): void {
    const kept = isResumable(upload) ? keptUpload(upload) : undefined;
    if (!kept) return;
    const other = this.uploads.find((candidate) => candidate.location === kept.location);
    if (other && !isOver(other)) return;
    if (other) other.location = undefined;
    Object.assign(upload, { location: kept.location, name: kept.name });
  }

  #halt(upload: Upload, state: 'paused' | 'cancelled'): void {
    upload.state = state;
    upload.stop?.();
    this.#changed();
  }

  #next(): void {
    while (this.#running.size < atOnce && !this.isSignedOut) {
      const upload = this.uploads.find((candidate) => candidate.state === 'waiting' && !this.#running.has(candidate));
      if (!upload) break;
      upload.state = 'running';
      this.#running.add(upload);
      void this.#run(upload).finally(() => {
        this.#running.delete(upload);
        if (isOver(upload)) this.#ended.push(upload);
        if (upload.state === 'cancelled') void discardUpload(upload);
        this.#next();
        this.#changed();
      });
    }
    this.#changed();
  }

  #changed(): void {
    this.#onChange();
    if (this.#isMoving || this.isSignedOut) return;
    forgetChoice();
    forgetFolders();
    if (this.#ended.length > 0) this.#onEnd(this.#ended.splice(0));
  }

  async #run(upload: Upload): Promise<void> {
    const problem = await ensureFolder(upload.home, upload.folder);
    if (upload.state !== 'running') return;
    if (problem !== undefined) return this.#fail(upload, problem);
    while (upload.state === 'running') {
      const sent = await sendFile(upload, this.#onChange);
      if (upload.state !== 'running') return;
      if (sent === 'done') upload.state = 'done';
      else if (sent === 'stopped') upload.state = 'cancelled';
      else if (sent === 'conflict') await this.#resolveConflict(upload);
      else if (sent === 'signed-out') await this.#signIn(upload);
      else this.#fail(upload, sent.reason);
    }
  }

  #fail(upload: Upload, reason: string): void {
    Object.assign(upload, { state: 'failed', reason });
  }

  async #resolveConflict(upload: Upload): Promise<void> {
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

  // The session ended under way: everything waits, and goes on when the reader has signed in.
  async #signIn(upload: Upload): Promise<void> {
    this.isSignedOut = true;
    this.#onChange();
    const isSignedIn = await signInAgain();
    this.isSignedOut = false;
    if (!isSignedIn) this.#fail(upload, text('signInFirst'));
    this.#next();
  }
}
