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

/**
 * Shows at most two lines of each name, with an ellipsis before its end and extension; screen readers and the tooltip have the whole name.
 */
export function startLongNames(): void {
  stop();
  const list = byId('list');
  const waiting = new Set<Row>();
  let frame = 0;
  const fitLater = (rows: Iterable<Row>) => {
    for (const row of rows) if (rowName(row).length > alwaysFits) waiting.add(row);
    if (waiting.size > 0 && frame === 0) frame = requestAnimationFrame(fitAll);
  };
  const fitAll = () => {
    frame = 0;
    const sample = list.querySelector<HTMLTableRowElement>('tbody tr');
    const link = sample?.cells[1]?.querySelector('a');
    if (!link || !ruler || link.clientWidth === 0) return;
    const isGrid = list.classList.contains('grid');
    const { paddingInlineStart, columnGap } = getComputedStyle(link);
    const taken = isGrid ? 2 * Number.parseFloat(paddingInlineStart) : Number.parseFloat(columnGap) + 26;
    for (const row of waiting) fit(row, link.clientWidth - taken, getComputedStyle(link));
    waiting.clear();
  };
  whenRowIsWritten((row) => fitLater([row]));
  const fitAgain = () => fitLater(allRows().filter(isWritten));
  list.addEventListener('viewchange', fitAgain);
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = entry?.contentRect.width ?? 0;
    if (now !== width && width !== 0) fitAgain();
    width = now;
  });
  observer.observe(list);
  stop = () => observer.disconnect();
}

function fit(row: Row, width: number, { fontFamily, fontSize }: CSSStyleDeclaration): void {
  const link = rowLink(row);
  const whole = escapeInvisible(visibleControls(rowName(row)));
  if (!ruler) return;
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
  place.replaceChildren(...(parts ? [parts[0], make('span.gap', make('span.hidden', parts[1])), parts[2]] : [whole]));
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
