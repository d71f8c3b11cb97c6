import { Lexer, type Token, Tokenizer, type TokensList } from 'marked';
import { pause } from '../pause.ts';

/** The location of a document, which decides where its links and pictures may lead. */
export interface DocumentPlace {
  url: string;
  /** Base URL of the account's files. */
  rootUrl: string;
}

/**
 * Returns the URL of a link to the web, to an e-mail address or to a file of the account. Other URLs of the service are refused, because
 * opening them can have an effect, such as signing out.
 * @param place undefined for a document without a URL, such as one in an archive. Its relative links lead nowhere
 * @returns undefined if the link is refused
 */
export function linkUrl(href: string, place: DocumentPlace | undefined): string | undefined {
  const url = parsed(href, place);
  if (!url) return undefined;
  if (url.protocol === 'mailto:') return url.href;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  const isForeign = place !== undefined && url.origin !== new URL(place.url).origin;
  return isForeign || place === undefined || url.href.startsWith(place.rootUrl) ? url.href : undefined;
}

/**
 * Returns the URL of a picture that is one of the account's own files. Other pictures are not loaded, because their servers would learn
 * about the reader.
 */
export function pictureUrl(href: string, place: DocumentPlace | undefined): string | undefined {
  const url = parsed(href, place);
  if (!url || !place || !url.href.startsWith(place.rootUrl)) return undefined;
  url.search = '?inline';
  url.hash = '';
  return url.href;
}

function parsed(href: string, place: DocumentPlace | undefined): URL | undefined {
  return URL.canParse(href, place?.url) ? new URL(href, place?.url) : undefined;
}

/** The most common named characters of HTML, each with its name first. */
const characterNames =
  'amp& lt< gt> quot" apos\' nbsp\u00a0 copy© reg® trade™ hellip… ndash– mdash— lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» bull• middot· deg° ' +
  'times× euro€ larr← rarr→ uarr↑ darr↓';
const characters = new Map(characterNames.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)]));

/** Replaces the character references of HTML, by name or number, with the characters. */
export function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hexadecimal?: string, name?: string) => {
      if (name !== undefined) return characters.get(name) ?? whole;
      const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hexadecimal as string, 16);
      return code === 0 || code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code);
    },
  );
}

/** Elements whose content is not shown. */
const silent = /^<(script|style|template|!--)/i;
const endings: Readonly<Record<string, RegExp>> = {
  script: /<\/script/gi,
  style: /<\/style/gi,
  template: /<\/template/gi,
  '!--': /--/g,
};

/** Returns the text of HTML without tags, comments, scripts and styles. Use it only as text, never as HTML. */
export function withoutTags(html: string): string {
  let text = '';
  for (let at = 0; ; ) {
    const start = html.indexOf('<', at);
    if (start < 0) return text + html.slice(at);
    text += html.slice(at, start);
    const name = silent.exec(html.slice(start, start + 10))?.[1]?.toLowerCase();
    const end = html.indexOf('>', name === undefined ? start : findEnd(html, name, start));
    if (end < 0) return text;
    at = end + 1;
  }
}

/** Returns the end of an element whose content is not shown; the end of the text if the element is not closed. */
function findEnd(html: string, name: string, start: number): number {
  const ending = endings[name] as RegExp;
  ending.lastIndex = start + name.length + 1;
  return ending.exec(html)?.index ?? html.length;
}

/** Maximum depth of nested blocks and marks that are parsed. Deeper ones are shown as they are written. */
const deepest = 24;

/**
 * Maximum length, in characters, of a text that is searched for marks. The limit is low, because for each mark, the search for the other
 * mark of its pair can reach the end of the text.
 */
const longestRun = 10_000;

/** Time limit for finding blocks, in milliseconds. For some texts the time grows with the square of the length. */
const maxMs = 500;

class TooLong extends Error {}

/** Throws TooLong after the time limit. For each block the lexer calls `space` first, so the time is checked there. */
class TimedTokenizer extends Tokenizer {
  readonly #endMs = performance.now() + maxMs;
  isTimed = true;

  override space(src: string) {
    if (this.isTimed && performance.now() > this.#endMs) throw new TooLong();
    return super.space(src);
  }
}

class BoundedLexer extends Lexer {
  #depth = 0;

  override blockTokens(src: string, tokens: Token[] = [], isClipped = false): TokensList {
    return this.#deeper(src, tokens, () => super.blockTokens(src, tokens, isClipped)) as TokensList;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    return this.#deeper(src, tokens, () => super.inlineTokens(src, tokens));
  }

  #deeper(src: string, tokens: Token[], read: () => Token[]): Token[] {
    if (this.#depth >= deepest) {
      tokens.push({ type: 'text', raw: src, text: src });
      return tokens;
    }
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }
}

/**
 * Parses GitHub's Markdown with limits on time and depth, and lets the page react meanwhile.
 * @returns undefined if it would take too long
 * @throws the reason of `signal` if it is aborted
 */
export async function readMarkdown(text: string, signal: AbortSignal): Promise<Token[] | undefined> {
  const lexer = new BoundedLexer({ gfm: true, tokenizer: new TimedTokenizer() });
  try {
    lexer.blockTokens(text.replace(/\r\n?/g, '\n'), lexer.tokens);
  } catch (error) {
    if (error instanceof TooLong) return undefined;
    throw error;
  }
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length > longestRun) tokens.push({ type: 'text', raw: src, text: src });
    else lexer.inlineTokens(src, tokens);
    await pause(signal);
  }
  return lexer.tokens;
}
