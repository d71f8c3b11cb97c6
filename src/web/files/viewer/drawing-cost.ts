import { pictureHead } from '../thumbnails/picture-head.ts';

/** Maximum number of elements that the browser has to draw for an SVG, including copies. */
const maxElements = 50_000;

/** Cost of one filter step, in elements. It is high, because a step processes a whole picture. */
const filterCost = 200;

const maxDepth = 200;

const maxPixels = 100_000_000;

/** Elements whose content is drawn at each place that references them. `use` can reference any element with an ID. */
const containers = 'pattern, mask, marker, filter, clipPath, symbol';

/** Matches values and styles that reference another element, perhaps with escapes or variables. References to gradients copy nothing. */
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
export function isDrawable(drawing: Document): boolean {
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

/** Returns an upper limit of the number of points in a line. Each point may have a marker. */
function countPoints(element: Element): number {
  return ((element.getAttribute('d') ?? element.getAttribute('points') ?? '').match(/[a-z ,]/gi) ?? []).length;
}

/** Returns whether all pictures embedded in an SVG are bitmaps with few pixels. */
function arePicturesSmall(text: string): boolean {
  let pixels = 0;
  for (const [, type = '', data = ''] of text.matchAll(/data:([^,]*),([^"')\s]*)/gi)) {
    if (!/^image\/(png|jpeg|gif|webp);base64$/i.test(type)) return false;
    const { width = 0, height = 0 } = pictureHead(Uint8Array.from(atob(data), (character) => character.charCodeAt(0))) ?? {};
    pixels += width * height;
  }
  return pixels <= maxPixels;
}
