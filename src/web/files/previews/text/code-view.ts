import { make } from '../../../shared/dom.ts';
import { pause } from '../turns.ts';
import { Colours } from './colours.ts';
import type { Language } from './languages.ts';

/** Lines that the browser lays out together, when they come into sight. */
const groupLines = 50;

/** Longer lines, in characters, have no colours. */
const longestColoured = 2000;

/** Longer lines are laid out in pieces: the browser takes the square of the length to break one. */
const longestPiece = 10_000;

/**
 * Fills an element with a text, in turns with the page, so that neither many lines nor long ones hold it up.
 *
 * @param language undefined for a text without colours
 * @throws the reason of `signal`, once nobody wants the outcome any more
 */
export async function fillCode(element: HTMLElement, text: string, language: Language | undefined, signal: AbortSignal): Promise<void> {
  const colours = language && new Colours(language);
  let group: Node[] = [];
  const finish = () => {
    if (group.length > 0) element.append(make('span', { className: 'lines' }, ...group));
    group = [];
  };
  for (let at = 0, count = 1; at < text.length; count++) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found + 1;
    const line = text.slice(at, end);
    at = end;
    if (line.length > longestColoured) {
      finish();
      for (let from = 0; from < line.length; from += longestPiece) {
        group.push(new Text(line.slice(from, from + longestPiece)));
        finish();
        await pause(signal);
      }
    } else {
      group.push(...(colours ? coloured(colours, line) : [new Text(line)]));
    }
    if (count % groupLines === 0) finish();
    await pause(signal);
  }
  finish();
}

function coloured(colours: Colours, line: string): Node[] {
  const [, content = '', end = ''] = /^(.*?)(\r?\n)?$/s.exec(line) ?? [];
  const parts = colours
    .partsOf(content)
    .map(({ text, colour }) => (colour === undefined ? new Text(text) : make('span', { className: `c-${colour}` }, text)));
  return [...parts, new Text(end)];
}
