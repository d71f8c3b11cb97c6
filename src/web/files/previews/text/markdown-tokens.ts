import { Lexer, type Token, Tokenizer, type TokensList } from 'marked';
import { pause } from '../turns.ts';

/** Blocks, and marks of text, are taken apart so deep; what is deeper stays as it was written. */
const deepest = 24;

/** Longest text, in characters, in which marks are looked for: those of one may belong to any other in it. */
const longestRun = 10_000;

/** A text is given up as Markdown when its blocks are not found in this time, in milliseconds: some take the square of their length. */
const maxMs = 500;

class TooLong extends Error {}

/** What is asked first for each block and each mark: keeps the time. */
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
 * Takes Markdown (GitHub's) apart, in turns with the page: work and depth are bounded whatever stands in the text.
 *
 * @returns undefined when it would take too long
 * @throws the reason of `signal`, once nobody wants the outcome any more
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
