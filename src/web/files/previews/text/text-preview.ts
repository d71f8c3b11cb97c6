import { make, makeButton } from '../../../shared/dom.ts';
import { sharedText } from '../../../shared/locale.ts';
import { text } from '../../language.ts';
import { growingList } from '../growing-list.ts';
import { pause } from '../pause.ts';
import { previewText } from '../preview-text.ts';
import { Refusal, type RemoteFile } from '../remote-file.ts';
import { type Json, readJson } from './json.ts';
import { findLanguage } from './languages.ts';
import { scrollable, showMarkdown } from './markdown.ts';
import { readSeparatedValues } from './separated-values.ts';
import { decodeText, fillCode, growingText, isLog, lineOfLog, maxGrownBytes, program, type TextContent } from './source-text.ts';
import { inSteps } from './steps.ts';

/** Number of JSON members that each step adds to a list. */
const batch = 100;

const maxValueCharacters = 2000;

/** Shows JSON as a tree. The elements of a folded part are created when it is unfolded. */
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

/** Shows a text file. @throws Refusal */
export function show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = file;
  const end = (lengthBytes: number) => file.read(sizeBytes - lengthBytes, lengthBytes);
  const place = { url: new URL(file.url, location.href).href, rootUrl: new URL(root, location.href).href };
  return showText({ name, sizeBytes, place, start: (lengthBytes) => file.read(0, lengthBytes), end }, signal);
}

/** Limits of a table: the rows that one step adds, the columns, and the cells that one step adds. */
const stepRows = 1000;
const maxColumns = 100;
const maxCells = 10_000;

/** Distance in rows from the last one at which the next step begins when the reader scrolls. */
const aheadRows = 50;

const maxCharacters = 500;

