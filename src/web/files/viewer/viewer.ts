import { displayName, nameInText } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { drawn, measureAs, middleCut } from '../../shared/long-names.ts';
import { addStyle, loadPart } from '../../shared/parts.ts';
import { deleteRows } from '../actions/members.ts';
import { openPreviewMenu, previewItems } from '../actions/row-menu.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { openLayer } from '../navigation/history.ts';
import { previewText } from '../previews/preview-text.ts';
import previewStyle from '../previews/previews.css';
import { openFile, Refusal, type RemoteFile } from '../previews/remote-file.ts';
import { canPreview, focusRow, previewKind, type Row, rowLink, rowName, shownRows, whenRowsChange } from '../rows/rows.ts';
import { obstacle } from '../server.ts';
import { watchGestures, watchSwipes } from './gestures.ts';
import { fetchAhead, forgetPictures, loadPicture } from './picture-file.ts';
import style from './viewer.css';
import { bounded, type Frame, moveBy, type Point, swipeDirection, whole, zoomBy } from './zoom.ts';

addStyle(previewStyle);

interface Shown {
  nodes: Node[];
  tools?: HTMLElement[];
  /** Receives each key before the viewer does. @returns whether it handled the key */
  onKey?: (key: string) => boolean;
  clean?: () => void;
}

/** Says why a file is not shown, and offers to download it. */
function alert(message: string, row: Row): Shown {
  const picture = make('span', { className: `i ${fileIconClasses(rowName(row))}`, ariaHidden: 'true' });
  const download = make('a.button', { href: rowLink(row).href, download: '' }, icon('download'), text('download'));
  return { nodes: [make('div.trouble', picture, make('p', { role: 'alert' }, message), download)] };
}

/** If a file could not be opened for want of a connection, names the file, and adds a button that tries again. */
function offerAgain({ nodes: [trouble] }: Shown, name: string, again: () => void): void {
  if (!(trouble instanceof HTMLElement) || !trouble.matches('.trouble')) return;
  const reason = trouble.querySelector('p')?.textContent ?? '';
  if (reason !== text('noConnection') && reason !== text('reload')) return;
  trouble.replaceChildren(
    make('p', { role: 'alert' }, text('notOpened', { name: nameInText(name), reason })),
    makeButton(text('tryAgain'), undefined, again),
  );
}

interface FilePart {
  /** Number of bytes at the beginning of the file that the part reads first. If it is negative, the last bytes are read. */
  firstBytes: number;
  /** @throws Refusal */
  show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement>;
}

async function shownFile(row: Row, load: () => Promise<FilePart | undefined>): Promise<Shown> {
  const work = new AbortController();
  try {
    const part = await load();
    if (!part) throw new Refusal((await obstacle()) ?? text('reload'));
    const file = await openFile(rowName(row), rowLink(row).pathname, part.firstBytes, work.signal);
    const shown = await part.show(file, work.signal);
    if (shown.matches('.trouble')) return alert(shown.textContent ?? '', row);
    // The button that switches a formatted text to its source is moved to the tools.
    const choice = shown.querySelector<HTMLElement>(':scope > .form-choice > button');
    choice?.parentElement?.remove();
    return { nodes: [shown], tools: choice ? [choice] : [], clean: () => work.abort() };
  } catch (error) {
    if (error instanceof Refusal) return alert(error.message, row);
    throw error;
  }
}

async function film(row: Row, src: string, label: string, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  // Check the film first. Otherwise the browser's password dialog could block the page, and a missing film would look damaged.
  const problem = await obstacle(src);
  if (problem !== undefined) return alert(problem, row);
  const element = make('video', { src, controls: true, playsInline: true, ariaLabel: label });
  element.addEventListener('error', () => element.isConnected && element.replaceWith(...alert(previewText('brokenMedia'), row).nodes));
  const swipes = watchSwipes(stage, element, go);
  const clean = () => {
    swipes.abort();
    // With a source, the browser would continue to load the hidden film.
    element.removeAttribute('src');
  };
  return { nodes: [element], clean };
}

/** Length, in bytes, of the part of a PDF that must contain its signature. */
const pdfHeadBytes = 1024;

// The file's own URL is used, so that the browser's PDF viewer shows its name and can request parts of it. The viewer would show an error
// of its own for a file that is not a PDF.
function pdf(row: Row, src: string, label: string): Promise<Shown> {
  const show = async (file: RemoteFile) => {
    const head = await file.read(0, Math.min(pdfHeadBytes, file.sizeBytes));
    if (!new TextDecoder('latin1').decode(head).includes('%PDF-')) throw new Refusal(previewText('brokenPdf'));
    return make('iframe', { src, title: label });
  };
  return shownFile(row, async () => ({ firstBytes: pdfHeadBytes, show }));
}

