import { make } from '../../../shared/dom.ts';
import { sharedText, sizeText } from '../../../shared/locale.ts';
import { pause } from '../pause.ts';
import { previewText } from '../preview-text.ts';
import { colourLines, findLanguage } from './languages.ts';
import type { DocumentPlace } from './markdown-tokens.ts';
import { inSteps } from './steps.ts';

/** Returns the nodes of a line. */
type LineNodes = (line: string) => Node[];

/** A text to show, which is a file or a member of an archive. */
export interface TextContent {
  name: string;
  sizeBytes: number;
  /** The location of the text; undefined if relative links in it cannot be resolved. */
  place: DocumentPlace | undefined;
  start(lengthBytes: number): Promise<Uint8Array>;
  /** Reads the last bytes. Only for files, because a member of an archive is unpacked from its beginning. */
  end?(lengthBytes: number): Promise<Uint8Array>;
}

export function isLog(name: string): boolean {
  return /\.log$/i.test(name);
}

/** Decodes text in UTF-8 or UTF-16. Any other text counts as windows-1252. @returns undefined for binary content */
export function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const utf16 = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
  if (utf16 !== undefined) return new TextDecoder(utf16).decode(bytes);
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Maximum number of bytes of a table or a text that are read step by step. */
export const maxGrownBytes = 16 * 1024 * 1024;

/** Number of lines that the browser lays out together when they scroll into view. */
const groupLines = 50;

const longestColoured = 2000;

/**
 * Maximum length, in characters, of the pieces into which a very long line is split. The time that the browser takes to wrap a piece grows
 * with the square of its length.
 */
const longestPiece = 10_000;

/**
 * Fills an element with a text, and lets the page react meanwhile.
 * @param before number of lines before the text, if the lines are numbered
 * @throws the reason of `signal` if it is aborted
 */
export async function fillCode(
  element: HTMLElement,
  text: string,
  nodesOf: LineNodes | undefined,
  signal: AbortSignal,
  before?: number,
): Promise<void> {
  let group: Node[] = [];
  let finished = 0;
  const finish = (done: number) => {
    if (group.length > 0) {
      const lines = make('span.lines', ...group);
      // The browser counts the lines of each group apart, because it lays out only groups in view.
      const [first] = lines.children;
      if (before !== undefined && first instanceof HTMLElement) {
        lines.classList.add('numbered');
        first.style.counterReset = `line ${before + finished}`;
      }
      element.append(lines);
    }
    finished = done;
    group = [];
  };
  for (let at = 0, count = 1; at < text.length; count++) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found + 1;
    const line = text.slice(at, end);
    at = end;
    if (line.length > longestColoured) {
      finish(count - 1);
      for (let from = 0; from < line.length; from += longestPiece) {
        group.push(new Text(line.slice(from, from + longestPiece)));
        finish(count);
        await pause(signal);
      }
    } else {
      group.push(...(nodesOf?.(line) ?? [new Text(line)]));
    }
    if (count % groupLines === 0) finish(count);
    await pause(signal);
  }
  finish(0);
}

/** Puts a line of a log into a block, so that its number stands before it, and a wrapped line is indented. */
export const lineOfLog: LineNodes = (line) => [make('span.line', line.replace(/\r?\n$/, ''))];

function coloured(partsOf: ReturnType<typeof colourLines>, line: string): Node[] {
  const [, content = '', end = ''] = /^(.*?)(\r?\n)?$/s.exec(line) ?? [];
  const parts = partsOf(content).map(({ text, colour }) =>
    colour === undefined ? new Text(text) : make('span', { className: `c-${colour}` }, text),
  );
  return [...parts, new Text(end)];
}

function nodesOf(name: string): LineNodes | undefined {
  if (isLog(name)) return lineOfLog;
  const language = findLanguage(name);
  const partsOf = language && colourLines(language);
  return partsOf && ((line) => coloured(partsOf, line));
}

/** Shows a text unchanged. The element is filled step by step. */
export function program(source: string, name: string, signal: AbortSignal): HTMLElement {
  const element = make('pre');
  // `fillCode` rejects when another file is shown. In that case, nothing remains to be done.
  fillCode(element, source, nodesOf(name), signal).catch(() => {});
  return element;
}

/** Maximum number of lines, and of characters, that each step of a long text shows. The second limit is for files with few line breaks. */
const stepLines = 1000;
const stepCharacters = 512 * 1024;

interface Step {
  end: number;
  lines: number;
  /** Whether the step stays the same even if more of the text is loaded. */
  isFull: boolean;
}

/**
 * Returns the next step of a text.
 *
 * @param isWhole whether the text is complete. If it is not, its last line is perhaps cut off, so it is omitted
 */
function nextStep(text: string, from: number, isWhole: boolean): Step {
  let end = from;
  for (let lines = 0; lines < stepLines; lines++) {
    const found = text.indexOf('\n', end);
    const next = found < 0 ? text.length : found + 1;
    if (next - from > stepCharacters) return { end: lines > 0 ? end : from + stepCharacters, lines, isFull: true };
    if (found < 0) return isWhole && end < next ? { end: next, lines: lines + 1, isFull: false } : { end, lines, isFull: false };
    end = next;
  }
  return { end, lines: stepLines, isFull: true };
}

function countLines(text: string): number {
  let count = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Shows the first lines of a long text, and more on request. @param readBytes number of bytes from which `first` was decoded */
export function growingText(content: TextContent, first: string, readBytes: number, signal: AbortSignal): HTMLElement {
  const { name, sizeBytes } = content;
  const element = make('pre');
  const nodes = nodesOf(name);
  let loaded = readBytes;
  let source = first;
  let total = loaded >= sizeBytes ? countLines(source) : undefined;
  let shown = 0;
  let done = 0;
  const mayRead = () => loaded < Math.min(sizeBytes, maxGrownBytes);
  const steps = inSteps(async () => {
    let step = nextStep(source, shown, total !== undefined);
    while (!step.isFull && mayRead()) {
      const wanted = Math.min(sizeBytes, maxGrownBytes, 2 * loaded);
      source = decodeText(await content.start(wanted)) ?? source;
      loaded = wanted;
      if (loaded >= sizeBytes) total = countLines(source);
      step = nextStep(source, shown, total !== undefined);
    }
    const part = source.slice(shown, step.end);
    shown = step.end;
    await fillCode(element, part, nodes, signal, isLog(name) ? done : undefined);
    done += step.lines;
    const isEnd = nextStep(source, shown, total !== undefined).end === shown && !mayRead();
    if (total !== undefined && isEnd) return { words: undefined, next: 0 };
    // The part ends within a line, so the progress is shown in bytes instead of lines.
    if (!part.endsWith('\n')) {
      const doneBytes = Math.round((shown / source.length) * loaded);
      return { words: sharedText('running', { done: sizeText(doneBytes), total: sizeText(sizeBytes) }), next: isEnd ? 0 : undefined };
    }
    if (total === undefined) return { words: previewText('firstLines', { count: done }), next: isEnd ? 0 : stepLines };
    return { words: sharedText('running', { done, total }), next: Math.min(stepLines, total - done) };
  }, signal);
  return make('div.values', element, steps.element);
}
