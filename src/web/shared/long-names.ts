import { escapeInvisible, visibleControls } from '../../lib/display-name.ts';
import { make } from './dom.ts';

/** A name of at most this many characters certainly fits into two lines. */
const alwaysFits = 24;

/** Number of characters before the extension that stay visible, because versions and numbers are often there. */
const keptBefore = 6;

/** Width of a wide letter in CSS pixels. */
const letterPx = 14;

const maxLines = 2;

/** Where browsers break lines: after spaces, after the ellipsis, and after hyphens that are not minus signs. */
const breaks = /(?<=[\s…]|\w-|-(?!\d))/;

const ruler = document.createElement('canvas').getContext('2d');

let stop = () => {};

interface ShownName {
  link: HTMLElement;
  name: string;
}

/**
 * Shows at most two lines of each name. In a longer name, ellipses replace the parts around its last number. Screen readers and the tooltip
 * have the whole name.
 * @param shown returns all names of the table. The names are fitted again when the width of the table changes
 * @param draw creates the nodes of a part of a name
 * @returns a function that fits names in the next frame
 */
export function keepShort(
  table: HTMLElement,
  shown: () => ShownName[],
  draw: (part: string) => (Node | string)[] = (part) => [part],
): (names: readonly ShownName[]) => void {
  stop();
  const waiting = new Map<HTMLElement, string>();
  let frame = 0;
  const fitLater = (names: readonly ShownName[]) => {
    for (const { link, name } of names) if (name.length > alwaysFits) waiting.set(link, name);
    if (waiting.size > 0 && frame === 0) frame = requestAnimationFrame(fitAll);
  };
  const fitAll = () => {
    frame = 0;
    const sample = table.querySelector('tbody .i');
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

function fit(link: HTMLElement, name: string, width: number, draw: (part: string) => (Node | string)[]): void {
  const whole = escapeInvisible(visibleControls(name));
  measureAs(link, link.classList.contains('folder') ? 600 : 400);
  const parts = middleCut(whole, width, matchIn(draw(whole)) ?? lastNumber(whole));
  if (!parts && link.title === '') return;
  let place = link.querySelector('bdi');
  if (!place) {
    place = make('bdi');
    link.lastChild?.replaceWith(place);
  }
  link.title = parts ? whole : '';
  place.replaceChildren(...drawn(parts ?? [whole], draw));
}

/** Sets the font in which `fits` and `middleCut` measure names: the font of an element. */
export function measureAs(element: HTMLElement, weight = 400): void {
  const { fontFamily, fontSize } = getComputedStyle(element);
  if (ruler) ruler.font = `${weight} ${fontSize} ${fontFamily}`;
}

/** Creates the nodes of the parts of a name. The page contains also the hidden parts, for screen readers and copying. */
export function drawn(parts: readonly string[], draw: (part: string) => (Node | string)[] = (part) => [part]): (Node | string)[] {
  return parts.flatMap((part, index) => (index % 2 === 0 ? draw(part) : part === '' ? [] : [make('span.gap', make('span.hidden', part))]));
}

/** Returns the position of the last number before the extension, by which similar names often differ. */
export function lastNumber(name: string): [from: number, to: number] | undefined {
  const number = /\d+(?=\D*(\.[^.]{1,9})?$)/.exec(name);
  return number ? [number.index, number.index + number[0].length] : undefined;
}

function matchIn([before, mark]: readonly (Node | string)[]): [from: number, to: number] | undefined {
  if (typeof before !== 'string' || !(mark instanceof HTMLElement)) return undefined;
  return [before.length, before.length + (mark.textContent ?? '').length];
}

/** Returns whether a name fits into a number of lines. A word wider than a line begins on a new line. @param width in CSS pixels */
export function fits(name: string, width: number, lineCount = maxLines): boolean {
  let [lines, used] = [1, 0];
  for (const word of name.split(breaks)) {
    const wide = ruler?.measureText(word).width ?? 0;
    if (used > 0 && used + wide > width) [lines, used] = [lines + 1, 0];
    // A word that is wider than a line is broken between letters. Up to the width of one letter stays empty at the end of each line.
    const more = Math.max(0, Math.ceil(wide / (width - letterPx)) - 1);
    lines += more;
    used += wide - more * (width - letterPx);
  }
  return lines <= lineCount;
}

/**
 * Divides a name that is too long. The parts are shown and hidden alternately: the longest beginning that fits is shown, the middle is
 * hidden, and the end is shown. If that would hide the match, the match is shown, too, with a hidden part on each side.
 *
 * @param width in CSS pixels
 * @returns undefined if the name fits
 */
export function middleCut(name: string, width: number, match: [from: number, to: number] | undefined): string[] | undefined {
  if (fits(name, width)) return undefined;
  const letters = [...new Intl.Segmenter().segment(name)].map(({ segment }) => segment);
  const dot = letters.lastIndexOf('.');
  const isExtension = dot > 0 && letters.length - dot <= 10;
  const endAt = Math.max(1, (isExtension ? dot : letters.length) - keptBefore);
  const end = letters.slice(endAt).join('');
  let [low, high] = [1, endAt];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(`${letters.slice(0, middle).join('')}…${end}`, width)) low = middle;
    else high = middle - 1;
  }
  const joined = (from: number, to?: number) => letters.slice(from, to).join('');
  const [start, gap] = [joined(0, low), joined(low, endAt)];
  if (!match || match[1] <= start.length || match[0] >= start.length + gap.length) return [start, gap, end];
  const [first, last] = match.map((at) => [...new Intl.Segmenter().segment(name.slice(0, at))].length) as [number, number];
  const head = Math.min(keptBefore, first);
  const tail = Math.max(endAt, last);
  const around = (more: number) => {
    const [from, to] = [Math.max(head, first - more), Math.min(tail, last + more)];
    return [joined(0, head), joined(head, from), joined(from, to), joined(to, tail), joined(tail)];
  };
  let shown = around(0);
  for (let more = 1; more < letters.length; more += 1) {
    const wider = around(more);
    if (!fits(wider.filter((_, index) => index % 2 === 0).join('…'), width)) break;
    shown = wider;
  }
  return shown;
}
