import { displayName, nameInText } from '../../../lib/display-name.ts';
import { byId, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { wholeTime } from '../dates.ts';
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { forgetUpload, isKept, type KeptUpload, keptUploads, whenFree } from './kept-uploads.ts';
import { ask } from './requests.ts';
import { newUpload, pathOf, type Upload } from './upload.ts';

/** Uploads to a folder that were left unfinished; each can continue once its file is chosen again. */
export class Unfinished {
  readonly #add: (uploads: Upload[]) => void;
  readonly #lines = new Map<string, HTMLElement>();
  readonly #taken = new Set<string>();
  readonly #list = make('ul');
  readonly #element: HTMLElement;

  /** @param add sends a file that was chosen again */
  constructor(add: (uploads: Upload[]) => void) {
    this.#add = add;
    const heading = make('h2', { id: 'unfinished' }, text('unfinished'));
    const hint = make('p.hint', text('unfinishedHint'));
    this.#element = make('section.unfinished', { attributes: { 'aria-labelledby': heading.id } }, heading, hint, this.#list);
  }

  /** Offers to go on with each, as soon as no other tab does. */
  start(): void {
    for (const kept of keptUploads()) void whenFree(kept.location).then(() => this.#offer(kept));
  }

  /** Offers an upload no more: somebody goes on with it. */
  remove(location: string): void {
    this.#taken.add(location);
    this.#lines.get(location)?.remove();
    this.#lines.delete(location);
    if (this.#lines.size === 0) this.#element.remove();
  }

  async #offer(kept: KeptUpload): Promise<void> {
    const { location } = kept;
    if (!isKept(kept)) return;
    const reply = await ask('HEAD', location);
    const isOver = reply?.headers.get('upload-complete') === '?1';
    if (isOver || reply?.status === 404 || reply?.status === 410) forgetUpload(kept);
    if (isOver || !reply?.ok || this.#taken.has(location) || kept.home !== folderUrl()) return;
    const path = pathOf(kept);
    const done = text('running', { done: sizeText(Number(reply.headers.get('upload-offset'))), total: sizeText(kept.size) });
    const field = make('input', { type: 'file', hidden: true, ariaLabel: `${text('resume')}: ${path}` });
    field.addEventListener('change', () => {
      if (field.files?.[0]) this.#take(kept, field.files[0]);
      field.value = '';
    });
    const resume = makeButton(text('resume'), undefined, () => field.click());
    const discard = makeButton(text('discard'), undefined, () => void this.#discard(kept), 'quiet');
    for (const button of [resume, discard]) button.setAttribute('aria-label', `${button.textContent}: ${path}`);
    const title = make('span.title', { title: displayName(path) }, make('bdi', displayName(path)));
    const line = make('li', title, make('span.hint', done), resume, discard, field);
    this.#lines.set(location, line);
    this.#list.append(line);
    byId('members').before(this.#element);
  }

  #take(kept: KeptUpload, file: File): void {
    const { fileName, size, lastModified, home, folder } = kept;
    if (file.name === fileName && file.size === size && file.lastModified === lastModified)
      this.#add([newUpload(file, home, folder, may('look'))]);
    else notice(text('otherFile', { name: nameInText(fileName), size: sizeText(size), time: wholeTime(lastModified) }), 'error');
  }

  async #discard(kept: KeptUpload): Promise<void> {
    forgetUpload(kept);
    this.remove(kept.location);
    await ask('DELETE', kept.location);
  }
}
