import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InputFile, Note } from './draft.ts';

export interface Directive {
  /** Name of the keyword in lower case. */
  keyword: string;
  /** Name of the keyword as it was written. */
  name: string;
  args: string[];
  file: string;
  line: number;
}

interface Criterion {
  name: string;
  patterns: string;
}

/** The directives of one `Match` block. The directives before the first `Match` are a block without conditions. */
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
 * Splits a line into words as OpenSSH does. Single and double quotes, and backslashes before quotes and blanks, are supported. `#` begins a
 * comment.
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

/** Reads a configuration and the files that it includes. @param root folder that takes the place of the old machine's `/` */
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
            // Conditions in an included file add to those of the block that includes the file, and end with the file.
            const around = blocks.at(-1) as Block;
            read(included, readFileSync(included, 'utf8'), depth + 1, around.criteria);
            if (blocks.at(-1) !== around) blocks.push({ criteria: around.criteria, directives: [] });
          } catch (error) {
            notes.push({ ...place, what: `${included} cannot be read: ${(error as Error).message}`, instead: 'Give a copy with --root.' });
          }
        }
      } else {
        // The value of ForceCommand extends to the end of the line, including any text after `#`.
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
    // Like sshd, treat a pattern as matching nothing if its folder cannot be read.
    return [];
  }
}

/**
 * Returns whether a text matches an OpenSSH pattern with the wildcards `*` and `?`. Its run time is at most proportional to the product of
 * both lengths.
 */
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

/**
 * Returns whether a list of patterns matches. At least one pattern without `!` must match, and the text must not match any pattern that
 * follows a `!`.
 */
export function matchesList(text: string, patterns: string): boolean {
  const all = patterns.split(',');
  if (all.some((pattern) => pattern.startsWith('!') && matchesPattern(text, pattern.slice(1)))) return false;
  return all.some((pattern) => !pattern.startsWith('!') && matchesPattern(text, pattern));
}

/** Returns whether a block applies to an account: always, never, or for some of its connections (addresses, ports). */
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
 * Returns the possible values of a keyword for an account. `usual` applies if no condition on addresses is met. Like sshd, the function
 * takes this value from the first matching `Match` block, or else from the lines before the first `Match`. `sometimes` contains the values
 * of the blocks that match only some connections.
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
