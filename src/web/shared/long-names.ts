import { escapeInvisible, visibleControls } from '../../lib/display-name.ts';
import { make } from './dom.ts';

/** A name of at most this many characters certainly fits into two lines. */
const alwaysFits = 24;

/** Number of characters before the extension that stay visible, because versions and numbers are often there. */
const keptBefore = 6;

/** Minimum number of characters of the beginning if the end is longer than usual. */
const keptStart = 10;

/** Maximum number of characters by which a cut is moved to the beginning of a word. */
const wordLength = 10;

/** Width of a wide letter in CSS pixels. */
const letterPx = 14;

const maxLines = 2;

/** Where browsers break lines: after spaces, after the ellipsis, and after hyphens that are not minus signs and not before the ellipsis. */
const breaks = /(?<=[\s…])|(?<=\w-|-(?!\d))(?!…)/;

const ruler = document.createElement('canvas').getContext('2d');

let stop = () => {};

interface ShownName {
  link: HTMLElement;
  name: string;
}

/**
 * Shows at most two lines of each name. In a longer name, an ellipsis replaces a part before its last number. Screen readers and the tooltip
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
 * Divides a name that is too long. The parts are shown and hidden alternately: the longest beginning that fits, a hidden part, and the end,
 * both cut between words if possible. If that hides the match, the end is only the extension, or it begins at the match. If nothing of this
 * shows the match, it is between two hidden parts.
 *
 * @param width in CSS pixels
 * @returns undefined if the name fits
 */
export function middleCut(
  name: string,
  width: number,
  match: [from: number, to: number] | undefined,
  lineCount = maxLines,
): string[] | undefined {
  if (fits(name, width, lineCount)) return undefined;
  const lettersOf = (part: string) => [...new Intl.Segmenter().segment(part)].map(({ segment }) => segment);
  const letters = lettersOf(name);
  const joined = (from: number, to?: number) => letters.slice(from, to).join('');
  const isLetter = (at: number) => /[\p{L}\p{N}([]/u.test(letters[at] ?? '');
  const wordStart = (at: number, least: number) => {
    let start = at;
    while (start > least && isLetter(start) && isLetter(start - 1)) start -= 1;
    return start > least ? start : at;
  };
  const cut = (endAt: number, from = 0, lead = '') => {
    const end = joined(endAt);
    let [low, high] = [from + 1, endAt];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (fits(`${lead}${joined(from, middle)}…${end}`, width, lineCount)) low = middle;
      else high = middle - 1;
    }
    const cutAt = wordStart(low, (from + low) / 2);
    return [joined(from, cutAt), joined(cutAt, endAt), end];
  };
  const dot = letters.lastIndexOf('.');
  const extensionAt = dot > 0 && letters.length - dot <= 10 ? dot : letters.length;
  const lastAt = Math.max(1, extensionAt - keptBefore);
  const hasStart = ([start = '']: string[]) => start.length >= keptStart;
  let endAt = wordStart(lastAt, lastAt - wordLength);
  let usual = cut(endAt);
  if (!hasStart(usual)) {
    endAt = lastAt;
    usual = cut(endAt);
  }
  const isSeen = ([start = '']: string[]) => !match || start.length >= match[1];
  const first = lettersOf(name.slice(0, match?.[0])).length;
  if (isSeen(usual) || first >= endAt) return usual;
  const short = cut(extensionAt);
  if (isSeen(short)) return short;
  const atMatch = cut(wordStart(first, first - wordLength));
  if (hasStart(atMatch)) return atMatch;
  const lead = joined(0, keptBefore);
  return [lead, joined(keptBefore, first), ...cut(endAt, first, `${lead}…`)];
}
