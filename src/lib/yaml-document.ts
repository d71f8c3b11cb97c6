import { Composer, type CST, type Document, isCollection, isMap, isNode, isPair, isScalar, Lexer, LineCounter, Parser } from 'yaml';

/** Maximum nesting depth of lists and maps below the outermost one. Deeper nesting could exhaust the stack. */
export const deepestNesting = 32;

/** Maximum number of aliases. Each alias causes a search through all anchors. */
const maxAliases = 1000;

/** A problem in a text, with its position. */
export interface YamlProblem {
  code: 'syntax' | 'duplicate-key' | 'shape' | 'aliases';
  message: string;
  line: number;
  column: number;
}

/** A parsed text. `document` is defined only if there are no problems. */
export interface ParsedYaml {
  document: Document.Parsed | undefined;
  lines: LineCounter;
  problems: YamlProblem[];
}

/** Parses YAML or JSON in linear time. A text that is nested too deeply is refused before any recursion into it. */
export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  const problem = (code: YamlProblem['code'], message: string, offset: number): YamlProblem => {
    const { line, col } = lines.linePos(offset);
    return { code, message, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const refused = (code: YamlProblem['code'], message: string, offset: number): ParsedYaml => ({
    document: undefined,
    lines,
    problems: [problem(code, message, offset)],
  });
  const tokens = parseTokens(text, lines);
  if (!Array.isArray(tokens)) return refused(tokens.code, tokens.message, tokens.offset);
  const [document, second] = new Composer({ prettyErrors: false, uniqueKeys: false, merge: true, stringKeys: true }).compose(
    tokens,
    true,
    text.length,
  ) as Generator<Document.Parsed>;
  if (!document) return refused('syntax', 'There is no document.', 0);
  const problems = document.errors.map((error) => problem('syntax', withoutSource(error.message), error.pos[0]));
  if (second) problems.push(problem('syntax', 'There must be only one document.', second.range[0]));
  for (const offset of repeatedKeys(document.contents)) problems.push(problem('duplicate-key', 'Map keys must be unique', offset));
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  return { document: problems.length === 0 ? document : undefined, lines, problems };
}

/** Removes the parts of a parser's message that quote the text, because they may be secret. */
function withoutSource(message: string): string {
  const cited =
    /^(Unresolved tag|Unresolved alias \(.*?\)|Block scalar header includes extra characters|Not a YAML token|Not a valid tag|Could not resolve tag|Unsupported YAML version|Unknown directive|Invalid escape sequence|Verbatim tags aren't resolved|Unexpected [\w-]+ token in YAML \w+|The tag has no suffix)(?!\w).*$/s;
  return message.replace(/^The \S+ tag/, 'The tag').replace(cited, '$1');
}

/** Returns the plain value of a document. @throws Error for an alias without an anchor, or for too many aliases */
export function plainValue(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new Error(withoutSource((error as Error).message), { cause: error });
  }
}

/**
 * Reads YAML or JSON that is not a configuration, such as test cases and accounts.
 *
 * @throws Error with one line that names the problem, usually with its position
 */
export function readPlainYaml(text: string): unknown {
  const { document, problems } = parseYaml(text);
  const [problem] = problems;
  if (problem) throw new Error(`${problem.message} at line ${problem.line}, column ${problem.column}`);
  return document && plainValue(document);
}

/**
 * Parses the tokens of a text. Stops if the text has too many aliases, or if it is nested too deeply for the parser, which is recursive.
 *
 * @returns the tokens, or the problem
 */
function parseTokens(text: string, lines: LineCounter): CST.Token[] | { code: 'shape' | 'aliases'; message: string; offset: number } {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let aliases = 0;
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (lexeme.startsWith('*') && ++aliases > maxAliases)
      return { code: 'aliases', message: `There are more than ${maxAliases} aliases.`, offset: parser.offset - lexeme.length };
    // Document and scalar tokens are not nesting levels.
    if (parser.stack.length > deepestNesting && parser.stack.filter((token) => 'items' in token).length > deepestNesting + 1)
      return {
        code: 'shape',
        message: `Lists and maps are nested deeper than ${deepestNesting} levels.`,
        offset: parser.offset - lexeme.length,
      };
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/** Yields the offsets of keys that occur twice in their map. */
function* repeatedKeys(node: unknown): Generator<number> {
  if (isPair(node)) {
    yield* repeatedKeys(node.key);
    yield* repeatedKeys(node.value);
  }
  if (!isCollection(node)) return;
  const seen = new Set<unknown>();
  for (const item of node.items) {
    if (isMap(node) && isPair(item) && isScalar(item.key)) {
      if (seen.has(item.key.value) && isNode(item.key)) yield item.key.range?.[0] ?? 0;
      seen.add(item.key.value);
    }
    yield* repeatedKeys(item);
  }
}

/** Finds keys in large maps. Each map is indexed only once. */
export class KeyIndex {
  readonly #pairs = new WeakMap<object, Map<string, { key: unknown; value: unknown }>>();

  /** Finds the entry of a key in a map. @param map a map node of a document */
  find(map: { items: readonly unknown[] }, key: PropertyKey): { key: unknown; value: unknown } | undefined {
    let pairs = this.#pairs.get(map);
    if (!pairs) {
      pairs = new Map();
      for (const item of map.items) if (isPair(item) && isScalar(item.key)) pairs.set(String(item.key.value), item);
      this.#pairs.set(map, pairs);
    }
    return pairs.get(String(key));
  }
}
