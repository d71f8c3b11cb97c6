import { make } from '../shared/dom.ts';
import { kindOf } from './file-kind.ts';
import { text } from './language.ts';
import { previewText } from './previews/preview-text.ts';
import { linkOf, nameOf, type Row } from './rows/rows.ts';
import { obstacle, reasonOf, send } from './server.ts';
import { watchSwipes } from './viewer/gestures.ts';
import { alert, type Shown } from './viewer/shown.ts';

/** Largest PDF that is shown: it is held in memory. */
const pdfLimit = 200_000_000;

/**
 * What is made of a file that the service gives to its reader, for the viewer.
 *
 * @param go asked to show another file, so many further on
 */
export async function contentOf(row: Row, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  const src = `${linkOf(row).pathname}?inline`;
  const label = previewText('previewOf', { name: nameOf(row) });
  return kindOf(row) === 'video' ? film(src, label, stage, go) : pdf(row, src, label);
}

async function film(src: string, label: string, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  // The browser asks for the film by itself: its own password box would lock the page, and it does not tell what is gone from what is damaged.
  const problem = await obstacle(src);
  if (problem !== undefined) return alert(problem);
  const element = make('video', { src, controls: true, playsInline: true, attributes: { 'aria-label': label } });
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
    if (!reply.ok) return alert(reply.status === 404 ? text('gone') : await reasonOf(reply));
    const url = URL.createObjectURL(new Blob([await reply.arrayBuffer()], { type: 'application/pdf' }));
    return { nodes: [make('iframe', { src: url, title: label })], clean: () => URL.revokeObjectURL(url) };
  } catch {
    return alert(text('noConnection'));
  }
}
