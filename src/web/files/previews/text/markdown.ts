import type { Token, Tokens } from 'marked';
import { make } from '../../../shared/dom.ts';
import { send } from '../../server.ts';
import { pictureProblem } from '../../viewer/picture-file.ts';
import { previewText } from '../preview-text.ts';
import { type DocumentPlace, decodeEntities, linkUrl, pictureUrl, readMarkdown, withoutTags } from './markdown-tokens.ts';

/** Puts wide content into a scrollable box. In the box, arrow keys scroll and do not show the next file. @param label accessible name */
export function scrollable(content: HTMLElement, label: string): HTMLElement {
  const box = make('div.wide-content', { tabIndex: 0, role: 'region', ariaLabel: label }, content);
  box.addEventListener('keydown', (event) => {
    if (/^Arrow(Left|Right)$/.test(event.key) && box.scrollWidth > box.clientWidth) event.stopPropagation();
  });
  return box;
}

const maxPictures = 100;

interface MarkdownOptions {
  place: DocumentPlace | undefined;
  /** Builds the element of a code block. @param language name of the language in the document */
  showProgram: (text: string, language: string) => HTMLElement;
  signal: AbortSignal;
}

/**
 * Builds elements from Markdown. Nothing is parsed as HTML: tags are dropped, links lead only to the web, to e-mail addresses or to files,
 * and pictures can be only the account's own files.
 * @returns undefined if it would take too long
 */
export async function showMarkdown(text: string, { place, showProgram, signal }: MarkdownOptions): Promise<HTMLElement | undefined> {
  let pictures = 0;
  let checked = Promise.resolve();

  const all = (tokens: readonly Token[] | undefined): Node[] => (tokens ?? []).flatMap((token) => element(token) ?? []);

  const element = (token: Token): Node | Node[] | undefined => {
    switch (token.type) {
      case 'paragraph':
        return make('p', ...all(token.tokens));
      case 'heading':
        // The dialog has a heading of level 2, so the document's headings start at level 3.
        return make(`h${Math.min((token as Tokens.Heading).depth + 2, 6)}` as 'h3', {}, ...all(token.tokens));
      case 'text':
        return token.tokens ? all(token.tokens) : new Text(decodeEntities(token.text));
      case 'escape':
        return new Text(token.text);
      case 'strong':
      case 'em':
      case 'del':
      case 'blockquote':
        return make(token.type, {}, ...all(token.tokens));
      case 'br':
      case 'hr':
        return make(token.type);
      case 'codespan':
        return make('code', token.text);
      case 'code':
        return showProgram(token.text, /^\S*/.exec(token.lang ?? '')?.[0] ?? '');
      case 'list':
        return list(token as Tokens.List);
      case 'checkbox':
        return new Text(token.checked ? '\u2611 ' : '\u2610 ');
      case 'table':
        return table(token as Tokens.Table);
      case 'link':
        return link(token as Tokens.Link);
      case 'image':
        return picture(token as Tokens.Image);
      case 'html':
        return new Text(decodeEntities(withoutTags(token.text)));
      default:
        return undefined;
    }
  };

  const list = ({ ordered, start, items }: Tokens.List) => {
    const shown = items.map((item) => make(item.task ? 'li.task' : 'li', ...all(item.tokens)));
    return ordered ? make('ol', { start: Number(start) || 1 }, ...shown) : make('ul', ...shown);
  };

  const table = ({ header, rows }: Tokens.Table) => {
    const cell = (name: 'th' | 'td') => (content: Tokens.TableCell) =>
      make(content.text === '' ? 'td' : name, { className: content.align ?? '' }, ...all(content.tokens));
    const head = make('thead', make('tr', ...header.map(cell('th'))));
    const body = make('tbody', ...rows.map((row) => make('tr', ...row.map(cell('td')))));
    return scrollable(make('table', head, body), previewText('table'));
  };

  const link = ({ href, title, tokens }: Tokens.Link) => {
    const url = linkUrl(href, place);
    const content = all(tokens);
    if (url === undefined) return content;
    return make('a', { href: url, title: title ?? '', target: '_blank', rel: 'noopener noreferrer' }, ...content);
  };

  const picture = ({ href, title, text: words }: Tokens.Image) => {
    const src = pictureUrl(href, place);
    const alt = decodeEntities(words);
    if (src === undefined || pictures >= maxPictures) return make('span.hint', `[${alt || href}]`);
    pictures++;
    const shown = make('img', { loading: 'lazy', alt, title: title ?? '' });
    const giveUp = () => shown.replaceWith(`[${alt || href}]`);
    shown.addEventListener('error', giveUp);
    // Check the pictures one after the other.
    checked = checked.then(async () => {
      if (signal.aborted) return;
      if ((await pictureProblem(src, (url, headers) => send('GET', url, { headers }))) !== undefined) giveUp();
      else shown.src = src;
    });
    return shown;
  };

  const tokens = await readMarkdown(text, signal);
  return tokens && make('article.markdown', ...all(tokens));
}
