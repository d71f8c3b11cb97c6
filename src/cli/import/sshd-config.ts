import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InputFile, Note } from './draft.ts';

export interface Directive {
  /** In lower case. */
  keyword: string;
  /** As written. */
  name: string;
  args: string[];
  file: string;
  line: number;
}

interface Criterion {
  name: string;
  patterns: string;
}

/** The directives of one `Match` block, or those before the first one. */
export interface Block {
  criteria: Criterion[];
  directives: Directive[];
}

interface Subject {
  name: string;
  groups: readonly string[];
}

const maxDepth = 16;
const maxFiles = 256;

/**
 * Splits a line as OpenSSH does, with quotes, backslashes and comments.
 *
 * @returns undefined if a quotation mark is not closed
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  for (let at = 0; at < line.length; ) {
    if (/\s/.test(line[at] as string)) {
      at++;
      continue;
    }
    if (line[at] === '#') break;
    let word = '';
    let quote = '';
    for (; at < line.length && (quote !== '' || !/\s/.test(line[at] as string)); at++) {
      const character = line[at] as string;
      if (character === '\\' && /["'\\]|\s/.test(line[at + 1] ?? '')) word += line[++at];
      else if (quote === '' && /["']/.test(character)) quote = character;
      else if (character === quote) quote = '';
      else word += character;
    }
    if (quote !== '') return undefined;
    words.push(word);
  }
  return words;
}

/** Reads a configuration and its included files. @param root copy of the old machine's `/` */
export function readSshdConfig(file: InputFile, root: string, notes: Note[]): Block[] {
  const blocks: Block[] = [{ criteria: [], directives: [] }];
  let files = 0;
  const read = (path: string, text: string, depth: number, outer: Criterion[]) => {
    for (const [index, content] of text.split(/\r?\n/).entries()) {
      const place = { file: path, line: index + 1 };
      const words = splitWords(content.replace(/^(\s*[A-Za-z0-9]+)\s*=\s*/, '$1 '));
      if (!words)
        notes.push({ ...place, what: 'a quotation mark is not closed', instead: 'sshd would not start with this line: correct it.' });
      const [name = '', ...args] = words ?? [];
      const keyword = name.toLowerCase();
      if (keyword === '') continue;
      if (keyword === 'match') blocks.push({ criteria: [...outer, ...parseCriteria(args)], directives: [] });
      else if (keyword === 'include') {
        for (const included of args.flatMap((pattern) => includedPaths(pattern, root))) {
          if (depth >= maxDepth || ++files > maxFiles) {
            notes.push({
              ...place,
              what: `${included} is nested too deep, or there are too many included files`,
              instead: 'Give it as a separate file.',
            });
            continue;
          }
          try {
            // Conditions in an included file add to those around it, and end with the file.
            const around = blocks.at(-1) as Block;
            read(included, readFileSync(included, 'utf8'), depth + 1, around.criteria);
            if (blocks.at(-1) !== around) blocks.push({ criteria: around.criteria, directives: [] });
          } catch (error) {
            notes.push({ ...place, what: `${included} cannot be read: ${(error as Error).message}`, instead: 'Give a copy with --root.' });
          }
        }
      } else {
        // ForceCommand extends to the end of the line, including `#`.
        const whole =
          keyword === 'forcecommand'
            ? [
                content
                  .trim()
                  .slice(name.length)
                  .replace(/^\s*=?\s*/, ''),
              ]
            : args;
        (blocks.at(-1) as Block).directives.push({ keyword, name, args: whole, ...place });
      }
    }
  };
  read(file.path, file.text, 0, []);
  return blocks;
}

function parseCriteria(args: readonly string[]): Criterion[] {
  const criteria: Criterion[] = [];
  for (let index = 0; index < args.length; index++) {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(args[index] ?? '') ?? [];
    const isWord = /^(?:all|canonical|final|invalid-user)$/i.test(name);
    criteria.push({ name: name.toLowerCase(), patterns: value ?? (isWord ? '' : (args[++index] ?? '')) });
  }
  return criteria;
}

function includedPaths(pattern: string, root: string): string[] {
  const path = pattern.startsWith('/') ? pattern : `/etc/ssh/${pattern}`;
  const at = path.lastIndexOf('/');
  const [folder, name] = [join(root, path.slice(0, at)), path.slice(at + 1)];
  if (!/[*?]/.test(name)) return [join(folder, name)];
  try {
    return readdirSync(folder)
      .filter((entry) => matchesPattern(entry, name) && !entry.startsWith('.'))
      .sort()
      .map((entry) => join(folder, entry));
  } catch {
    // sshd treats a pattern as empty if its folder cannot be read.
    return [];
  }
}

/** Matches an OpenSSH pattern with `*` and `?`. Time is at most proportional to the product of both lengths. */
export function matchesPattern(text: string, pattern: string): boolean {
  let [at, of, star, kept] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[of] === '*') {
      star = of++;
      kept = at;
    } else if (of < pattern.length && (pattern[of] === '?' || pattern[of] === text[at])) {
      at++;
      of++;
    } else if (star >= 0) {
      of = star + 1;
      at = ++kept;
    } else return false;
  }
  while (pattern[of] === '*') of++;
  return of === pattern.length;
}

/** A pattern without `!` must match, and none after a `!`. */
export function matchesList(text: string, patterns: string): boolean {
  const all = patterns.split(',');
  if (all.some((pattern) => pattern.startsWith('!') && matchesPattern(text, pattern.slice(1)))) return false;
  return all.some((pattern) => !pattern.startsWith('!') && matchesPattern(text, pattern));
}

/** `sometimes` for conditions on addresses or ports. */
export function appliesTo({ criteria }: Block, { name, groups }: Subject): 'always' | 'never' | 'sometimes' {
  let result: 'always' | 'sometimes' = 'always';
  for (const criterion of criteria) {
    if (criterion.name === 'user') {
      if (!matchesList(name, criterion.patterns)) return 'never';
    } else if (criterion.name === 'group') {
      const isRefused = groups.some((group) =>
        criterion.patterns.split(',').some((one) => one.startsWith('!') && matchesPattern(group, one.slice(1))),
      );
      if (isRefused || !groups.some((group) => matchesList(group, criterion.patterns))) return 'never';
    } else if (criterion.name === 'invalid-user') return 'never';
    else if (criterion.name !== 'all' && !(criterion.name === 'address' && criterion.patterns === '*')) result = 'sometimes';
  }
  return result;
}

/**
 * Returns the possible values of a keyword. `usual` is from the first `Match` block that always applies, or from before the first `Match`,
 * as in sshd. `sometimes` is from blocks for some connections.
 */
export function lookUp(
  blocks: readonly Block[],
  keyword: string,
  subject: Subject,
): { usual: Directive | undefined; sometimes: Directive[] } {
  const [first, ...matches] = blocks;
  const find = (block: Block | undefined) => block?.directives.find((directive) => directive.keyword === keyword);
  const isGlobal = (block: Block) => block.criteria.length === 0;
  const always = matches.filter((block) => !isGlobal(block) && appliesTo(block, subject) === 'always');
  const global = [first, ...matches.filter(isGlobal)];
  const usual = [...always, ...global].map(find).find((directive) => directive !== undefined);
  const sometimes = matches.filter((block) => appliesTo(block, subject) === 'sometimes').flatMap((block) => find(block) ?? []);
  return { usual, sometimes };
}
