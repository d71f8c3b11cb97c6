import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { previewText } from '../previews/preview-text.ts';
import { previewKind, type Row, rowLink, rowName } from '../rows/rows.ts';
import { reasonFor, requestDocument, scriptHeaders, send } from '../server.ts';
import { headBytes, pictureHead } from '../thumbnails/picture-head.ts';

const maxDrawingBytes = 5_000_000;

/** A text that the namespaces of SVG and HTML both contain. */
const namespaces = new TextEncoder().encode('w3.org/');

/**
 * Parses an SVG after breaking its namespaces, so that the browser treats its elements as unknown, and neither loads nor runs anything. The
 * parser is that of XMLHttpRequest, because the page's content security policy forbids DOMParser.
 *
 * @param bytes these bytes are changed
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

/** Maximum number of pixels of a picture, or of all pictures in an SVG. In memory each pixel takes four bytes. */
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

/** A function that requests a picture or, with a `range`, a part of it. */
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

/** Maximum number of elements that the browser has to draw for an SVG, including copies. */
const maxElements = 50_000;

/** Cost of one filter step, in elements. It is high, because a step processes a whole picture. */
const filterCost = 200;

const maxDepth = 200;

/** Elements whose content is drawn at each place that references them. `use` can reference any element with an ID. */
const containers = 'pattern, mask, marker, filter, clipPath, symbol';

/**
 * Matches values and styles that reference another element, or can do so by escapes or variables. References to gradients are removed
 * before the test, because they copy no elements.
 */
const naming = /url\(|\\|var\(|filter\s*:|blur\(|shadow\(/i;

/** Elements whose cost is unknown until something is loaded or run. */
const unclear = 'set, animate, animateTransform, animateMotion, feImage, feTurbulence, feConvolveMatrix';

/** Matches style sheets that have only class rules, which is usual for drawing programs. */
const classRules = /^\s*(?:(?:\.[\w-]+[\s,]*)+\{[^{}]*\}\s*)*$/;

/**
 * Returns whether a browser can draw an SVG quickly. A copied element must not contain copies itself; otherwise a few lines could require
 * an astronomical number of elements.
 * @param drawing parsed document. Nothing in it has been loaded or run
 */
function isDrawable(drawing: Document): boolean {
  const elements = [...drawing.querySelectorAll('*')];
  if (elements.length > maxElements || drawing.querySelector(unclear) || drawing.querySelector(Array(maxDepth).fill('*').join('>')))
    return false;
  if ([...drawing.childNodes].some(({ nodeType }) => nodeType === Node.PROCESSING_INSTRUCTION_NODE)) return false;
  const styles = [...drawing.querySelectorAll('style')].map(({ textContent }) => textContent ?? '').join('\n');
  if (styles.includes('@import') || !arePicturesSmall(`${styles}${elements.map(attributeText).join('\n')}`)) return false;

  const gradients = new Set([...drawing.querySelectorAll('linearGradient, radialGradient')].map(({ id }) => id));
  const copies = (text: string) =>
    naming.test(text.replace(/url\(\s*["']?#([^)"']*)["']?\s*\)/g, (all, id) => (gradients.has(id) ? '' : all)));
  const styled = !copies(styles) ? () => false : classRules.test(styles) ? (element: Element) => element.hasAttribute('class') : () => true;
  const copying = elements.filter((element) => element.localName === 'use' || styled(element) || copies(attributeText(element)));
  const copied = drawing.querySelector('use') ? `${containers}, :not(svg)[id]` : containers;
  const sources = [...drawing.querySelectorAll(copied)];
  if (copying.some((element) => element.parentElement?.closest(copied))) return false;
  const hasFilters = /filter\s*:|blur\(|shadow\(/i.test(styles + elements.map(attributeText).join());
  const largest = Math.max(hasFilters ? filterCost : 0, ...sources.map(drawingCost));
  const marks = drawing.querySelector('marker') ? elements.reduce((sum, element) => sum + countPoints(element), 0) : 0;
  const inherits = (element: Element) =>
    styled(element) || [...element.attributes].some(({ name, value }) => !/^(?:filter|mask|clip-path)$/.test(name) && copies(value));
  const copiesMade = copying.reduce((sum, element) => sum + (inherits(element) ? drawingCost(element) : 1), marks);
  return drawingCost(drawing) + copiesMade * largest <= maxElements;
}

function attributeText(element: Element): string {
  return [...element.attributes].map(({ value }) => value).join('\n');
}

/** Returns the number of elements in a subtree. Filter steps and HTML elements count several times, because drawing them costs more. */
function drawingCost(parent: ParentNode): number {
  const count = (selector: string) => parent.querySelectorAll(selector).length;
  return 1 + count('*') + filterCost * count('filter *') + 5 * count('foreignObject *');
}

/** Returns an upper limit for the number of points in a line. Each point can have a marker. */
function countPoints(element: Element): number {
  return ((element.getAttribute('d') ?? element.getAttribute('points') ?? '').match(/[a-z ,]/gi) ?? []).length;
}

function arePicturesSmall(text: string): boolean {
  let pixels = 0;
  for (const [, type = '', data = ''] of text.matchAll(/data:([^,]*),([^"')\s]*)/gi)) {
    if (!/^image\/(png|jpeg|gif|webp);base64$/i.test(type)) return false;
    const { width = 0, height = 0 } = pictureHead(Uint8Array.from(atob(data), (character) => character.charCodeAt(0))) ?? {};
    pixels += width * height;
  }
  return pixels <= maxPixels;
}
