import { isAlias, isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { parseYaml } from '../../lib/yaml-document.ts';
import { isHeaderList, isReference, isSecret, maskedText, resemblesSecret } from '../masking.ts';
import { configJsonSchema } from '../schema/json-schema.ts';

type Range = readonly [start: number, end: number];

/**
 * The text of a configuration file as it may be shown with findings: character by character as long as the file. Shown are the names of options and
 * the values of those that are none of its secrets; everything else is masked, comments too. Of a file that does not parse nobody can tell where a
 * secret ends: of it the names of options at the beginning of lines are shown, and nothing else.
 */
export function maskedSource(text: string): string {
  const start = text.startsWith('\ufeff') ? 1 : 0;
  const content = text.slice(start);
  const { document } = parseYaml(content);
  if (!document) return text.split('\n').map(maskedLine).join('\n');
  const walk = new Walk(content);
  walk.node(document.contents, []);
  return text.slice(0, start) + assembled(content, walk);
}

const hiddenOf = new WeakMap<object, string[]>();

/** Whether the text at a place of a file is not shown. */
export function isHidden(source: { text: string }, { line, column }: { line: number; column: number }): boolean {
  const lines =
    hiddenOf.get(source) ??
    maskedSource(source.text)
      .replace(/^\ufeff/, '')
      .split('\n');
  hiddenOf.set(source, lines);
  return lines[line - 1]?.[column - 1] === '*';
}

let names: ReadonlySet<string> | undefined;
let sections: ReadonlySet<string> | undefined;

/** The names of all options. */
function optionNames(): ReadonlySet<string> {
  names ??= new Set(namesIn(configJsonSchema()));
  return names;
}

function sectionNames(): ReadonlySet<string> {
  sections ??= new Set(Object.keys((configJsonSchema().properties ?? {}) as object));
  return sections;
}

function* namesIn(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [name, member] of Object.entries(schema)) {
    if (name === 'properties') yield* Object.keys(member);
    if (name !== 'examples' && name !== 'default') yield* namesIn(member);
  }
}

/** A line of a file that does not parse. */
function maskedLine(line: string): string {
  const [begin = '', , name = ''] = /^[\s{[-]*(?:(["']?)([\w-]+)\1\s*:)?/.exec(line) ?? [];
  const shown = name === '' || optionNames().has(name) ? begin.length : line.search(/[^\s{[-]/);
  const indentation = line.slice(shown).search(/\S|$/);
  return line.slice(0, shown + indentation) + line.slice(shown + indentation).replace(/[^\r]/g, '*');
}

/** Looks at all scalars of a document, and notes which may be shown. */
class Walk {
  readonly #text: string;
  readonly shown: Range[] = [];
  readonly scalars: Range[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** @param path names from the section on, without the places in lists */
  node(node: unknown, path: readonly string[]): void {
    if (isScalar(node)) this.#value(node, path);
    else if (isSeq(node)) for (const item of node.items) this.node(item, path);
    else if (isMap(node)) {
      let isAfterSecret = false;
      const isInSecret = hidesMembers(path);
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : '';
        // The member of a package.json.
        const inner = path.length === 0 && name === 'svc' ? [] : [...path, name];
        // What follows a comma in a secret without quotes looks like one more key.
        const isRest = node.flow === true && isAfterSecret && isScalar(key) && key.type === 'PLAIN';
        if (isScalar(key)) this.#note(key, optionNames().has(name) || !(isInSecret || isRest || isText(name) || resemblesSecret(name)));
        this.node(value, inner);
        isAfterSecret ||= hasSecretName(inner) || isAlias(value) || (isScalar(value) && !isShown(value, inner));
      }
    }
  }

  #value(node: Scalar, path: readonly string[]): void {
    const range = this.#note(node, isShown(node, path));
    if (!range || !isHeaderList(path) || path.length > 3) return;
    const [name] = /^["']?[A-Za-z][\w-]*:/.exec(this.#text.slice(...range)) ?? [];
    if (name !== undefined) this.shown.push([range[0], range[0] + name.length]);
  }

  #note({ range }: Scalar, isShown: boolean): Range | undefined {
    if (!range) return undefined;
    const own: Range = [range[0], range[1]];
    this.scalars.push(own);
    if (isShown) this.shown.push(own);
    return own;
  }
}

/** The names of options in a path, without those of section and entry. */
function optionsOf(path: readonly string[]): readonly string[] {
  return path.slice(path[0] === 'server' ? 1 : 2);
}

/** Whether a map is, or is within, what may be a secret: of its members the names are shown that options have. */
function hidesMembers(path: readonly string[]): boolean {
  return hasSecretName(path) || !optionsOf(path).every((name) => optionNames().has(name)) || (path.length > 1 && !isInSection(path));
}

/** Whether an option on the way is a secret by its name. In what is no section, entries and options cannot be told apart. */
function hasSecretName(path: readonly string[]): boolean {
  return isSecret(isInSection(path) ? path : ['', '', ...path]);
}

function isInSection([section = '']: readonly string[]): boolean {
  return sectionNames().has(section);
}

/** Whether a key is rather a piece of the file that a quote too many or too few made one. */
function isText(key: string): boolean {
  return /[\t\r\n{}"]|: /.test(key);
}

function isShown({ value }: Scalar, path: readonly string[]): boolean {
  if (value === null || (typeof value === 'string' && isReference(value))) return true;
  const options = optionsOf(path);
  if (!isInSection(path) || options.length === 0 || isHeaderList(path)) return false;
  const isKnown = options[0] === 'extra_data' ? options.length > 1 : options.every((name) => optionNames().has(name));
  return isKnown && maskedText(String(value), path) === String(value);
}

/** Puts the text together: what is shown as it is, of the rest the layout alone. */
function assembled(text: string, { shown, scalars }: Walk): string {
  const [layout, masked, asIs] = [0, 1, 2];
  const marks = new Uint8Array(text.length).fill(layout);
  for (const [start, end] of scalars) marks.fill(masked, start, end);
  for (const [start, end] of shown) marks.fill(asIs, start, end);
  let isComment = false;
  let isIndentation = true;
  let result = '';
  for (const [at, mark] of marks.entries()) {
    const character = text.charAt(at);
    if (character === '\n' || mark !== layout) isComment = false;
    else if (character === '#') isComment = true;
    isIndentation = character === '\n' || (isIndentation && character === ' ');
    const isShownHere = mark === asIs || (mark === layout && !isComment && /[-\s{}[\],:?]/.test(character));
    result += isShownHere || isIndentation || /[\r\n]/.test(character) ? character : '*';
  }
  return result;
}
