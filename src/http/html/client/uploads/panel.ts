import { icon, make, makeButton } from '../dom.ts';
import { durationText, sizeText, text } from '../language.ts';
import type { UploadQueue } from './queue.ts';
import { Speed } from './speed.ts';
import { isOver, type Upload } from './upload.ts';

/** Uploads that are shown; of a folder with thousands of files nobody reads more. */
const mostShown = 100;

/** What comes first in the panel. */
const rank: Readonly<Record<Upload['state'], number>> = { failed: 0, running: 1, waiting: 2, cancelled: 3, skipped: 4, done: 5 };

interface Line {
  element: HTMLLIElement;
  progress: HTMLProgressElement;
  state: HTMLElement;
  button: HTMLButtonElement;
  shownState: Upload['state'] | undefined;
}

/** The panel at the foot of the page that shows the queue. */
export class UploadPanel {
  readonly #queue: () => UploadQueue;
  readonly #lines = new Map<Upload, Line>();
  readonly #speed = new Speed();
  readonly #summary = make('p', { className: 'hint' });
  readonly #total = make('progress', { max: 1, attributes: { 'aria-label': text('totalProgress') } });
  readonly #list = make('ul', { tabIndex: 0 });
  readonly #said = make('p', { className: 'hidden', attributes: { role: 'status' } });
  readonly #cancelAll: HTMLButtonElement;
  readonly #retryAll: HTMLButtonElement;
  readonly #close: HTMLButtonElement;
  readonly #element: HTMLElement;
  #frame: number | undefined;

  constructor(queue: () => UploadQueue) {
    this.#queue = queue;
    const each = (action: (upload: Upload) => void) => () => [...queue().uploads].forEach(action);
    this.#cancelAll = makeButton(
      text('cancelAll'),
      undefined,
      each((upload) => queue().cancel(upload)),
      'quiet',
    );
    this.#retryAll = makeButton(
      text('retryAll'),
      undefined,
      each((upload) => upload.state === 'failed' && queue().retry(upload)),
      'quiet',
    );
    this.#close = makeButton('', 'close', () => this.#hide(), 'quiet');
    this.#close.setAttribute('aria-label', text('close'));
    const buttons = make('div', { className: 'row' }, this.#retryAll, this.#cancelAll, this.#close);
    const header = make('header', {}, make('h2', {}, text('uploads')), buttons, this.#summary, this.#total);
    this.#list.setAttribute('aria-label', text('uploads'));
    this.#element = make('section', { className: 'queue', hidden: true }, header, this.#list, this.#said);
    this.#element.setAttribute('aria-label', text('uploads'));
    document.body.append(this.#element);
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
    const { uploads, isBusy, isPaused } = this.#queue();
    this.#element.hidden = uploads.length === 0;
    const shown = [...uploads].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, mostShown);
    for (const [upload, line] of this.#lines) {
      if (shown.includes(upload)) continue;
      line.element.remove();
      this.#lines.delete(upload);
    }
    for (const upload of shown) this.#drawLine(upload);
    this.#cancelAll.hidden = !isBusy;
    this.#close.hidden = isBusy;
    this.#retryAll.hidden = !uploads.some((upload) => upload.state === 'failed');
    this.#drawTotal(uploads, isPaused);
  }

  #drawTotal(uploads: readonly Upload[], isPaused: boolean): void {
    const wanted = uploads.filter((upload) => upload.state !== 'cancelled' && upload.state !== 'skipped');
    const total = wanted.reduce((sum, upload) => sum + upload.file.size, 0);
    const sent = wanted.reduce((sum, upload) => sum + (upload.state === 'done' ? upload.file.size : upload.sentBytes), 0);
    this.#total.value = total === 0 ? Number(!this.#queue().isBusy) : sent / total;
    this.#speed.note(sent, performance.now());
    const parts = [text('running', { done: sizeText(sent), total: sizeText(total) })];
    const speed = this.#speed.bytesPerSecond;
    if (isPaused) parts.push(text('paused'));
    else if (this.#queue().isBusy && speed !== undefined && speed > 0) {
      parts.push(text('speed', { speed: sizeText(speed) }), text('timeLeft', { time: durationText((total - sent) / speed) }));
    }
    this.#summary.textContent = parts.join(' · ');
  }

  #drawLine(upload: Upload): void {
    const line = this.#lines.get(upload) ?? this.#addLine(upload);
    line.progress.hidden = upload.state !== 'running';
    line.progress.value = upload.file.size === 0 ? 0 : upload.sentBytes / upload.file.size;
    line.state.textContent = stateText(upload);
    if (line.shownState === upload.state) return;
    line.shownState = upload.state;
    line.element.className = upload.state;
    const canRetry = upload.state === 'failed' || upload.state === 'cancelled';
    line.button.hidden = isOver(upload) && !canRetry;
    const label = text(canRetry ? 'retry' : 'cancel');
    line.button.replaceChildren(canRetry ? label : icon('close'));
    line.button.setAttribute('aria-label', `${label}: ${upload.name}`);
  }

  #addLine(upload: Upload): Line {
    const act = () => (isOver(upload) ? this.#queue().retry(upload) : this.#queue().cancel(upload));
    const path = upload.folder === '' ? upload.name : `${upload.folder}/${upload.name}`;
    const progress = make('progress', { max: 1, attributes: { 'aria-label': path } });
    const state = make('span', { className: 'hint' });
    const button = makeButton('', undefined, act, 'quiet');
    const element = make('li', {}, make('span', { className: 'title', title: path }, make('bdi', {}, path)), button, state, progress);
    const line = { element, progress, state, button, shownState: undefined };
    this.#lines.set(upload, line);
    this.#list.append(element);
    return line;
  }
}

function stateText(upload: Upload): string {
  switch (upload.state) {
    case 'running':
      return text('running', { done: sizeText(upload.sentBytes), total: sizeText(upload.file.size) });
    case 'failed':
      return text('failed', { reason: upload.reason });
    default:
      return text(upload.state);
  }
}
