import { displayName, nameInText } from '../../../lib/display-name.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { addStyle } from '../../shared/parts.ts';
import { deleteRows } from '../actions/members.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { type Layer, openLayer } from '../navigation/history.ts';
import { previewText } from '../previews/preview-text.ts';
import previewStyle from '../previews/previews.css';
import { Refusal, RemoteFile } from '../previews/remote-file.ts';
import { canPreview, focusRow, previewKind, type Row, rowLink, rowName, shownRows } from '../rows/rows.ts';
import { obstacle, replyReason, send } from '../server.ts';
import { watchSwipes } from './gestures.ts';
import { showPicture } from './picture.ts';
import { fetchAhead, forgetPictures } from './picture-file.ts';
import { alert, type Shown } from './shown.ts';
import style from './viewer.css';

addStyle(previewStyle);

/** A part of the script that shows files of one kind. */
interface FilePart {
  /** Bytes that it reads of any file: of its beginning, or below zero of its end. */
  firstBytes: number;
  /** @throws Refusal */
  show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement>;
}

/** Shows a text or an archive, whose part of the script is loaded for it. */
async function shownFile(row: Row, load: () => Promise<FilePart>): Promise<Shown> {
  const work = new AbortController();
  try {
    const part = await load().catch(() => {
      throw new Refusal(text('partMissing'));
    });
    const file = await RemoteFile.open(rowName(row), rowLink(row).pathname, part.firstBytes, work.signal);
    return { nodes: [await part.show(file, work.signal)], clean: () => work.abort() };
  } catch (error) {
    if (error instanceof Refusal) return alert(error.message);
    throw error;
  }
}

/** Largest PDF that is shown: it is held in memory. */
const pdfLimit = 200_000_000;

async function film(src: string, label: string, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  // The browser asks for the film by itself: its own password box would lock the page, and it does not tell what is gone from what is damaged.
  const problem = await obstacle(src);
  if (problem !== undefined) return alert(problem);
  const element = make('video', { src, controls: true, playsInline: true, ariaLabel: label });
  element.addEventListener('error', () => element.isConnected && element.replaceWith(...alert(previewText('brokenMedia')).nodes));
  const swipes = watchSwipes(stage, element, go);
  const clean = () => {
    swipes.abort();
    // Without this the browser goes on loading what nobody sees.
    element.removeAttribute('src');
  };
  return { nodes: [element], clean };
}

// The browser's PDF viewer refuses sandboxed replies. The type is fixed here, so the bytes can never become a page.
async function pdf(row: Row, src: string, label: string): Promise<Shown> {
  if (Number(row.dataset.size) > pdfLimit) return alert(previewText('tooLargeToPreview'));
  try {
    const reply = await send('GET', src);
    if (!reply.ok) return alert(reply.status === 404 ? text('gone') : await replyReason(reply));
    const url = URL.createObjectURL(new Blob([await reply.arrayBuffer()], { type: 'application/pdf' }));
    return { nodes: [make('iframe', { src: url, title: label })], clean: () => URL.revokeObjectURL(url) };
  } catch {
    return alert(text('noConnection'));
  }
}

addStyle(style);

/** Shows a file above its folder, with steps to the ones beside it. */
export function showFile(row: Row): void {
  new Viewer(row);
}

/** Whether a row's file is a picture or a film; these have a sequence of their own. */
function isSeen(row: Row): boolean {
  const kind = previewKind(row);
  return kind === 'image' || kind === 'video';
}

/** The files that are shown one after the other, in the order of the page. */
function sequenceOf(row: Row): Row[] {
  return shownRows().filter(
    (candidate) => canPreview(candidate) && previewKind(candidate) !== 'audio' && isSeen(candidate) === isSeen(row),
  );
}

