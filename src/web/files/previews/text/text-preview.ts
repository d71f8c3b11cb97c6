import { make, makeButton } from '../../../shared/dom.ts';
import { sharedText, sizeText } from '../../../shared/locale.ts';
import { growingList } from '../growing-list.ts';
import { pause } from '../pause.ts';
import { previewText } from '../preview-text.ts';
import type { RemoteFile } from '../remote-file.ts';
import { type Json, readJson } from './json.ts';
import { colourLines, findLanguage, type Language } from './languages.ts';
import { scrollable, showMarkdown } from './markdown.ts';
import type { DocumentPlace } from './markdown-tokens.ts';
import { readSeparatedValues } from './separated-values.ts';

/** Members that each step of a list shows. */
const batch = 100;

/** Characters of a text that are shown. */
const maxValueCharacters = 2000;

/** Shows JSON as a tree that unfolds; folded parts have no elements yet. */
function showJson(value: Json): HTMLElement {
  const root = make('ul.tree', make('li', ...shown(undefined, value)));
  const first = root.querySelector('details');
  if (first) first.open = true;
  return root;
}

function shown(name: string | undefined, value: Json): Node[] {
  const label = name === undefined ? [] : [make('span.c-property', cut(name)), new Text(': ')];
  if (value.kind === 'string') return [...label, make('span.c-string', JSON.stringify(cut(value.text)))];
  if (value.kind === 'other') return [...label, make('span.c-number', cut(value.text))];
  const [open, end] = value.kind === 'object' ? ['{', '}'] : ['[', ']'];
  const count = memberCount(value);
  if (count === 0) return [...label, new Text(open + end)];
  const summary = make('summary', ...label, `${open} `, make('span.hint', previewText('values', { count })), ` ${end}`);
  const details = make('details', summary);
  details.addEventListener('toggle', () => void unfold(details, value), { once: true });
  return [details];
}

type Folded = Extract<Json, { kind: 'object' | 'array' }>;

async function unfold(details: HTMLElement, value: Folded): Promise<void> {
  let count = 0;
  const next = () => {
    const from = count;
    count = Math.min(count + batch, memberCount(value));
    return entries(value, from, count).map(([name, entry]) => make('li', ...shown(name, entry)));
  };
  details.append(await growingList({ next, isAtEnd: () => count >= memberCount(value) }));
}

function memberCount(value: Folded): number {
  return value.kind === 'object' ? value.members.length : value.values.length;
}

function entries(value: Folded, from: number, to: number): [name: string, value: Json][] {
  if (value.kind === 'object') return value.members.slice(from, to);
  return value.values.slice(from, to).map((entry, index) => [String(from + index), entry]);
}

function cut(content: string): string {
  return content.length > maxValueCharacters ? `${content.slice(0, maxValueCharacters)}…` : content;
}

const root = '/home/';

/** Shows a file that is a text. @throws Refusal */
export function show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = file;
  const place = { url: new URL(file.url, location.href).href, rootUrl: new URL(root, location.href).href };
  return showText({ name, sizeBytes, place, start: (lengthBytes) => file.read(0, lengthBytes) }, signal);
}

