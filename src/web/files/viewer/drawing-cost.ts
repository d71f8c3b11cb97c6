import { pictureHead } from '../thumbnails/picture-head.ts';
import { StyleReader } from './drawing-styles.ts';

/** Elements of a drawing up to which it is shown, with all copies that it makes of them. */
const mostElements = 50_000;

/** Elements inside each other, and references to others. */
const deepest = 200;

/** What one step of a filter counts: it works on a whole picture. */
const filterStep = 200;

/** What an element of HTML counts. */
const htmlElement = 5;

/** Pixels of all pictures in a drawing. */
const mostPixels = 100_000_000;

/** Whether an element is one of HTML, when the namespace has lost its meaning, too (drawing.ts). */
const isHtml = ({ namespaceURI }: Element) => namespaceURI?.endsWith('/1999/xhtml') === true;

/** What an element takes from another one at its own place; what all other properties name counts for each element inside. */
const ofItself = ['filter', 'backdrop-filter', 'mask', 'mask-image', 'clip-path'];

const animations = ['set', 'animate', 'animateTransform', 'animateMotion'];

/** IDs that do not end where a reference ends. They are looked for one by one. */
const mostOddIds = 500;

/** Shaders: they draw no elements. */
const gradients = ['linearGradient', 'radialGradient'];

/** What cannot be told, or is too much. */
class TooMuch extends Error {}

/**
 * Whether a browser shows a drawing (SVG) as a picture in a moment. A few lines can ask for more elements than there are atoms: by copies of copies
 * (`use`), patterns in patterns, a mark on each point of a line, filters. What cannot be told is no.
 *
 * @param drawing as it was parsed, without anything loaded or run
 */
export function isDrawable(drawing: Document): boolean {
  try {
    return new Drawing(drawing).cost() <= mostElements;
  } catch (error) {
    if (error instanceof TooMuch) return false;
    throw error;
  }
}

/** Values of an element by the names of its attributes and properties. */
type Value = readonly [name: string, value: string];

class Drawing {
  readonly #root: Element;
  readonly #byId = new Map<string, Element[]>();
  readonly #styles: StyleReader;
  readonly #oddIds: string[];
  readonly #hasMarkers: boolean;
  readonly #known = new Map<Element, number>();
  readonly #under = new Set<Element>();
  #pixels = 0;

  constructor(drawing: Document) {
    const all = [...drawing.getElementsByTagName('*')];
    const hasOtherStyles = [...drawing.childNodes].some(({ nodeType }) => nodeType === Node.PROCESSING_INSTRUCTION_NODE);
    const isLinked = all.some((element) => element.localName === 'link' && isHtml(element));
    if (all.length > mostElements || hasOtherStyles || isLinked) throw new TooMuch();
    this.#styles = new StyleReader(drawing);
    if (!this.#styles.isClear) throw new TooMuch();
    this.#root = drawing.documentElement;
    for (const element of all) if (element.id !== '') this.#byId.set(element.id, [...(this.#byId.get(element.id) ?? []), element]);
    this.#oddIds = [...this.#byId.keys()].filter((id) => /[\s"'),;#%]/.test(id));
    if (this.#oddIds.length > mostOddIds) throw new TooMuch();
    this.#hasMarkers = all.some(({ localName }) => localName === 'marker');
  }

  cost(): number {
    return this.#costOf(this.#root);
  }

  #costOf(element: Element): number {
    const known = this.#known.get(element);
    if (known !== undefined) return known;
    if (this.#under.has(element) || this.#under.size >= deepest) throw new TooMuch();
    this.#under.add(element);
    let cost = this.#own(element);
    for (const child of element.children) cost += this.#costOf(child);
    let once = 0;
    let each = 0;
    for (const [name, value] of this.#valuesOf(element)) {
      if (isOpen(name, value)) throw new TooMuch();
      if (name === 'href' || value.includes('url(') || isHtml(element)) this.#countPictures(value);
      if (name === 'href') cost += this.#named(value);
      else if (ofItself.includes(name)) once += this.#named(value) + filterStep * (value.match(/\b(blur|drop-shadow)\(/g)?.length ?? 0);
      else each += this.#named(value);
    }
    this.#under.delete(element);
    const whole = cost * (1 + each) + once;
    if (!(whole <= mostElements)) throw new TooMuch();
    this.#known.set(element, whole);
    return whole;
  }

  /** What an element counts without what is in it. */
  #own(element: Element): number {
    const number = (name: string) => Math.max(1, Number.parseFloat(element.getAttribute(name) ?? '') || 1);
    const { localName } = element;
    if (localName === 'feTurbulence') return filterStep * number('numOctaves');
    if (localName === 'feConvolveMatrix') return filterStep * number('order') ** 2;
    if (/^fe(?!Merge.|Func|.*Light$)/.test(localName)) return filterStep;
    if (isHtml(element)) return htmlElement;
    const points = element.getAttribute('d') ?? element.getAttribute('points') ?? '';
    const text = localName === 'text' ? (element.textContent?.length ?? 0) : 0;
    return 1 + points.length / (this.#hasMarkers ? 4 : 500) + text / 20;
  }

  *#valuesOf(element: Element): Generator<Value> {
    const isAnimation = animations.includes(element.localName);
    for (const { localName, namespaceURI, value } of element.attributes) {
      const isLink = localName === 'href';
      // What a link leads to is not drawn, and an animation is drawn where it stands.
      if (localName === 'style' || (isLink && (element.localName === 'a' || isAnimation))) continue;
      if (isAnimation && /url\(|\\/.test(value)) throw new TooMuch();
      if (isLink || namespaceURI === null) yield [isAnimation ? 'href' : localName, this.#styles.plain(localName, value)];
    }
    yield* this.#styles.of(element);
  }

  /** What the elements count that a value names: by `#ID`, alone or in `url()`, after the URL of the drawing itself or not. */
  #named(value: string): number {
    if (!value.includes('#')) return 0;
    const text = decoded(value);
    const ids = new Set([...text.matchAll(/#([^\s"'),;]+)/g)].map(([, id]) => id as string));
    for (const id of this.#oddIds) if (text.includes(`#${id}`) || value.includes(`#${id}`)) ids.add(id);
    let cost = 0;
    for (const id of ids)
      for (const element of this.#byId.get(id) ?? []) if (!gradients.includes(element.localName)) cost += this.#costOf(element);
    return cost;
  }

  /** A picture inside counts by its pixels; a drawing or a style inside is not looked at. */
  #countPictures(value: string): void {
    for (const [, type, data] of value.replace(/[\t\n\r]/g, '').matchAll(/data:([^,]*),([\w+/=%]*)/gi)) {
      if (/^font\//i.test(type ?? '')) continue;
      const head = /^image\/(png|jpe?g|gif|webp|avif|bmp)\s*;\s*base64$/i.test(type ?? '') ? headOf(data ?? '') : undefined;
      this.#pixels += head ? head.width * head.height : Number.POSITIVE_INFINITY;
      if (this.#pixels > mostPixels) throw new TooMuch();
    }
  }
}

/** Whether what a property names cannot be told: it is said elsewhere. */
function isOpen(name: string, value: string): boolean {
  if (name.startsWith('--')) return /url\(|\\/.test(value);
  return name === 'srcset' || ((ofItself.includes(name) || name === 'all') && /\b(inherit|var\()/.test(value));
}

function decoded(value: string): string {
  return value.replace(/(%[\da-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function headOf(base64: string): { width: number; height: number } | undefined {
  try {
    return pictureHead(Uint8Array.from(atob(decoded(base64)), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
