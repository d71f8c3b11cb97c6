import { c, clike, cpp, csharp, dart, java, kotlin, objectiveC, scala } from '@codemirror/legacy-modes/mode/clike';
import { cmake } from '@codemirror/legacy-modes/mode/cmake';
import { css, less, sCSS } from '@codemirror/legacy-modes/mode/css';
import { diff } from '@codemirror/legacy-modes/mode/diff';
import { dockerFile } from '@codemirror/legacy-modes/mode/dockerfile';
import { go } from '@codemirror/legacy-modes/mode/go';
import { groovy } from '@codemirror/legacy-modes/mode/groovy';
import { javascript, json, typescript } from '@codemirror/legacy-modes/mode/javascript';
import { lua } from '@codemirror/legacy-modes/mode/lua';
import { perl } from '@codemirror/legacy-modes/mode/perl';
import { powerShell } from '@codemirror/legacy-modes/mode/powershell';
import { properties } from '@codemirror/legacy-modes/mode/properties';
import { protobuf } from '@codemirror/legacy-modes/mode/protobuf';
import { python } from '@codemirror/legacy-modes/mode/python';
import { r } from '@codemirror/legacy-modes/mode/r';
import { ruby } from '@codemirror/legacy-modes/mode/ruby';
import { rust } from '@codemirror/legacy-modes/mode/rust';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import { simpleMode } from '@codemirror/legacy-modes/mode/simple-mode';
import { stex } from '@codemirror/legacy-modes/mode/stex';
import { swift } from '@codemirror/legacy-modes/mode/swift';
import { toml } from '@codemirror/legacy-modes/mode/toml';
import { html, xml } from '@codemirror/legacy-modes/mode/xml';
import { yaml } from '@codemirror/legacy-modes/mode/yaml';
import { type StreamParser, StringStream } from '@codemirror/streamparser';

/** Colour classes, each with the names that CodeMirror gives to its tokens. */
const tokensByClass = {
  keyword: 'keyword controlKeyword operatorKeyword modifier',
  string: 'string character regexp inserted',
  comment: 'comment lineComment blockComment quote',
  number: 'number atom bool null unit color',
  name: 'def definition className labelName header heading',
  type: 'typeName tagName tag qualifier angleBracket standard',
  property: 'propertyName property attributeName attribute',
  meta: 'meta documentMeta annotation processingInstruction',
  wrong: 'deleted error invalid',
};
const classes = new Map(Object.entries(tokensByClass).flatMap(([name, tokens]) => tokens.split(' ').map((token) => [token, name])));

interface Part {
  text: string;
  colour: string | undefined;
}

const tabSize = 4;
const indentUnit = 2;

function tokenClass(style: string | null): string | undefined {
  // A style is a list of names, separated by spaces. Each name has parts, separated by dots. The first part with a colour counts.
  return style
    ?.split(/[ .]/)
    .map((token) => classes.get(token))
    .find((name) => name !== undefined);
}

/**
 * Colours the lines of a program. They must be passed in their order, because a comment or string can continue in the next line.
 * @returns a function that takes the next line without its line end, and returns the parts of that line
 */
export function colourLines(language: Language): (line: string) => Part[] {
  const state = language.startState?.(indentUnit);
  return (line) => {
    if (line === '') language.blankLine?.(state, indentUnit);
    const parts: Part[] = [];
    const stream = new StringStream(line, tabSize, indentUnit);
    while (!stream.eol()) {
      const colour = tokenClass(nextToken(stream, language, state));
      const last = parts.at(-1);
      if (last && last.colour === colour) last.text += stream.current();
      else parts.push({ text: stream.current(), colour });
      stream.start = stream.pos;
    }
    return parts;
  };
}

/** Reads the next token. If the language throws, or does not advance in ten attempts, the token gets no colour. */
function nextToken(stream: StringStream, language: Language, state: unknown): string | null {
  try {
    for (let attempt = 0; attempt < 10; attempt++) {
      const style = language.token(stream, state);
      if (stream.pos > stream.start) return style;
    }
    stream.pos = stream.start + 1;
  } catch {
    stream.skipToEnd();
  }
  return null;
}

