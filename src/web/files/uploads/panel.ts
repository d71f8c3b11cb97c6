import { displayName } from '../../../lib/display-name.ts';
import { icon, make, makeButton } from '../../shared/dom.ts';
import { durationText, sizeText } from '../../shared/locale.ts';
import { type ScriptTextName, text } from '../language.ts';
import type { UploadQueue } from './queue.ts';
import { isOver, isResumable, pathOf, Speed, type Upload } from './upload.ts';

/** Uploads that are shown; of a folder with thousands of files nobody reads more. */
const maxShown = 100;

/** The order of states in the panel. */
const rank: Readonly<Record<Upload['state'], number>> = {
  running: 0,
  failed: 1,
  paused: 2,
  waiting: 3,
  cancelled: 4,
  skipped: 5,
  done: 6,
};

interface Line {
  element: HTMLLIElement;
  progress: HTMLProgressElement;
  state: HTMLElement;
  /** Halts it, and has it go on. */
  halt: HTMLButtonElement;
  /** Cancels it, and tries it again. */
  end: HTMLButtonElement;
  shownState: Upload['state'] | undefined;
}

/** The panel at the foot of the page that shows the queue. */
export class UploadPanel {
  readonly #queue: () => UploadQueue;
  readonly #lines = new Map<Upload, Line>();
  readonly #speed = new Speed();
  readonly #summary = make('p.hint');
  readonly #total = make('progress', { max: 1, ariaLabel: text('totalProgress') });
  readonly #list = make('ul', { tabIndex: 0 });
  readonly #said = make('p.hidden', { role: 'status' });
  readonly #pauseAll: HTMLButtonElement;
  readonly #resumeAll: HTMLButtonElement;
  readonly #cancelAll: HTMLButtonElement;
  readonly #retryAll: HTMLButtonElement;
  readonly #close: HTMLButtonElement;
  readonly #element: HTMLElement;
  #frame: number | undefined;