addStyle(style);

/** Returns all files that have a preview, in the order of the list. Audio files are for the player. */
function listSequence(): Row[] {
  return shownRows().filter((row) => canPreview(row) && previewKind(row) !== 'audio');
}

/** Shows a file in a layer that covers its folder, with buttons for the previous and the next file. */
export function showFile(first: Row): void {
  let row = first;
  let rows = listSequence();
  let shown: Shown = { nodes: [] };

  const show = async () => {
    const wanted = row;
    const name = rowName(row);
    const total = rows.length;
    shown.clean?.();
    shown = { nodes: [] };
    fitTitle();
    place.textContent = total > 1 ? previewText('place', { number: rows.indexOf(row) + 1, total }) : '';
    dialog.classList.toggle('seen', ['image', 'video'].includes(previewKind(row) ?? ''));
    download.href = rowLink(row).href;
    for (const button of steps) button.hidden = total < 2;
    more.hidden = previewItems(row).length === 0;
    tools.replaceChildren();
    stage.ariaLabel = previewText('previewOf', { name: nameInText(name) });
    stage.ariaBusy = 'true';
    stage.replaceChildren();
    const content = await loadContent(row);
    if (wanted !== row || !dialog.open) return content.clean?.();
    offerAgain(content, name, () => void show());
    shown = content;
    stage.ariaBusy = null;
    stage.replaceChildren(...content.nodes);
    tools.replaceChildren(...(content.tools ?? []));
    fetchAhead(row, [rowAfter(1), rowAfter(-1)]);
  };

  const loadContent = (wanted: Row): Promise<Shown> => {
    const src = `${rowLink(wanted).pathname}?inline`;
    const label = previewText('previewOf', { name: rowName(wanted) });
    switch (previewKind(wanted)) {
      case 'image':
        return showPicture(wanted, stage, go);
      case 'text':
        return shownFile(wanted, () => loadPart('text-preview', () => import('../previews/text/text-preview.ts')));
      case 'zip':
        return shownFile(wanted, () => loadPart('archive-preview', () => import('../previews/archive/archive-preview.ts')));
      case 'video':
        return film(wanted, src, label, stage, go);
      default:
        return pdf(wanted, `${src}=frame`, label);
    }
  };

  const rowAfter = (by: number) => rows[(rows.indexOf(row) + by + rows.length) % rows.length] ?? row;

  const go = (by: number) => {
    if (rows.length > 1) change(rowAfter(by));
  };

  const change = (next: Row) => {
    row = next;
    layer.moveTo(rowName(row));
    void show();
  };

  // After a file was renamed, its new name is shown; after it was deleted or moved, the next file.
  const renew = (wanted?: string) => {
    const at = rows.indexOf(row);
    rows = listSequence();
    const named = (name?: string) => rows.find((candidate) => rowName(candidate) === name);
    const same = named(rowName(row));
    const next = named(wanted) ?? rows[Math.min(at, rows.length - 1)];
    if (same) row = same;
    else if (next) change(next);
    else layer.leave();
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLMediaElement) return;
    if (shown.onKey?.(event.key) === true) event.preventDefault();
    else if (event.key === 'ArrowLeft') go(-1);
    else if (event.key === 'ArrowRight') go(1);
    else if (event.key === 'Delete' && may('delete')) void deleteRows([row]);
  };

  const end = () => {
    endRenewal();
    marker.replaceWith(notices);
    // `leave` is called here as well, because the dialog is not always closed by the layer.
    layer.leave();
    shown.clean?.();
    forgetPictures();
    dialog.remove();
    const there = shownRows().find((candidate) => rowName(candidate) === rowName(row));
    if (there) focusRow(there);
  };

  const fitTitle = () => {
    const name = displayName(rowName(row));
    measureAs(title, 700);
    const lineCount = getComputedStyle(title).whiteSpace === 'nowrap' ? 1 : 2;
    const parts = middleCut(name, title.clientWidth, undefined, lineCount);
    title.title = parts ? name : '';
    title.replaceChildren(make('bdi', ...drawn(parts ?? [name])));
  };

  const title = make('h2', { id: 'viewer-title' });
  new ResizeObserver(fitTitle).observe(title);
  const place = make('p.position', { role: 'status' });
  const tools = make('span.own');
  const steps = [
    makeButton(previewText('previous'), 'left', () => go(-1), 'step compact'),
    makeButton(previewText('next'), 'right', () => go(1), 'step compact'),
  ];
  const label = make('span.wide', text('download'));
  const download = make('a.button', { download: '', title: text('download') }, icon('download'), label);
  const more = makeButton('⋯', undefined, () => openPreviewMenu(row, more), 'more');
  more.ariaLabel = more.title = text('moreActions');
  more.ariaHasPopup = 'menu';
  const close = makeButton(text('close'), 'close', () => layer.leave(), 'compact');
  const header = make('header', { role: 'group' }, title, place, tools, ...steps, download, more, close);
  const stage = make('div.stage', { tabIndex: 0, role: 'group' });
  const dialog = make('dialog.viewer', { attributes: { 'aria-labelledby': title.id } }, header, stage);
  dialog.addEventListener('keydown', onKey);
  const layer = openLayer(rowName(row), () => dialog.close());
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    layer.leave();
  });
  dialog.addEventListener('close', end);
  // Elements outside of an open dialog are neither visible nor announced, so the notices are moved into it.
  const notices = byId('notices');
  const marker = document.createComment('');
  notices.replaceWith(marker);
  dialog.append(notices);
  document.body.append(dialog);
  dialog.showModal();
  const endRenewal = whenRowsChange(renew);
  close.focus();
  void show();
}