/** Decodes Unicode, else windows-1252. @returns undefined for binary content */
function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const utf16 = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
  if (utf16 !== undefined) return new TextDecoder(utf16).decode(bytes);
  if (bytes.includes(0)) return undefined;
  try {
    // The end may be in the middle of a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Rows that each step shows, of wide tables fewer. */
const stepRows = 1000;
const maxColumns = 100;
const maxCells = 10_000;

/** Bytes of a table or a text that are read in steps at most. */
const maxGrownBytes = 16 * 1024 * 1024;

/** Characters of a value that are shown. */
const maxCharacters = 500;

/** Shows separated values in steps, with the names of their columns always in sight; undefined when there are none. */
async function showTable(content: TextContent, source: string, readBytes: number, signal: AbortSignal): Promise<Node | undefined> {
  const { sizeBytes } = content;
  let loaded = readBytes;
  let [names, ...rows] = readSeparatedValues(source, Number.POSITIVE_INFINITY, loaded >= sizeBytes).records;
  if (names === undefined) return undefined;
  const width = rows.reduce((most, record) => Math.max(most, record.length), names.length);
  const columns = Math.min(width, maxColumns);
  const step = Math.min(stepRows, Math.floor(maxCells / columns));
  const body = make('tbody');
  const counter = make('p.hint', { role: 'status' });
  const button = makeButton('', 'down', () => void grow());
  const mayRead = () => loaded < Math.min(sizeBytes, maxGrownBytes);
  const grow = async () => {
    button.disabled = true;
    const from = body.rows.length;
    if (from + step > rows.length && mayRead()) {
      loaded = Math.min(sizeBytes, maxGrownBytes, 2 * loaded);
      const text = decodeText(await content.start(loaded)) ?? '';
      [names = [], ...rows] = readSeparatedValues(text, Number.POSITIVE_INFINITY, loaded >= sizeBytes).records;
    }
    for (const row of rows.slice(from, from + step)) {
      body.append(cells(row, columns, 'td'));
      await pause(signal);
    }
    const shown = body.rows.length;
    const isAll = loaded >= sizeBytes;
    counter.textContent = isAll ? sharedText('running', { done: shown, total: rows.length }) : previewText('firstRows', { count: shown });
    counter.hidden = isAll && shown === rows.length;
    button.hidden = shown >= rows.length && !mayRead();
    button.lastChild?.replaceWith(previewText('showMoreRows', { count: isAll ? Math.min(step, rows.length - shown) : step }));
    button.disabled = false;
  };
  button.append(previewText('showMore'));
  await grow();
  const hint = width > columns && make('p.hint', previewText('firstColumns', { count: columns }));
  const table = make('table', make('thead', cells(names, columns, 'th')), body);
  return make('div.values', hint, scrollable(table, previewText('table')), make('div.row', counter, button));
}

function cells(record: readonly string[], columns: number, name: 'td' | 'th'): HTMLElement {
  const row = make('tr');
  for (let index = 0; index < columns; index++) {
    const value = record[index] ?? '';
    const isNumber = name === 'td' && /^[-+]?[\d.,\s]*\d%?$/.test(value) && value.length < 40;
    const shown = value.length > maxCharacters ? `${value.slice(0, maxCharacters)}…` : value;
    row.append(make(shown.trim() === '' ? 'td' : name, { className: isNumber ? 'right' : '' }, shown));
  }
  return row;
}

/** Lines that the browser lays out together, when they come into sight. */
const groupLines = 50;

/** Longer lines, in characters, have no colours. */
const longestColoured = 2000;

/** Longer lines are laid out in pieces: breaking a line takes the browser quadratic time. */
const longestPiece = 10_000;

/** Fills an element with a text, yielding to the page. @throws the reason of `signal` once that aborts */
async function fillCode(element: HTMLElement, text: string, language: Language | undefined, signal: AbortSignal): Promise<void> {
  const partsOf = language && colourLines(language);
  let group: Node[] = [];
  const finish = () => {
    if (group.length > 0) element.append(make('span.lines', ...group));
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
      group.push(...(partsOf ? coloured(partsOf, line) : [new Text(line)]));
    }
    if (count % groupLines === 0) finish();
    await pause(signal);
  }
  finish();
}

function coloured(partsOf: ReturnType<typeof colourLines>, line: string): Node[] {
  const [, content = '', end = ''] = /^(.*?)(\r?\n)?$/s.exec(line) ?? [];
  const parts = partsOf(content).map(({ text, colour }) =>
    colour === undefined ? new Text(text) : make('span', { className: `c-${colour}` }, text),
  );
  return [...parts, new Text(end)];
}

/** Bytes of a text that are shown; most texts are there with these first ones. */
export const firstBytes = 512 * 1024;

/** JSON is folded when it is no larger: it has to be there as a whole. */
const maxJsonBytes = 2 * 1024 * 1024;

/** Markdown is laid out when it is no larger. */
const maxMarkdownBytes = 256 * 1024;