  constructor(queue: () => UploadQueue) {
    this.#queue = queue;
    const forAll = (name: ScriptTextName, action: (upload: Upload) => void) =>
      makeButton(text(name), undefined, () => [...queue().uploads].forEach(action), 'quiet');
    this.#pauseAll = forAll('pauseAll', (upload) => queue().pause(upload));
    this.#resumeAll = forAll('resumeAll', (upload) => queue().resume(upload));
    this.#cancelAll = forAll('cancelAll', (upload) => queue().cancel(upload));
    this.#retryAll = forAll('retryAll', (upload) => upload.state === 'failed' && queue().retry(upload));
    this.#close = makeButton('', 'close', () => this.#hide(), 'quiet');
    this.#close.setAttribute('aria-label', text('close'));
    const buttons = make('div.row', this.#retryAll, this.#resumeAll, this.#pauseAll, this.#cancelAll, this.#close);
    const header = make('header', make('h2', text('uploads')), buttons, this.#summary, this.#total);
    this.#list.setAttribute('aria-label', text('uploads'));
    this.#element = make('section.queue', { hidden: true }, header, this.#list, this.#said);
    this.#element.setAttribute('aria-label', text('uploads'));
    document.body.append(this.#element);
    // The foot of the page makes room for the panel.
    const root = document.documentElement;
    new ResizeObserver(() => {
      const { hidden, offsetHeight } = this.#element;
      root.toggleAttribute('data-queue', !hidden);
      // All of the page is styled anew then.
      if (!hidden) root.style.setProperty('--queue-height', `${offsetHeight}px`);
    }).observe(this.#element);
  }

  /** Has screen readers say something. */
  say(message: string): void {
    this.#said.textContent = message;
  }

  /** Shows the state of the queue with the next frame. */
  update(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #hide(): void {
    this.#queue().clear();
    this.#element.hidden = true;
  }

  #draw(): void {
    const queue = this.#queue();
    const { uploads, isBusy } = queue;
    this.#element.hidden = uploads.length === 0;
    const shown = [...uploads].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, maxShown);
    for (const [upload, line] of this.#lines) {
      if (shown.includes(upload)) continue;
      line.element.remove();
      this.#lines.delete(upload);
    }
    this.#order(shown.map((upload) => this.#drawLine(upload)));
    const has = (...states: Upload['state'][]) => uploads.some((upload) => states.includes(upload.state));
    this.#pauseAll.hidden = !has('waiting') && !uploads.some((upload) => upload.state === 'running' && isResumable(upload));
    this.#resumeAll.hidden = !this.#pauseAll.hidden || !has('paused');
    this.#cancelAll.hidden = !isBusy;
    this.#close.hidden = isBusy;
    this.#retryAll.hidden = !has('failed');
    this.#drawTotal(queue);
  }

  // A line that is where it belongs is left alone: what moves loses the focus.
  #order(lines: readonly HTMLElement[]): void {
    const focused = document.activeElement;
    for (const [index, line] of lines.entries()) {
      const present = this.#list.children[index];
      if (present !== line) this.#list.insertBefore(line, present ?? null);
    }
    if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  #drawTotal({ batch, isBusy, isSignedOut }: UploadQueue): void {
    const wanted = [...batch].filter((upload) => upload.state !== 'cancelled' && upload.state !== 'skipped');
    const sum = (bytesOf: (upload: Upload) => number) => wanted.reduce((all, upload) => all + bytesOf(upload), 0);
    const total = sum(({ file }) => file.size);
    const sent = sum(({ state, file, sentBytes }) => (state === 'done' ? file.size : sentBytes));
    const done = wanted.filter(({ state }) => state === 'done').length;
    this.#total.value = total === 0 ? Number(!isBusy) : sent / total;
    this.#speed.note(sent - sum(({ foundBytes }) => foundBytes), performance.now());
    const parts = [text('running', { done: sizeText(sent), total: sizeText(total) })];
    if (wanted.length > 1) parts.unshift(text('filesDone', { done, count: wanted.length }));
    const speed = this.#speed.bytesPerSecond;
    const isMoving = wanted.some(({ state, isReconnecting }) => state === 'running' && !isReconnecting);
    if (isSignedOut) parts.push(text('signInFirst'));
    else if (isMoving && speed !== undefined && speed > 0) {
      parts.push(text('speed', { speed: sizeText(speed) }), text('timeLeft', { time: durationText((total - sent) / speed) }));
    }
    this.#summary.textContent = parts.join(' · ');
  }

  #drawLine(upload: Upload): HTMLElement {
    const line = this.#lines.get(upload) ?? this.#addLine(upload);
    line.progress.hidden = upload.state !== 'running' && upload.state !== 'paused';
    line.progress.value = upload.file.size === 0 ? 0 : upload.sentBytes / upload.file.size;
    line.state.textContent = [stateText(upload), upload.remark].filter((part) => part !== '').join(' · ');
    if (line.shownState === upload.state) return line.element;
    line.shownState = upload.state;
    line.element.className = upload.state;
    const isPaused = upload.state === 'paused';
    line.halt.hidden = isOver(upload) || !isResumable(upload);
    label(line.halt, text(isPaused ? 'resume' : 'pause'), upload, icon(isPaused ? 'resume' : 'pause'));
    const canRetry = upload.state === 'failed' || upload.state === 'cancelled';
    line.end.hidden = isOver(upload) && !canRetry;
    const end = text(canRetry ? 'retry' : 'cancel');
    label(line.end, end, upload, canRetry ? end : icon('close'));
    return line.element;
  }

  #addLine(upload: Upload): Line {
    const queue = this.#queue();
    const path = pathOf(upload);
    const progress = make('progress', { max: 1, ariaLabel: path });
    const state = make('span.hint');
    const halt = makeButton('', undefined, () => (upload.state === 'paused' ? queue.resume(upload) : queue.pause(upload)), 'quiet');
    const end = makeButton('', undefined, () => (isOver(upload) ? queue.retry(upload) : queue.cancel(upload)), 'quiet');
    const title = make('span.title', { title: displayName(path) }, make('bdi', displayName(path)));
    const element = make('li', title, make('span.buttons', halt, end), state, progress);
    const line = { element, progress, state, halt, end, shownState: undefined };
    this.#lines.set(upload, line);
    return line;
  }
}

function label(button: HTMLButtonElement, name: string, { name: fileName }: Upload, shown: Node | string): void {
  button.replaceChildren(shown);
  button.setAttribute('aria-label', `${name}: ${fileName}`);
}

function stateText(upload: Upload): string {
  const { state, sentBytes, file, reason, isReconnecting } = upload;
  const soFar = text('running', { done: sizeText(sentBytes), total: sizeText(file.size) });
  if (state === 'running') return isReconnecting ? `${soFar} · ${text('reconnecting')}` : soFar;
  if (state === 'paused') return sentBytes > 0 ? `${soFar} · ${text('paused')}` : text('paused');
  return state === 'failed' ? text('failed', { reason }) : text(state);
}
