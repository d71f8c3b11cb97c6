import { make, makeButton } from '../../../shared/dom.ts';
import { previewText } from '../preview-text.ts';
import { fillCode } from './code-view.ts';
import { readJson } from './json.ts';
import { showJson } from './json-tree.ts';
import { languageOf } from './languages.ts';
import { showMarkdown } from './markdown.ts';
import type { DocumentPlace } from './markdown-links.ts';
import { showTable } from './table.ts';
import { decodeText } from './text-decoding.ts';

/** Bytes of a text that are shown. */
export const mostBytes = 512 * 1024;

/** JSON is folded when it is no larger: it has to be there as a whole. */
const mostJsonBytes = 2 * 1024 * 1024;

/** Markdown is laid out when it is no larger. */
const mostMarkdownBytes = 256 * 1024;

/** A text that is to be shown: a file, or a member of an archive. */
interface TextContent {
  name: string;
  sizeBytes: number;
  /** Where it stands; undefined when links in it have nothing to start from. */
  place: DocumentPlace | undefined;
  /** Reads its first bytes. */
  start(lengthBytes: number): Promise<Uint8Array>;
}

/**
 * Shows a text: Markdown laid out, separated values as a table, JSON folded, programs with colours. Of long ones the beginning is shown.
 *
 * @param signal ends all work on it
 */
export async function showText(content: TextContent, signal: AbortSignal): Promise<HTMLElement> {
  if (content.sizeBytes === 0) return make('p', { className: 'trouble' }, previewText('emptyFile'));
  const form = formOf(content);
  const bytes = await content.start(Math.min(content.sizeBytes, form === 'json' ? mostJsonBytes : mostBytes));
  const source = decodeText(bytes);
  if (source === undefined) return make('p', { className: 'trouble' }, previewText('noText'));
  const isWhole = bytes.length >= content.sizeBytes;
  const formatted = await format(form, source, isWhole, content, signal);
  const showSource = () => program(source, content.name, signal);
  const hint = !isWhole && form !== 'table' && make('p', { className: 'hint' }, previewText('previewCut'));
  return make('div', { className: 'text-preview' }, hint, ...(formatted ? either(formatted, showSource) : [showSource()]));
}

type Form = 'markdown' | 'table' | 'json';

function formOf({ name, sizeBytes }: TextContent): Form | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  if (['md', 'markdown'].includes(extension)) return sizeBytes <= mostMarkdownBytes ? 'markdown' : undefined;
  if (['csv', 'tsv'].includes(extension)) return 'table';
  return ['json', 'jsonld', 'geojson', 'webmanifest', 'map'].includes(extension) && sizeBytes <= mostJsonBytes ? 'json' : undefined;
}

async function format(
  form: Form | undefined,
  source: string,
  isWhole: boolean,
  { place }: TextContent,
  signal: AbortSignal,
): Promise<Node | undefined> {
  switch (form) {
    case 'markdown':
      return showMarkdown(source, { place, signal, showProgram: (part, language) => program(part, `.${language}`, signal) });
    case 'table':
      return showTable(source, isWhole, signal);
    case 'json': {
      const value = await readJson(source, signal);
      return value && showJson(value);
    }
    default:
      return undefined;
  }
}

/** A text as it is, filled in turns with the page. */
function program(source: string, name: string, signal: AbortSignal): HTMLElement {
  const element = make('pre');
  // Whoever goes on to another file ends it.
  fillCode(element, source, languageOf(name), signal).catch(() => {});
  return element;
}

/** What is laid out, or the text behind it, as the reader likes. */
function either(formatted: Node, makeSource: () => HTMLElement): Node[] {
  let source: HTMLElement | undefined;
  const place = make('div', { className: 'formatted' }, formatted);
  const change = makeButton(previewText('asText'), 'code', () => {
    source ??= makeSource();
    const isSource = place.firstChild === formatted;
    place.replaceChildren(isSource ? source : formatted);
    change.setAttribute('aria-pressed', String(isSource));
  });
  change.setAttribute('aria-pressed', 'false');
  return [make('div', { className: 'form-choice' }, change), place];
}