/** Shows separated values as a table that grows in steps and keeps its column names visible. @returns undefined if there are no values */
async function showTable(content: TextContent, source: string, readBytes: number, signal: AbortSignal): Promise<Node | undefined> {
  const { sizeBytes } = content;
  let loaded = readBytes;
  let [names, ...rows] = readSeparatedValues(source, Number.POSITIVE_INFINITY, loaded >= sizeBytes).records;
  if (names === undefined) return undefined;
  const width = rows.reduce((most, record) => Math.max(most, record.length), names.length);
  const columns = Math.min(width, maxColumns);
  const step = Math.min(stepRows, Math.floor(maxCells / columns));
  const body = make('tbody');
  const mayRead = () => loaded < Math.min(sizeBytes, maxGrownBytes);
  const showRows = async () => {
    const from = body.rows.length;
    if (from + step > rows.length && mayRead()) {
      const wanted = Math.min(sizeBytes, maxGrownBytes, 2 * loaded);
      const longer = decodeText(await content.start(wanted)) ?? '';
      loaded = wanted;
      [names = [], ...rows] = readSeparatedValues(longer, Number.POSITIVE_INFINITY, loaded >= sizeBytes).records;
    }
    for (const row of rows.slice(from, from + step)) {
      body.append(cells(row, columns, 'td'));
      await pause(signal);
    }
    const done = body.rows.length;
    if (loaded < sizeBytes) return { words: previewText('firstRows', { count: done }), next: done < rows.length || mayRead() ? step : 0 };
    const total = rows.length;
    return { words: done < total ? sharedText('running', { done, total }) : undefined, next: Math.min(step, total - done) };
  };
  const nearEnd = () => [-1, -aheadRows].flatMap((at) => [...body.rows].at(at) ?? []);
  const steps = inSteps(showRows, signal, nearEnd);
  await steps.first;
  const hint = width > columns && make('p.hint', previewText('firstColumns', { count: columns }));
  const table = make('table', make('thead', cells(names, columns, 'th')), body);
  return make('div.values', hint, scrollable(table, previewText('table')), steps.element);
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

/** Number of bytes of a text that are loaded first. Most texts are shorter. */
export const firstBytes = 512 * 1024;

/** Maximum size, in bytes, of JSON that is shown as a tree. It has to be loaded as a whole. */
const maxJsonBytes = 2 * 1024 * 1024;

/** Maximum size, in bytes, of Markdown that is formatted. */
const maxMarkdownBytes = 256 * 1024;

/**
 * Shows formatted Markdown, a table of separated values, a JSON tree, or a program in colours. At first, only the beginning of a long text
 * is shown.
 */
export async function showText(content: TextContent, signal: AbortSignal): Promise<HTMLElement> {
  if (content.sizeBytes === 0) return make('p.trouble', previewText('emptyFile'));
  const form = textForm(content);
  const bytes = await content.start(Math.min(content.sizeBytes, form === 'json' ? maxJsonBytes : firstBytes));
  const source = decodeText(bytes);
  if (source === undefined) return make('p.trouble', previewText('noText'));
  const isWhole = bytes.length >= content.sizeBytes;
  const isShort = isWhole && (form !== undefined || findLanguage(content.name) !== undefined);
  const showSource = () => (isShort ? program(source, content.name, signal) : growingText(content, source, bytes.length, signal));
  const showProgram = (part: string, language: string) => program(part, `.${language}`, signal);
  const isLong = source.split('\n', linesInSight + 1).length > linesInSight;
  if (isLog(content.name) && isLong && (isWhole || content.end))
    return make('div.text-preview', ...beginningOrEnd(showSource(), () => endOfLog(content, source, isWhole, signal)));
  let formatted: Node | undefined;
  if (form === 'markdown') formatted = await showMarkdown(source, { place: content.place, signal, showProgram });
  else if (form === 'table') formatted = await showTable(content, source, bytes.length, signal);
  else if (form === 'json') {
    const value = await readJson(source, signal);
    formatted = value && showJson(value);
  }
  return make('div.text-preview', ...(formatted ? either(formatted, showSource) : [showSource()]));
}

/** Maximum number of lines of a log without a button that leads to its end. */
const linesInSight = 20;

/** Number of bytes at the end of a long log that are shown. */
const endBytes = 256 * 1024;

/** Shows the last lines of a log. */
async function endOfLog(content: TextContent, source: string, isWhole: boolean, signal: AbortSignal): Promise<HTMLElement> {
  const bytes = (!isWhole && (await content.end?.(endBytes))) || new Uint8Array();
  // The first line is perhaps cut, even within a character.
  const tail = isWhole ? source : decodeText(bytes.subarray(bytes.indexOf(0x0a) + 1));
  if (tail === undefined) throw new Refusal(previewText('noText'));
  const lines = tail.split(/(?<=\n)/);
  const last = lines.slice(-stepRows);
  const element = make('pre.end');
  await fillCode(element, last.join(''), lineOfLog, signal, isWhole ? lines.length - last.length : undefined);
  return element;
}

/** Shows the beginning of a log, with a button that shows its end, where the newest lines are. */
function beginningOrEnd(beginning: HTMLElement, makeEnd: () => Promise<HTMLElement>): Node[] {
  const place = make('div.formatted', beginning);
  const change = makeButton(
    previewText('toEnd'),
    'down',
    async () => {
      const isEnd = place.firstChild === beginning;
      const shown = isEnd ? await makeEnd().catch(problem) : beginning;
      place.replaceChildren(shown);
      change.setAttribute('aria-pressed', String(isEnd));
      place.scrollIntoView({ block: isEnd ? 'end' : 'start' });
    },
    'compact',
  );
  change.setAttribute('aria-pressed', 'false');
  return [make('div.form-choice', change), place];
}

function problem(error: unknown): HTMLElement {
  if (error instanceof Refusal) return make('p', { role: 'alert' }, text('error', { reason: error.message }));
  throw error;
}

type Form = 'markdown' | 'table' | 'json';

function textForm({ name, sizeBytes }: TextContent): Form | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (['md', 'markdown'].includes(extension)) return sizeBytes <= maxMarkdownBytes ? 'markdown' : undefined;
  if (['csv', 'tsv'].includes(extension)) return 'table';
  return ['json', 'jsonld', 'geojson', 'webmanifest', 'map'].includes(extension) && sizeBytes <= maxJsonBytes ? 'json' : undefined;
}

function either(formatted: Node, makeSource: () => HTMLElement): Node[] {
  let source: HTMLElement | undefined;
  const place = make('div.formatted', formatted);
  const change = makeButton(
    previewText('asText'),
    'code',
    () => {
      source ??= makeSource();
      const isSource = place.firstChild === formatted;
      place.replaceChildren(isSource ? source : formatted);
      change.setAttribute('aria-pressed', String(isSource));
    },
    'compact',
  );
  change.setAttribute('aria-pressed', 'false');
  return [make('div.form-choice', change), place];
}
