import { pictureHead } from '../thumbnails/picture-head.ts';

/** Elements that a drawing may ask the browser to draw, with the copies that it makes of them. */
const maxElements = 50_000;

/** Elements that a step of a filter counts as: it works on a whole picture. */
const filterCost = 200;

const maxDepth = 200;

const maxPixels = 100_000_000;

/** Elements whose content is drawn wherever something names them; `use` names any element with an ID. */
const containers = 'pattern, mask, marker, filter, clipPath, symbol';

/** Values and styles that name another element, or may once their escapes and variables are resolved. Names of gradients copy nothing. */
const naming = /url\(|\\|var\(|filter\s*:|blur\(|shadow\(/i;

/** Elements whose effect cannot be told without loading or running something. */
const unclear = 'set, animate, animateTransform, animateMotion, feImage, feTurbulence, feConvolveMatrix';

/** Style sheets whose rules are all for classes: drawing programs write such ones. */
const classRules = /^\s*(?:(?:\.[\w-]+[\s,]*)+\{[^{}]*\}\s*)*$/;

/**
 * Whether a browser can draw an SVG in a moment. A copied element must not copy, so that a few lines cannot ask for more elements
 * than there are atoms.
 * @param drawing parsed, without anything loaded or run
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

/** Elements below; HTML is laid out, which costs more. */
function drawingCost(parent: ParentNode): number {
  const count = (selector: string) => parent.querySelectorAll(selector).length;
  return 1 + count('*') + filterCost * count('filter *') + 5 * count('foreignObject *');
}

/** Points of a line, at most: each may have a mark. */
function countPoints(element: Element): number {
  return ((element.getAttribute('d') ?? element.getAttribute('points') ?? '').match(/[a-z ,]/gi) ?? []).length;
}

/** Whether the pictures that a drawing holds are no drawings themselves and unpack to few pixels. */
function arePicturesSmall(text: string): boolean {
  let pixels = 0;
  for (const [, type = '', data = ''] of text.matchAll(/data:([^,]*),([^"')\s]*)/gi)) {
    if (!/^image\/(png|jpeg|gif|webp);base64$/i.test(type)) return false;
    const { width = 0, height = 0 } = pictureHead(Uint8Array.from(atob(data), (character) => character.charCodeAt(0))) ?? {};
    pixels += width * height;
  }
  return pixels <= maxPixels;
}
