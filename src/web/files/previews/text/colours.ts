import { StringStream } from '@codemirror/streamparser';
import type { Language } from './languages.ts';

/** Classes of colours by what the languages call their tokens, up to the first dot. */
const classes: Readonly<Record<string, string>> = {
  keyword: 'keyword',
  controlKeyword: 'keyword',
  operatorKeyword: 'keyword',
  modifier: 'keyword',
  string: 'string',
  character: 'string',
  regexp: 'string',
  inserted: 'string',
  comment: 'comment',
  lineComment: 'comment',
  blockComment: 'comment',
  quote: 'comment',
  number: 'number',
  atom: 'number',
  bool: 'number',
  null: 'number',
  unit: 'number',
  color: 'number',
  def: 'name',
  definition: 'name',
  className: 'name',
  labelName: 'name',
  header: 'name',
  heading: 'name',
  typeName: 'type',
  tagName: 'type',
  tag: 'type',
  qualifier: 'type',
  angleBracket: 'type',
  standard: 'type',
  propertyName: 'property',
  property: 'property',
  attributeName: 'property',
  attribute: 'property',
  meta: 'meta',
  documentMeta: 'meta',
  annotation: 'meta',
  processingInstruction: 'meta',
  deleted: 'wrong',
  error: 'wrong',
  invalid: 'wrong',
};

/** A part of a line. */
export interface Part {
  text: string;
  /** The class of its colour; undefined for a part that has none. */
  colour: string | undefined;
}

const tabSize = 4;
const indentUnit = 2;

function classOf(style: string | null): string | undefined {
  // Several tokens in one: the first that has a colour counts.
  for (const token of style?.split(/[ .]/) ?? []) if (Object.hasOwn(classes, token)) return classes[token];
  return undefined;
}

/** Colours the lines of a program, one after the other: what a line begins may go on in the next. */
export class Colours {
  readonly #language: Language;
  readonly #state: unknown;

  constructor(language: Language) {
    this.#language = language;
    this.#state = language.startState?.(indentUnit);
  }

  /** The parts of the next line, one after the other. @param line without its line end */
  partsOf(line: string): Part[] {
    if (line === '') this.#language.blankLine?.(this.#state, indentUnit);
    const parts: Part[] = [];
    const stream = new StringStream(line, tabSize, indentUnit);
    while (!stream.eol()) {
      const colour = classOf(this.#token(stream));
      const last = parts.at(-1);
      if (last && last.colour === colour) last.text += stream.current();
      else parts.push({ text: stream.current(), colour });
      stream.start = stream.pos;
    }
    return parts;
  }

  /** The next token. What a language does not take in some turns, or stumbles over, has no colour. */
  #token(stream: StringStream): string | null {
    try {
      for (let turn = 0; turn < 10; turn++) {
        const style = this.#language.token(stream, this.#state);
        if (stream.pos > stream.start) return style;
      }
      stream.pos = stream.start + 1;
    } catch {
      stream.skipToEnd();
    }
    return null;
  }
}
