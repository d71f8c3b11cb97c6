import { isAlias, isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { parseYaml } from '../../lib/yaml-document.ts';
import { isHeaderList, isReference, isSecret, maskedText, resemblesSecret } from '../masking.ts';
import { configJsonSchema } from '../schema/json-schema.ts';

type Range = readonly [start: number, end: number];

/**
 * Masks the text of a configuration file, so that findings can show its lines. The length of the text does not change. Only option names,
 * and values that are not secret, stay visible. If the file does not parse, only option names at the beginning of lines stay visible,
 * because the end of a secret is unknown.
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

const maskedLines = new WeakMap<object, string[]>();

/** Whether the text at a position of a file is masked. */
export function isHidden(source: { text: string }, { line, column }: { line: number; column: number }): boolean {
  const lines =
    maskedLines.get(source) ??
    maskedSource(source.text)
      .replace(/^\ufeff/, '')
      .split('\n');
  maskedLines.set(source, lines);
  return lines[line - 1]?.[column - 1] === '*';
}

let names: ReadonlySet<string> | undefined;
let sections: ReadonlySet<string> | undefined;

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

/** Masks a line of a file that does not parse. */
function maskedLine(line: string): string {
  const [begin = '', , name = ''] = /^[\s{[-]*(?:(["']?)([\w-]+)\1\s*:)?/.exec(line) ?? [];
  const shown = name === '' || optionNames().has(name) ? begin.length : line.search(/[^\s{[-]/);
  const indentation = line.slice(shown).search(/\S|$/);
  return line.slice(0, shown + indentation) + line.slice(shown + indentation).replace(/[^\r]/g, '*');
}

/** Visits all scalars of a document, and records which ones may be shown. */
class Walk {
  readonly #text: string;
  readonly shown: Range[] = [];
  readonly scalars: Range[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** Visits a node. @param path the keys that lead to the node, beginning with the section; positions in lists are left out */
  node(node: unknown, path: readonly string[]): void {
    if (isScalar(node)) this.#value(node, path);
    else if (isSeq(node)) for (const item of node.items) this.node(item, path);
    else if (isMap(node)) {
      let isAfterSecret = false;
      const isInSecret = hidesMembers(path);
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : '';
        // The member `svc` of a package.json is the configuration.
        const inner = path.length === 0 && name === 'svc' ? [] : [...path, name];
        // If a secret without quotes contains a comma, the text after the comma is parsed as another key.
        const isRest = node.flow === true && isAfterSecret && isScalar(key) && key.type === 'PLAIN';
        if (isScalar(key)) this.#record(key, optionNames().has(name) || !(isInSecret || isRest || isText(name) || resemblesSecret(name)));
        this.node(value, inner);
        isAfterSecret ||= hasSecretName(inner) || isAlias(value) || (isScalar(value) && !isShown(value, inner));
      }
    }
  }

  #value(node: Scalar, path: readonly string[]): void {
    const range = this.#record(node, isShown(node, path));
    if (!range || !isHeaderList(path) || path.length > 3) return;
    const [name] = /^["']?[A-Za-z][\w-]*:/.exec(this.#text.slice(...range)) ?? [];
    if (name !== undefined) this.shown.push([range[0], range[0] + name.length]);
  }

  #record({ range }: Scalar, isShown: boolean): Range | undefined {
    if (!range) return undefined;
    const own: Range = [range[0], range[1]];
    this.scalars.push(own);
    if (isShown) this.shown.push(own);
    return own;
  }
}

/** Returns the names of options in a path. Leaves out the section and, outside `server`, also the key of the entry (such as a UUID). */
function optionPath(path: readonly string[]): readonly string[] {
  return path.slice(path[0] === 'server' ? 1 : 2);
}

/** Whether a map may be a secret or a part of one. If so, only option names in it are shown. */
function hidesMembers(path: readonly string[]): boolean {
  return hasSecretName(path) || !optionPath(path).every((name) => optionNames().has(name)) || (path.length > 1 && !isInSection(path));
}

/**
 * Whether the name of an option in the path marks it as a secret. If the path does not begin with a section, all its names are checked,
 * including the first two.
 */
function hasSecretName(path: readonly string[]): boolean {
  return isSecret(isInSection(path) ? path : ['', '', ...path]);
}

function isInSection([section = '']: readonly string[]): boolean {
  return sectionNames().has(section);
}

/** Whether a key is probably not a key, but a part of a text in which a quotation mark is at the wrong place. */
function isText(key: string): boolean {
  return /[\t\r\n{}"]|: /.test(key);
}

function isShown({ value }: Scalar, path: readonly string[]): boolean {
  if (value === null || (typeof value === 'string' && isReference(value))) return true;
  const options = optionPath(path);
  if (!isInSection(path) || options.length === 0 || isHeaderList(path)) return false;
  const isKnown = options[0] === 'extra_data' ? options.length > 1 : options.every((name) => optionNames().has(name));
  return isKnown && maskedText(String(value), path) === String(value);
}

/** Builds the text from the parts to show, and from asterisks for everything else. The layout is unchanged. */
function assembled(text: string, { shown, scalars }: Walk): string {
  const [layout, masked, asIs] = [0, 1, 2];
  const kinds = new Uint8Array(text.length).fill(layout);
  for (const [start, end] of scalars) kinds.fill(masked, start, end);
  for (const [start, end] of shown) kinds.fill(asIs, start, end);
  let isComment = false;
  let isIndentation = true;
  let result = '';
  for (const [at, kind] of kinds.entries()) {
    const character = text.charAt(at);
    if (character === '\n' || kind !== layout) isComment = false;
    else if (character === '#') isComment = true;
    isIndentation = character === '\n' || (isIndentation && character === ' ');
    const isShownHere = kind === asIs || (kind === layout && !isComment && /[-\s{}[\],:?]/.test(character));
    result += isShownHere || isIndentation || /[\r\n]/.test(character) ? character : '*';
  }
  return result;
}