/** A text that is to be shown: a file, or a member of an archive. */
interface TextContent {
  name: string;
  sizeBytes: number;
  /** Where it stands; undefined when links in it have nothing to start from. */
  place: DocumentPlace | undefined;
  start(lengthBytes: number): Promise<Uint8Array>;
}

/** Shows a text: Markdown laid out, separated values as a table, JSON folded, programs in colours; of long ones the beginning. */
export async function showText(content: TextContent, signal: AbortSignal): Promise<HTMLElement> {
  if (content.sizeBytes === 0) return make('p.trouble', previewText('emptyFile'));
  const form = textForm(content);
  const bytes = await content.start(Math.min(content.sizeBytes, form === 'json' ? maxJsonBytes : firstBytes));
  const source = decodeText(bytes);
  if (source === undefined) return make('p.trouble', previewText('noText'));
  const isWhole = bytes.length >= content.sizeBytes;
  const showSource = () => (isWhole ? program(source, content.name, signal) : growingText(content, source, bytes.length, signal));
  const showProgram = (part: string, language: string) => program(part, `.${language}`, signal);
  let formatted: Node | undefined;
  if (form === 'markdown') formatted = await showMarkdown(source, { place: content.place, signal, showProgram });
  else if (form === 'table') formatted = await showTable(content, source, bytes.length, signal);
  else if (form === 'json') {
    const value = await readJson(source, signal);
    formatted = value && showJson(value);
  }
  return make('div.text-preview', ...(formatted ? either(formatted, showSource) : [showSource()]));
}

type Form = 'markdown' | 'table' | 'json';

function textForm({ name, sizeBytes }: TextContent): Form | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (['md', 'markdown'].includes(extension)) return sizeBytes <= maxMarkdownBytes ? 'markdown' : undefined;
  if (['csv', 'tsv'].includes(extension)) return 'table';
  return ['json', 'jsonld', 'geojson', 'webmanifest', 'map'].includes(extension) && sizeBytes <= maxJsonBytes ? 'json' : undefined;
}

/** Shows a text as it is, filled step by step. */
function program(source: string, name: string, signal: AbortSignal): HTMLElement {
  const element = make('pre');
  // It ends when another file is shown.
  fillCode(element, source, findLanguage(name), signal).catch(() => {});
  return element;
}

/** Shows the beginning of a long text, and more of it on demand. */
function growingText(content: TextContent, first: string, readBytes: number, signal: AbortSignal): HTMLElement {
  const { name, sizeBytes } = content;
  const element = make('pre');
  const counter = make('p.hint', { role: 'status' });
  const button = makeButton(previewText('showMore'), 'down', () => void grow());
  let loaded = readBytes;
  let source = first;
  let shownCharacters = 0;
  const draw = async () => {
    // A line that is cut comes whole with the next part.
    const end = loaded < sizeBytes ? source.lastIndexOf('\n') + 1 || source.length : source.length;
    const part = source.slice(shownCharacters, end);
    shownCharacters = end;
    counter.textContent = sharedText('running', { done: sizeText(loaded), total: sizeText(sizeBytes) });
    button.hidden = loaded >= Math.min(sizeBytes, maxGrownBytes);
    await fillCode(element, part, findLanguage(name), signal);
  };
  const grow = async () => {
    button.disabled = true;
    loaded = Math.min(sizeBytes, maxGrownBytes, 2 * loaded);
    source = decodeText(await content.start(loaded)) ?? source;
    button.disabled = false;
    await draw();
  };
  // It ends when another file is shown.
  draw().catch(() => {});
  return make('div.values', element, make('div.row', counter, button));
}

/** The formatted text with a button that shows the source instead. */
function either(formatted: Node, makeSource: () => HTMLElement): Node[] {
  let source: HTMLElement | undefined;
  const place = make('div.formatted', formatted);
  const change = makeButton(previewText('asText'), 'code', () => {
    source ??= makeSource();
    const isSource = place.firstChild === formatted;
    place.replaceChildren(isSource ? source : formatted);
    change.setAttribute('aria-pressed', String(isSource));
  });
  change.setAttribute('aria-pressed', 'false');
  return [make('div.form-choice', change), place];
}