const step = 1.5;

const stride = 80;

const arrows: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: stride, y: 0 },
  ArrowRight: { x: -stride, y: 0 },
  ArrowUp: { x: 0, y: stride },
  ArrowDown: { x: 0, y: -stride },
};

/** Shows a picture that can be zoomed and moved. @param go shows the file that is `by` steps away */
async function showPicture(row: Row, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  const image = await loadPicture(row);
  if (typeof image === 'string') return alert(image, row);
  try {
    await image.decode();
  } catch {
    return alert(previewText('brokenPicture'), row);
  }
  let zoom = whole;
  const currentFrame = (): Frame => {
    const { clientWidth: width, clientHeight: height } = stage;
    const { offsetWidth: pictureWidth, offsetHeight: pictureHeight } = image;
    return { width, height, pictureWidth, pictureHeight, most: Math.max(8, (2 * image.naturalWidth) / Math.max(1, pictureWidth)) };
  };
  const set = (next: typeof zoom, isSmooth = false) => {
    zoom = next;
    image.classList.toggle('smooth', isSmooth);
    image.style.transform = `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})`;
    stage.classList.toggle('enlarged', zoom.scale > 1);
    nearer.disabled = zoom.scale >= currentFrame().most;
    farther.disabled = zoom.scale <= 1;
  };
  const zoomIn = (factor: number) => set(zoomBy(zoom, factor, { x: 0, y: 0 }, currentFrame()), true);
  const farther = makeButton(previewText('zoomOut'), 'minus', () => zoomIn(1 / step), 'compact');
  const nearer = makeButton(previewText('zoomIn'), 'plus', () => zoomIn(step), 'compact');
  farther.disabled = true;
  const own = watchGestures(stage, {
    zoom: (factor, point) => set(zoomBy(zoom, factor, point, currentFrame())),
    drag: (by) => {
      if (zoom.scale > 1) set(moveBy(zoom, by, currentFrame()));
      return zoom.scale > 1;
    },
    swipe: (path) => {
      const by = swipeDirection(path);
      if (by !== 0) go(by);
    },
    toggle: (point) =>
      set(zoom.scale > 1 ? whole : zoomBy(zoom, Math.max(2, image.naturalWidth / image.offsetWidth), point, currentFrame()), true),
  });
  const watchSize = new ResizeObserver(() => set(bounded(zoom, currentFrame())));
  watchSize.observe(stage);
  const onKey = (key: string) => {
    const by = arrows[key];
    if (key === '+' || key === '=') zoomIn(step);
    else if (key === '-') zoomIn(1 / step);
    else if (key === '0') set(whole, true);
    else if (by && zoom.scale > 1) set(moveBy(zoom, by, currentFrame()), true);
    else return false;
    return true;
  };
  const clean = () => {
    own.abort();
    watchSize.disconnect();
    stage.classList.remove('enlarged');
    image.removeAttribute('style');
  };
  return { nodes: [image], tools: [farther, nearer], onKey, clean };
}