/** A language of CodeMirror, which reads a program line by line and token by token. */
export type Language = StreamParser<unknown>;

function words(list: string): Record<string, boolean> {
  return Object.fromEntries(list.split(' ').map((word) => [word, true]));
}

const php = clike({
  name: 'php',
  keywords: words(
    'abstract and array as break case catch class clone const continue declare default do echo else elseif empty enum extends final finally ' +
      'fn for foreach function global if implements include include_once instanceof interface isset list match namespace new or print ' +
      'private protected public readonly require require_once return static switch throw trait try unset use var while xor yield',
  ),
  blockKeywords: words('catch do else elseif for foreach if switch try while finally'),
  atoms: words('true false null TRUE FALSE NULL self parent'),
  hooks: {
    $(stream: StringStream) {
      stream.eatWhile(/[\w$]/);
      return 'propertyName';
    },
    '#'(stream: StringStream) {
      if (stream.eat('[')) return 'meta';
      stream.skipToEnd();
      return 'comment';
    },
  },
  multiLineStrings: true,
});

// CodeMirror's own mode contains the keywords of twelve dialects, which need as much space as ten other languages.
const sqlWords =
  'add all alter and any as asc begin between by cascade case check column commit constraint create cross database default delete desc ' +
  'distinct drop else end except exists foreign from full function grant group having if in index inner insert intersect into is join key ' +
  'left like limit not null offset on or order outer over partition primary procedure references returning revoke right rollback select set ' +
  'table then to transaction trigger truncate union unique update using values view when where with';

const sql = simpleMode({
  start: [
    { regex: /--.*/, token: 'comment' },
    { regex: /\/\*/, token: 'comment', next: 'comment' },
    { regex: /'(?:[^']|'')*'?/, token: 'string' },
    { regex: /\d+(?:\.\d+)?/, token: 'number' },
    { regex: new RegExp(`(?:${sqlWords.replaceAll(' ', '|')})\\b`, 'i'), token: 'keyword' },
    { regex: /[\w$]+|"[^"]*"?/ },
  ],
  comment: [
    { regex: /.*?\*\//, token: 'comment', next: 'start' },
    { regex: /.+/, token: 'comment' },
  ],
});

/** Languages by file extension, or by the whole name of a file without a dot. Code blocks in Markdown use the same names. */
const byNames = [
  [javascript, 'js mjs cjs jsx javascript'],
  [typescript, 'ts tsx cts mts typescript'],
  [json, 'json jsonl jsonc ndjson jsonld geojson webmanifest map'],
  [python, 'py python'],
  [c, 'c h'],
  [cpp, 'cpp cc cxx hpp hh hxx c++ ino'],
  [csharp, 'cs csharp'],
  [java, 'java'],
  [kotlin, 'kt kts kotlin'],
  [scala, 'scala sbt'],
  [objectiveC, 'm mm'],
  [dart, 'dart'],
  [php, 'php'],
  [go, 'go golang'],
  [rust, 'rs rust'],
  [ruby, 'rb ruby rake gemfile rakefile'],
  [perl, 'pl pm perl'],
  [lua, 'lua'],
  [swift, 'swift'],
  [r, 'r'],
  [groovy, 'groovy gradle jenkinsfile'],
  [shell, 'sh bash zsh fish csh shell console bashrc profile zshrc'],
  [powerShell, 'ps1 powershell'],
  [sql, 'sql'],
  [css, 'css'],
  [sCSS, 'scss sass'],
  [less, 'less'],
  [html, 'html htm xhtml vue svelte'],
  [xml, 'xml xsl svg gpx kml gml'],
  [yaml, 'yaml yml'],
  [toml, 'toml'],
  [properties, 'ini cfg conf properties env editorconfig gitconfig npmrc'],
  [dockerFile, 'dockerfile'],
  [cmake, 'cmake'],
  [protobuf, 'proto'],
  [diff, 'diff patch'],
  [stex, 'tex latex'],
] as const;

const languages = new Map(byNames.flatMap(([language, names]) => names.split(' ').map((name) => [name, language as Language] as const)));

/** Returns the language of a file by its name; undefined if the name is not in the table. */
export function findLanguage(fileName: string): Language | undefined {
  return languages.get(fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase());
}
