import { ServiceError } from './errors.ts';

/** A compiled matching expression (docs/spec/authentication.md#expressions). */
export interface Expression {
  matches(text: string): boolean;
}

const maxCharacters = 4096;

/**
 * Compiles an expression: a glob (`*.pdf`, `g/*.pdf/`), alternatives of globs (`a | b`), a regular expression (`e/RE/flags`, `m/RE/flags`),
 * or one of these after `!`, which negates it. Globs ignore case and must match the whole text. A regular expression can match any part of
 * the text. A remote party chooses the text, so the time for matching grows only linearly with the length of the text.
 *
 * @param of kind of texts to match. In a regular expression, `.` matches a line break for `paths`, but not for `texts`. For `paths`, a
 *   letter such as `ö` also equals its decomposed form (two characters, as macOS writes it), so that another spelling cannot evade a rule
 * @throws ServiceError `bad-request` with the reason
 */
export function compileExpression(source: string, of: 'texts' | 'paths' = 'texts'): Expression {
  const trimmed = trimmedOrThrow(source);
  if (trimmed.length > maxCharacters) throw new ServiceError('bad-request', 'The expression is too long.');
  if (of === 'paths') {
    const composed = compileComposed(trimmed.normalize('NFC'), true);
    return { matches: (text) => composed.matches(text.normalize('NFC')) };
  }
  return compileComposed(trimmed, false);
}

function compileComposed(trimmed: string, dotMatchesAll: boolean): Expression {
  if (trimmed.startsWith('!')) {
    const inner = compileComposed(trimmedOrThrow(trimmed.slice(1)), dotMatchesAll);
    return { matches: (text) => !inner.matches(text) };
  }
  if (/^[em]\//.test(trimmed)) return { matches: compileRegularExpression(trimmed, dotMatchesAll) };
  const glob = /^g\/([\s\S]*)\/$/.exec(trimmed);
  if (glob) return { matches: compileGlob(glob[1] as string) };
  const alternatives = splitAlternatives(trimmed).map((part) => compileGlob(part.trim()));
  const [only] = alternatives;
  if (alternatives.length === 1 && only) return { matches: only };
  return { matches: (text) => alternatives.some((matches) => matches(text)) };
}

function trimmedOrThrow(source: string): string {
  const trimmed = source.trim();
  if (trimmed === '') throw new ServiceError('bad-request', 'The expression is empty.');
  return trimmed;
}

function compileRegularExpression(text: string, dotMatchesAll: boolean): (input: string) => boolean {
  const end = text.lastIndexOf('/');
  if (end < 2) throw new ServiceError('bad-request', 'A regular expression is written e/RE/ or e/RE/i.');
  const flags = text.slice(end + 1);
  if (!/^i?$/.test(flags)) throw new ServiceError('bad-request', `The flag "${flags}" is not known; "i" ignores case.`);
  // The engine is large, and only regular expressions need it, so it is loaded here. `require` is used because compiling is synchronous.
  const { RE2JS } = require('re2js') as typeof import('re2js');
  try {
    const pattern = RE2JS.compile(text.slice(2, end), (flags === 'i' ? RE2JS.CASE_INSENSITIVE : 0) | (dotMatchesAll ? RE2JS.DOTALL : 0));
    return (input) => pattern.test(input);
  } catch (error) {
    throw new ServiceError('bad-request', `The regular expression does not parse: ${(error as Error).message}`, { cause: error });
  }
}

/** Splits a text at each `|` that is not inside `[…]`. */
function splitAlternatives(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '[') {
      const end = classEnd(text, index);
      if (end > 0) index = end;
    } else if (text[index] === '|') {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/**
 * Returns the index of the `]` that ends the class starting at `open`; -1 if there is none. A `]` right after the start belongs to the
 * class.
 */
function classEnd(text: string, open: number): number {
  const first = text[open + 1] === '!' ? open + 2 : open + 1;
  return text.indexOf(']', first + 1);
}

type Token =
  | { kind: 'literal'; text: string }
  | { kind: 'any' }
  | { kind: 'some' }
  | { kind: 'class'; negated: boolean; ranges: [string, string][] };

/**
 * Folds the case of a character: takes its capital letter, and then the small letter of that. So `ς` equals `σ` (both have the capital Σ),
 * and `ſ` equals `s`. The exception is `ı`: its capital is I, but it must not equal `i`.
 */
function foldOne(character: string): string {
  const lower = (character === 'ı' ? character : character.toUpperCase()).toLowerCase();
  if (lower.length === character.length) return lower;
  const simple = character.toLowerCase();
  return simple.length === character.length ? simple : character;
}

// Characters are folded one by one, so that offsets in the folded text and in the original text are the same.
function fold(text: string): string {
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, foldOne).join('');
}

function parseGlob(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < glob.length; ) {
    const character = String.fromCodePoint(glob.codePointAt(index) as number);
    const last = tokens.at(-1);
    if (character === '*') {
      if (last?.kind !== 'some') tokens.push({ kind: 'some' });
      index++;
    } else if (character === '?') {
      tokens.push({ kind: 'any' });
      index++;
    } else if (character === '[' && classEnd(glob, index) > 0) {
      const end = classEnd(glob, index);
      tokens.push(classToken(glob.slice(index + 1, end)));
      index = end + 1;
    } else {
      tokens.push({ kind: 'literal', text: fold(character) });
      index += character.length;
    }
  }
  return tokens;
}

