import { icon, make, makeButton } from './dom.ts';
import { canPreview, kindOf } from './file-kind.ts';
import { text } from './language.ts';
import { openLayer } from './navigation/history.ts';
import { linkOf, nameOf, type Row, shownRows } from './rows.ts';
import { obstacle, reasonOf, send } from './server.ts';
import { decodeText } from './text-decoding.ts';

/** Bytes of a text that are shown. */
const textLimit = 512 * 1024;

/** Largest PDF that is shown: it is held in memory. */
const pdfLimit = 200_000_000;

/** Shows a file in a dialog, with steps to the ones beside it. */
export function showPreview(first: Row): void {
  let row = first;
  const rows = shownRows().filter(canPreview);
  const title = make('h2', { id: 'preview-title' });
  const stage = make('div', { className: 'stage', tabIndex: 0 });
  const download = make(
    'a',
    { className: 'button', download: '' },
    icon('download'),
    make('span', { className: 'wide' }, text('download')),
  );
  const close = makeButton(text('close'), 'close', () => leave(), 'compact');
  const step = (by: number) => {
    row = rows[(rows.indexOf(row) + by + rows.length) % rows.length] ?? row;
    moveTo(nameOf(row));
    void show();
  };
  const steps =
    rows.length > 1
      ? [makeButton(text('previous'), 'left', () => step(-1), 'compact'), makeButton(text('next'), 'right', () => step(1), 'compact')]
      : [];
  const header = make('header', {}, title, ...steps, download, close);
  const dialog = make('dialog', { className: 'preview', attributes: { 'aria-labelledby': 'preview-title' } }, header, stage);
  let clean = () => {};
  const show = async () => {
    clean();
    title.textContent = nameOf(row);
    download.href = linkOf(row).href;
    const shown = row;
    stage.setAttribute('aria-label', text('previewOf', { name: nameOf(row) }));
    stage.replaceChildren();
    const made = await lookedAt(row);
    if (shown !== row || !dialog.open) return made.clean();
    clean = made.clean;
    stage.replaceChildren(...made.nodes);
  };
  dialog.addEventListener('keydown', (event) => {
    if (event.target instanceof HTMLMediaElement) return;
    if (event.key === 'ArrowLeft') step(-1);
    if (event.key === 'ArrowRight') step(1);
  });
  const { leave, moveTo } = openLayer(nameOf(row), () => dialog.close());
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    leave();
  });
  dialog.addEventListener('close', () => {
    leave();
    clean();
    dialog.remove();
    linkOf(row).focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
  void show();
}

// A picture or a film is asked for by the browser itself, whose own password box would lock the page.
async function lookedAt(row: Row): Promise<Shown> {
  const problem = await obstacle(linkOf(row).pathname);
  return problem === undefined ? contentOf(row) : { nodes: [alert(problem)], clean: () => {} };
}

function alert(message: string): HTMLElement {
  return make('p', { attributes: { role: 'alert' } }, message);
}

interface Shown {
  nodes: Node[];
  clean: () => void;
}

async function contentOf(row: Row): Promise<Shown> {
  const src = `${linkOf(row).pathname}?inline`;
  const plain = (...nodes: Node[]): Shown => ({ nodes, clean: () => {} });
  const label = text('previewOf', { name: nameOf(row) });
  switch (kindOf(row)) {
    case 'image':
      return plain(picture(src, nameOf(row)));
    case 'audio':
      return media(make('audio', { src, controls: true, attributes: { 'aria-label': label } }));
    case 'video':
      return media(make('video', { src, controls: true, attributes: { 'aria-label': label } }));
    case 'pdf':
      return pdf(row, src, label);
    default:
      return plain(...(await plainText(row, src)));
  }
}

function picture(src: string, alt: string): HTMLElement {
  const image = make('img', { src, alt });
  image.addEventListener('error', () => image.replaceWith(alert(text('brokenPicture'))));
  return image;
}

function media(element: HTMLMediaElement): Shown {
  // Without this the browser goes on loading what nobody sees.
  return { nodes: [element], clean: () => element.removeAttribute('src') };
}

// The browser's PDF viewer refuses sandboxed replies. The type is fixed here, so the bytes can never become a page.
async function pdf(row: Row, src: string, label: string): Promise<Shown> {
  if (Number(row.dataset.size) > pdfLimit) return { nodes: [make('p', {}, text('tooLargeToPreview'))], clean: () => {} };
  const reply = await send('GET', src);
  if (!reply.ok) return { nodes: [alert(await reasonOf(reply))], clean: () => {} };
  const url = URL.createObjectURL(new Blob([await reply.arrayBuffer()], { type: 'application/pdf' }));
  return { nodes: [make('iframe', { src: url, title: label })], clean: () => URL.revokeObjectURL(url) };
}

async function plainText(row: Row, src: string): Promise<Node[]> {
  if (Number(row.dataset.size) === 0) return [make('pre')];
  const reply = await send('GET', src, { headers: { range: `bytes=0-${textLimit - 1}` } });
  if (!reply.ok) return [alert(await reasonOf(reply))];
  const content = decodeText(await reply.arrayBuffer());
  if (content === undefined) return [make('p', {}, text('noText'))];
  const shown = make('pre', { textContent: content });
  return Number(row.dataset.size) > textLimit ? [make('p', { className: 'hint' }, text('previewCut')), shown] : [shown];
}