class Viewer {
  readonly #title = make('h2', { id: 'viewer-title' });
  readonly #place = make('p.position', { role: 'status' });
  readonly #tools = make('span.own');
  readonly #steps = [
    makeButton(text('previous'), 'left', () => this.#go(-1), 'step compact'),
    makeButton(text('next'), 'right', () => this.#go(1), 'step compact'),
  ];
  readonly #download = make('a.button', { download: '', title: text('download') }, icon('download'));
  readonly #remove = makeButton(text('delete'), 'trash', () => void this.#removeShown(), 'danger compact');
  readonly #close = makeButton(text('close'), 'close', () => this.#layer.leave(), 'compact');
  readonly #stage = make('div.stage', { tabIndex: 0, role: 'group' });
  readonly #dialog = make('dialog.viewer', { attributes: { 'aria-labelledby': 'viewer-title' } });
  readonly #layer: Layer;
  #rows: Row[];
  #row: Row;
  #shown: Shown = { nodes: [] };

  constructor(row: Row) {
    this.#row = row;
    this.#rows = sequenceOf(row);
    this.#download.append(make('span.wide', text('download')));
    this.#remove.hidden = !may('delete');
    const header = make(
      'header',
      { role: 'group' },
      this.#title,
      this.#place,
      this.#tools,
      ...this.#steps,
      this.#download,
      this.#remove,
      this.#close,
    );
    this.#dialog.append(header, this.#stage);
    this.#dialog.classList.toggle('seen', isSeen(row));
    this.#dialog.addEventListener('keydown', (event) => this.#onKey(event));
    this.#layer = openLayer(rowName(row), () => this.#dialog.close());
    this.#dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      this.#layer.leave();
    });
    const giveBack = this.#borrowNotices();
    this.#dialog.addEventListener('close', () => {
      giveBack();
      this.#end();
    });
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#close.focus();
    void this.#show();
  }

  // Elements outside of an open dialog are neither seen nor read out.
  #borrowNotices(): () => void {
    const notices = byId('notices');
    const marker = document.createComment('');
    notices.replaceWith(marker);
    this.#dialog.append(notices);
    return () => marker.replaceWith(notices);
  }

  #end(): void {
    // However it was closed.
    this.#layer.leave();
    this.#shown.clean?.();
    forgetPictures();
    this.#dialog.remove();
    const name = rowName(this.#row);
    const row = shownRows().find((candidate) => rowName(candidate) === name);
    if (row) focusRow(row);
  }

  async #show(): Promise<void> {
    const row = this.#row;
    const name = rowName(row);
    const total = this.#rows.length;
    this.#shown.clean?.();
    this.#shown = { nodes: [] };
    this.#title.replaceChildren(make('bdi', displayName(name)));
    this.#place.textContent = total > 1 ? text('running', { done: this.#rows.indexOf(row) + 1, total }) : '';
    this.#download.href = rowLink(row).href;
    for (const button of this.#steps) button.hidden = total < 2;
    this.#tools.replaceChildren();
    this.#stage.ariaLabel = previewText('previewOf', { name: nameInText(name) });
    this.#stage.ariaBusy = 'true';
    this.#stage.replaceChildren();
    const shown = await this.#contentOf(row);
    if (row !== this.#row || !this.#dialog.open) return shown.clean?.();
    this.#shown = shown;
    this.#stage.ariaBusy = null;
    this.#stage.replaceChildren(...shown.nodes);
    this.#tools.replaceChildren(...(shown.tools ?? []));
    fetchAhead(row, [this.#rowAfter(1), this.#rowAfter(-1)]);
  }

  #contentOf(row: Row): Promise<Shown> {
    const src = `${rowLink(row).pathname}?inline`;
    const label = previewText('previewOf', { name: rowName(row) });
    const go = (by: number) => this.#go(by);
    switch (previewKind(row)) {
      case 'image':
        return showPicture(row, this.#stage, go);
      case 'text':
        return shownFile(row, () => import('../previews/text/text-preview.ts'));
      case 'zip':
        return shownFile(row, () => import('../previews/archive/archive-preview.ts'));
      case 'video':
        return film(src, label, this.#stage, go);
      default:
        return pdf(row, src, label);
    }
  }

  #rowAfter(by: number): Row {
    const rows = this.#rows;
    return rows[(rows.indexOf(this.#row) + by + rows.length) % rows.length] ?? this.#row;
  }

  #go(by: number): void {
    if (this.#rows.length > 1) this.#change(this.#rowAfter(by));
  }

  #change(row: Row): void {
    this.#row = row;
    this.#layer.moveTo(rowName(row));
    void this.#show();
  }

  async #removeShown(): Promise<void> {
    const at = this.#rows.indexOf(this.#row);
    if (!(await deleteRows([this.#row])) || !this.#dialog.open) return;
    this.#rows = sequenceOf(this.#row);
    const next = this.#rows[Math.min(at, this.#rows.length - 1)];
    if (next) this.#change(next);
    else this.#layer.leave();
  }

  #onKey(event: KeyboardEvent): void {
    // The keys of a film are the browser's.
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLMediaElement) return;
    if (this.#shown.onKey?.(event.key) === true) event.preventDefault();
    else if (event.key === 'ArrowLeft') this.#go(-1);
    else if (event.key === 'ArrowRight') this.#go(1);
    else if (event.key === 'Delete' && !this.#remove.hidden) void this.#removeShown();
  }
}