function classToken(body: string): Token {
  const negated = body.startsWith('!');
  const characters = Array.from(negated ? body.slice(1) : body);
  const ranges: [string, string][] = [];
  for (let index = 0; index < characters.length; index++) {
    const low = characters[index] as string;
    if (characters[index + 1] === '-' && index + 2 < characters.length) {
      ranges.push([low, characters[index + 2] as string]);
      index += 2;
    } else {
      ranges.push([low, low]);
    }
  }
  return { kind: 'class', negated, ranges };
}

function inClass(token: Extract<Token, { kind: 'class' }>, character: string): boolean {
  const forms = [character, character.toLowerCase(), character.toUpperCase(), foldOne(character)];
  const found = token.ranges.some(([low, high]) =>
    forms.some((form) => compareCodePoints(form, low) >= 0 && compareCodePoints(form, high) <= 0),
  );
  return found !== token.negated;
}

function compareCodePoints(a: string, b: string): number {
  return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
}

/**
 * Compiles one glob. If it has only literal text and `*`, each literal is searched for. Other globs are matched with backtracking to only
 * the last `*`, which takes at most text length × glob length steps.
 */
function compileGlob(glob: string): (text: string) => boolean {
  const tokens = parseGlob(glob);
  if (tokens.length === 1 && tokens[0]?.kind === 'some') return () => true;
  if (tokens.every((token) => token.kind === 'literal' || token.kind === 'some')) return literalRuns(tokens);
  return (text) => matchTokens(tokens, Array.from(text));
}

/** Searches for each literal text between stars, each after the previous one, in linear time. */
function literalRuns(tokens: readonly Token[]): (text: string) => boolean {
  const runs: string[] = [''];
  for (const token of tokens) {
    if (token.kind === 'some') runs.push('');
    else if (token.kind === 'literal') runs[runs.length - 1] += token.text;
  }
  const [prefix = '', ...others] = runs;
  if (others.length === 0) return (text) => fold(text) === prefix;
  const suffix = others.pop() ?? '';
  return (text) => {
    const folded = fold(text);
    if (!folded.startsWith(prefix) || folded.length < prefix.length + suffix.length || !folded.endsWith(suffix)) return false;
    const end = folded.length - suffix.length;
    let at = prefix.length;
    for (const run of others) {
      const found = folded.indexOf(run, at);
      if (found < 0 || found + run.length > end) return false;
      at = found + run.length;
    }
    return true;
  };
}

function matchTokens(tokens: readonly Token[], characters: readonly string[]): boolean {
  let at = 0;
  let next = 0;
  let starAt = -1;
  let starNext = -1;
  while (at < characters.length) {
    const token = tokens[next];
    if (token?.kind === 'some') {
      starNext = next++;
      starAt = at;
    } else if (token && matchesOne(token, characters[at] as string)) {
      at++;
      next++;
    } else if (starNext >= 0) {
      next = starNext + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  while (tokens[next]?.kind === 'some') next++;
  return next === tokens.length;
}

function matchesOne(token: Token, character: string): boolean {
  if (token.kind === 'any') return true;
  if (token.kind === 'class') return inClass(token, character);
  return token.kind === 'literal' && token.text === fold(character);
}
