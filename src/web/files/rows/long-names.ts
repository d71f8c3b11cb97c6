import { escapeInvisible, visibleControls } from '../../../lib/display-name.ts';
import { byId, make } from '../../shared/dom.ts';
import { allRows, isWritten, type Row, rowLink, rowName, whenRowIsWritten } from './rows.ts';

/** Shorter names always fit into two lines. */
const alwaysFits = 24;

/** Characters before the extension that stay visible, because versions and numbers are there. */
const keptBefore = 6;

/** Share of two lines that can be filled: words leave room at the end of the first line. */
const filled = 1.75;

const ruler = document.createElement('canvas').getContext('2d');

let stop = () => {};

/** A name that a table shows in a link. */
interface ShownName {
  link: HTMLAnchorElement;
  name: string;
}

/** Keeps the names of the rows of a folder short. */
export function startLongNames(): void {
  const shown = (row: Row) => ({ link: rowLink(row), name: rowName(row) });
  const fit = keepShort(byId('list'), () => allRows().filter(isWritten).map(shown));
  whenRowIsWritten((row) => fit([shown(row)]));
}

/**
 * Shows at most two lines of each name, with an ellipsis before its end and extension; screen readers and the tooltip have the whole name.
 * @param shown all names of the table: they are fitted again when its width changes
 * @param draw makes the nodes of a part of a name
 * @returns fits names, with the next frame
 */
export function keepShort(
  table: HTMLElement,
  shown: () => ShownName[],
  draw: (part: string) => (Node | string)[] = (part) => [part],
): (names: readonly ShownName[]) => void {
  stop();
  const waiting = new Map<HTMLAnchorElement, string>();
  let frame = 0;
  const fitLater = (names: readonly ShownName[]) => {
    for (const { link, name } of names) if (name.length > alwaysFits) waiting.set(link, name);
    if (waiting.size > 0 && frame === 0) frame = requestAnimationFrame(fitAll);
  };
  const fitAll = () => {
    frame = 0;
    const sample = table.querySelector('tbody a.i');
    if (!sample || !ruler || sample.clientWidth === 0) return;
    const isGrid = table.classList.contains('grid');
    const { paddingInlineStart, columnGap } = getComputedStyle(sample);
    const taken = isGrid ? 2 * Number.parseFloat(paddingInlineStart) : Number.parseFloat(columnGap) + 26;
    for (const [link, name] of waiting) fit(link, name, sample.clientWidth - taken, draw);
    waiting.clear();
  };
  const fitAgain = () => fitLater(shown());
  table.addEventListener('viewchange', fitAgain);
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = entry?.contentRect.width ?? 0;
    if (now !== width && width !== 0) fitAgain();
    width = now;
  });
  observer.observe(table);
  stop = () => observer.disconnect();
  return fitLater;
}

function fit(link: HTMLAnchorElement, name: string, width: number, draw: (part: string) => (Node | string)[]): void {
  const whole = escapeInvisible(visibleControls(name));
  if (!ruler) return;
  const { fontFamily, fontSize } = getComputedStyle(link);
  ruler.font = `${link.classList.contains('folder') ? 600 : 400} ${fontSize} ${fontFamily}`;
  const parts = middleCut(whole, filled * width);
  if (!parts && link.title === '') return;
  let place = link.querySelector('bdi');
  if (!place) {
    place = make('bdi');
    link.lastChild?.replaceWith(place);
  }
  link.title = parts ? whole : '';
  // The whole name is in the page, for screen readers and copying.
  const [start, gap, end] = parts ?? [whole];
  place.replaceChildren(...draw(start), ...(gap === undefined ? [] : [make('span.gap', make('span.hidden', gap)), ...draw(end ?? '')]));
}

/** The longest beginning of a name that fits with its end, the part between, and the end; undefined for a name that fits. @param width in CSS pixels */
function middleCut(name: string, width: number): [string, string, string] | undefined {
  const widthOf = (text: string) => ruler?.measureText(text).width ?? 0;
  if (widthOf(name) <= width) return undefined;
  const letters = [...new Intl.Segmenter().segment(name)].map(({ segment }) => segment);
  const dot = letters.lastIndexOf('.');
  const isExtension = dot > 0 && letters.length - dot <= 10;
  const endAt = Math.max(1, (isExtension ? dot : letters.length) - keptBefore);
  const end = letters.slice(endAt).join('');
  let [low, high] = [1, endAt];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widthOf(`${letters.slice(0, middle).join('')}…${end}`) <= width) low = middle;
    else high = middle - 1;
  }
  return [letters.slice(0, low).join(''), letters.slice(low, endAt).join(''), end];
}
