import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { previewText } from '../previews/preview-text.ts';
import { previewKind, type Row, rowLink, rowName } from '../rows/rows.ts';
import { reasonFor, requestDocument, scriptHeaders, send } from '../server.ts';
import { headBytes, pictureHead } from '../thumbnails/picture-head.ts';
import { isDrawable } from './drawing-cost.ts';

const maxDrawingBytes = 5_000_000;

/** A text that the namespaces of SVG and HTML both contain. */
const namespaces = new TextEncoder().encode('w3.org/');

/**
 * Parses an SVG after breaking its namespaces, so that the browser treats its elements as unknown. It uses a request for that, because the
 * page's policy forbids the DOM's parser. @param bytes these bytes are changed
 */
async function parsed(bytes: Uint8Array<ArrayBuffer>): Promise<Document | null> {
  const [first, ...rest] = namespaces;
  for (let at = bytes.indexOf(first as number); at !== -1; at = bytes.indexOf(first as number, at + 1))
    if (rest.every((byte, index) => bytes[at + 1 + index] === byte)) bytes[at] = 0x2d;
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/xml' }));
  const { responseXML } = await requestDocument('GET', url);
  URL.revokeObjectURL(url);
  return responseXML;
}

/** Maximum number of pixels of a picture. In memory each pixel takes four bytes. */
const maxPixels = 100_000_000;

/** Maximum size, in bytes, of a picture that is loaded before the user opens it. */
const maxAheadBytes = 30_000_000;

/** A picture that the browser is loading, or a message that says why it cannot be shown. */
type Picture = HTMLImageElement | string;

/** The shown picture, and the pictures before and after it. */
const near = new Map<Row, Promise<Picture>>();

/** Preloads the pictures before and after the shown one, and drops all others. Preloading never asks for a password. */
export function fetchAhead(shown: Row, beside: readonly Row[]): void {
  for (const row of near.keys()) if (row !== shown && !beside.includes(row)) near.delete(row);
  for (const row of beside) {
    if (previewKind(row) !== 'image' || near.has(row) || Number(row.dataset.size) > maxAheadBytes) continue;
    near.set(
      row,
      begin(row, (url, headers) => fetch(url, { headers: { ...scriptHeaders, ...headers } })),
    );
  }
}

export function forgetPictures(): void {
  near.clear();
}

/** Loads a picture. If preloading it failed, it is tried again. */
export async function loadPicture(row: Row): Promise<Picture> {
  const known = await near.get(row);
  if (known instanceof HTMLImageElement) return known;
  const picture = begin(row, (url, headers) => send('GET', url, { headers }));
  near.set(row, picture);
  return picture;
}

async function begin(row: Row, ask: Asker): Promise<Picture> {
  const src = `${rowLink(row).pathname}?inline`;
  return (await pictureProblem(src, ask)) ?? make('img', { src, alt: rowName(row), draggable: false });
}

/** A function that requests the beginning of a picture. */
type Asker = (url: string, headers: Record<string, string>) => Promise<Response>;

/**
 * Checks a picture before the browser loads it. The browser itself could not ask for the password, and would decode or draw a picture of
 * any size.
 * @returns the problem as a message; undefined if there is none
 */
export async function pictureProblem(url: string, ask: Asker): Promise<string | undefined> {
  try {
    const reply = await ask(url, { range: `bytes=0-${headBytes - 1}` });
    // 416 means that the file is empty.
    if (reply.status === 416) return previewText('brokenPicture');
    if (!reply.ok) return reply.status === 404 ? text('gone') : reasonFor(reply.status, undefined);
    if (reply.headers.get('content-type')?.startsWith('image/svg')) return await drawingProblem(url, reply, ask);
    const head = pictureHead(new Uint8Array(await reply.arrayBuffer()));
    const { width = 0, height = 0 } = head ?? {};
    return width * height > maxPixels ? previewText('tooManyPixels', { width, height }) : undefined;
  } catch {
    return text('noConnection');
  }
}

async function drawingProblem(url: string, start: Response, ask: Asker): Promise<string | undefined> {
  const sizeBytes = Number(start.headers.get('content-range')?.split('/')[1]);
  if (!(sizeBytes <= maxDrawingBytes)) return previewText('drawingTooLarge');
  const whole = sizeBytes <= headBytes ? start : await ask(url, { range: `bytes=0-${sizeBytes - 1}` });
  const drawing = await parsed(new Uint8Array(await whole.arrayBuffer()));
  if (!drawing || drawing.querySelector('parsererror')) return previewText('brokenPicture');
  return isDrawable(drawing) ? undefined : previewText('drawingTooLarge');
}
