import { text } from '../language.ts';
import { signInAgain } from '../sign-in.ts';
import { decide, forgetChoice } from './conflict.ts';
import { ensureFolder, forgetFolders } from './folders.ts';
import { sendFile } from './send.ts';
import { isOver, nextName, type Upload } from './upload.ts';

/** Files sent at the same time: more than one hides the time between small ones, many would starve each other. */
const atOnce = 3;

/** Uploads in the order in which they were chosen. */
export class UploadQueue {
  readonly uploads: Upload[] = [];
  /** Whether the queue waits until the reader has signed in. */
  isPaused = false;
  readonly #onChange: () => void;
  readonly #onEnd: (ended: readonly Upload[]) => void;
  #ended: Upload[] = [];
  #running = 0;

  /**
   * @param onChange called when anything that can be seen changes
   * @param onEnd called when nothing is left to do, with what came to its end since it was called before
   */
  constructor(onChange: () => void, onEnd: (ended: readonly Upload[]) => void) {
    this.#onChange = onChange;
    this.#onEnd = onEnd;
  }

  get isBusy(): boolean {
    return this.#running > 0 || this.uploads.some((upload) => upload.state === 'waiting');
  }

  add(uploads: readonly Upload[]): void {
    this.uploads.push(...uploads);
    this.#next();
  }

  cancel(upload: Upload): void {
    if (isOver(upload)) return;
    upload.state = 'cancelled';
    upload.cancel?.();
    this.#changed();
  }

  retry(upload: Upload): void {
    if (upload.state !== 'failed' && upload.state !== 'cancelled') return;
    Object.assign(upload, { state: 'waiting', sentBytes: 0, reason: '' });
    this.#next();
  }

  /** Forgets what is over. */
  clear(): void {
    this.uploads.splice(0, this.uploads.length, ...this.uploads.filter((upload) => !isOver(upload)));
  }

  #next(): void {
    while (this.#running < atOnce && !this.isPaused) {
      const upload = this.uploads.find((candidate) => candidate.state === 'waiting');
      if (!upload) break;
      upload.state = 'running';
      this.#running++;
      void this.#run(upload).finally(() => {
        this.#running--;
        this.#ended.push(upload);
        this.#next();
        this.#changed();
      });
    }
    this.#changed();
  }

  #changed(): void {
    this.#onChange();
    if (this.isBusy || this.isPaused) return;
    forgetChoice();
    forgetFolders();
    if (this.#ended.length > 0) this.#onEnd(this.#ended.splice(0));
  }

  async #run(upload: Upload): Promise<void> {
    const problem = await ensureFolder(upload.folder);
    if (problem !== undefined) return this.#fail(upload, problem);
    while (upload.state === 'running') {
      const sent = await sendFile(upload, this.#onChange);
      if (upload.state !== 'running') return;
      if (sent === 'done') upload.state = 'done';
      else if (sent === 'cancelled') upload.state = 'cancelled';
      else if (sent === 'conflict') await this.#resolveConflict(upload);
      else if (sent === 'signed-out') await this.#signIn(upload);
      else this.#fail(upload, sent.reason);
    }
  }

  #fail(upload: Upload, reason: string): void {
    Object.assign(upload, { state: 'failed', reason });
  }

  async #resolveConflict(upload: Upload): Promise<void> {
    upload.sentBytes = 0;
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
    upload.sentBytes = 0;
    this.isPaused = true;
    this.#onChange();
    const isSignedIn = await signInAgain();
    this.isPaused = false;
    if (!isSignedIn) this.#fail(upload, text('paused'));
    this.#next();
  }
}
