import { make } from './dom.ts';
import { kindOf } from './file-kind.ts';
import { previewText } from './previews/preview-text.ts';
import { linkOf, nameOf, type Row } from './rows.ts';
import { reasonOf, send } from './server.ts';
import { alert, type Shown } from './viewer/shown.ts';

/** Largest PDF that is shown: it is held in memory. */
const pdfLimit = 200_000_000;

/** What is made of a file that the service gives to its reader, for the viewer. */
export async function contentOf(row: Row): Promise<Shown> {
  const src = `${linkOf(row).pathname}?inline`;
  const label = previewText('previewOf', { name: nameOf(row) });
  switch (kindOf(row)) {
    case 'video':
      return film(src, label);
    default:
      return pdf(row, src, label);
  }
}

function film(src: string, label: string): Shown {
  const element = make('video', { src, controls: true, playsInline: true, attributes: { 'aria-label': label } });
  element.addEventListener('error', () => element.isConnected && element.replaceWith(...alert(previewText('brokenMedia')).nodes));
  // Without this the browser goes on loading what nobody sees.
  return { nodes: [element], clean: () => element.removeAttribute('src') };
}

// The browser's PDF viewer refuses sandboxed replies. The type is fixed here, so the bytes can never become a page.
async function pdf(row: Row, src: string, label: string): Promise<Shown> {
  if (Number(row.dataset.size) > pdfLimit) return alert(previewText('tooLargeToPreview'));
  const reply = await send('GET', src);
  if (!reply.ok) return alert(await reasonOf(reply));
  const url = URL.createObjectURL(new Blob([await reply.arrayBuffer()], { type: 'application/pdf' }));
  return { nodes: [make('iframe', { src: url, title: label })], clean: () => URL.revokeObjectURL(url) };
}
