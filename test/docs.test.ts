import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCases } from '../src/config/cases/case-file.ts';
import { parseConfig } from '../src/config/reading/load.ts';
import { parseSource } from '../src/config/reading/source.ts';
import { program, run } from './support/child.ts';
import { temporaryFolder } from './support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

/** The pages for users, as paths from the root. The contract and the design have no snippets to run. */
const pages = [
  'README.md',
  ...['integrate', 'operate', 'reference', 'use'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${folder}/${name}`),
  ),
];
const read = (page: string) => readFileSync(join(root, page), 'utf8');
const commands = read('docs/reference/commands.md');

interface Snippet {
  language: string;
  text: string;
}

function snippetsOf(markdown: string): Snippet[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({ language: match[1] ?? '', text: match[2] ?? '' }));
}

/** Returns the heading of a command in the reference; `svc mock auth` has a section below `svc mock`. */
function headingOf(names: readonly string[]): string {
  return `\n${'#'.repeat(names.length + 1)} \`svc ${names.join(' ')}\`\n`;
}

/** Returns the help of an existing command: its text in the reference (`npm run docs -- --check` verifies it) or the output of `--help`. */
function helpOf(names: readonly string[]): string {
  const [, section = ''] = commands.split(headingOf(names));
  const told = snippetsOf(section)[0]?.text;
  if (told !== undefined) return told;
  const end = spawnSync(program[0], [...program.slice(1), ...names, '--help'], { encoding: 'utf8' });
  assert.equal(end.status, 0, `svc ${names.join(' ')}: ${end.stderr}`);
  return end.stdout;
}

function unknownOptions(words: readonly string[]): string[] {
  const names: string[] = [];
  for (const word of words) {
    if (!/^[a-z][a-z-]*$/.test(word) || (names.length > 0 && !commands.includes(headingOf([...names, word])))) break;
    names.push(word);
  }
  const help = helpOf(names);
  return words.filter((word) => /^--?[a-z]/.test(word)).filter((word) => !help.includes(word.split('=', 1)[0] as string));
}

/** Returns the calls of svc in shell lines, as words. */
function callsOf(text: string): string[][] {
  return text
    .split('\n')
    .map((line) => line.replace(/\s#.*$/, ''))
    .flatMap((line) => [...line.matchAll(/(?:^|[\s(])(?:npx )?svc ((?:[^|;&<>)"']|"[^"]*"|'[^']*')*)/g)])
    .map((match) => (match[1] as string).trim().split(/\s+/));
}

/** Snippets read secrets from the environment, so each variable has a value here. */
const everyVariable = new Proxy<Record<string, string>>({}, { get: () => 'value', has: () => true });

test('every snippet of the documentation is run or checked', () => {
  const examples = new Set(
    ['uploads', 'recipes'].flatMap((folder) =>
      readdirSync(join(root, 'examples', folder)).map((name) => read(`examples/${folder}/${name}`)),
    ),
  );
  const kinds: Record<string, (text: string) => void> = {
    // test/readme.test.ts runs the tours.
    console: (text) => assert.match(text, /^\$ /),
    // `npm run docs` generates these blocks, and its option --check compares them.
    text: (text) => assert.match(text, /^Usage: svc /),
    json: (text) => assert.ok(JSON.parse(text)),
    yaml: (text) => {
      if (/^cases:/m.test(text)) readCases(text, 'svc.test.yaml');
      else parseConfig(parseSource('/nowhere/svc.config.yaml', text), everyVariable);
    },
    // Whole files that tests run: test/http/uploads/bad-line.test.ts, test/examples-recipes.long.test.ts.
    python: (text) => assert.ok(examples.has(text), 'the snippet is a whole file of examples/'),
    javascript: (text) => assert.ok(examples.has(text), 'the snippet is a whole file of examples/'),
    sh: (text) => {
      if (text.startsWith('#!')) assert.ok(examples.has(text), 'the snippet is a whole file of examples/');
      const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      for (const [, name = ''] of text.matchAll(/npm (?:run )?(start|test|[a-z]+)\b/g))
        assert.ok(['ci', 'install', 'pack'].includes(name) || scripts[name], name);
      for (const words of callsOf(text)) assert.deepEqual(unknownOptions(words), [], `svc ${words.join(' ')}`);
    },
  };
  const snippets = pages.flatMap((page) => snippetsOf(read(page)));
  assert.ok(snippets.length > 20);
  for (const { language, text } of snippets) {
    const check = kinds[language];
    assert.ok(check, `nothing checks a snippet of the kind "${language}": ${text.slice(0, 60)}`);
    check(text);
  }
});

test('svc test runs the cases of the page about testing', async (t) => {
  const cwd = temporaryFolder(t);
  assert.equal((await run(t, ['init'], { cwd })).code, 0);
  const cases = snippetsOf(read('docs/operate/testing.md')).find(({ text }) => /^cases:/m.test(text))?.text ?? '';
  writeFileSync(join(cwd, 'svc.test.yaml'), cases);
  const end = await run(t, ['test', 'svc.test.yaml', '--junit', 'report.xml'], { cwd });
  assert.equal(end.code, 1, 'the configuration of init has no group STAFF and no handler crm');
  assert.match(end.stdout, /there is no event handler "crm"/);
});

test('the examples in the help of every command use existing options', () => {
  const blocks = snippetsOf(commands).filter(({ language }) => language === 'text');
  assert.ok(blocks.length >= 15);
  for (const { text } of blocks) {
    const examples = text.slice(text.search(/^Examples?:$/m));
    const calls = callsOf(examples);
    assert.ok(calls.length > 0, text.slice(0, 40));
    for (const words of calls) assert.deepEqual(unknownOptions(words), [], `svc ${words.join(' ')}`);
  }
});

test('every command has a section in the reference', async (t) => {
  const { stdout } = await run(t, ['--help'], { cwd: temporaryFolder(t) });
  const list = stdout.slice(stdout.indexOf('\nCommands:'), stdout.indexOf('\nExit codes:'));
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map((match) => match[1] as string).filter((name) => name !== 'help');
  for (const name of names) assert.ok(commands.includes(headingOf([name])), name);
  for (const words of [
    ['mock', 'webhook'],
    ['events', 'forward'],
    ['bans', 'remove'],
  ])
    assert.ok(commands.includes(headingOf(words)), words.join(' '));
});

function allPages(): string[] {
  const within = (folder: string) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
  return [...pages, ...within('docs/design'), ...within('docs/spec'), 'CONTRIBUTING.md', 'CHANGELOG.md'];
}

/** Returns the lines of a page with their places, and with the line that opened the block of code which contains them. */
function placedLines(page: string): { line: string; place: string; fence: string | undefined }[] {
  let fence: string | undefined;
  return read(page)
    .split('\n')
    .map((line, index) => {
      if (/^ *```/.test(line)) fence = fence === undefined ? line : undefined;
      return { line, place: `${page}:${index + 1}`, fence };
    });
}

/** Returns lines that are too wide although they can be broken: rows of tables, pictures and outputs of a tour cannot. */
function wideLines(page: string): string[] {
  let isGenerated = page.startsWith('docs/reference/');
  return placedLines(page).flatMap(({ line, place, fence }) => {
    if (/^<!-- \S+:start/.test(line)) isGenerated = true;
    if (/^<!-- \S+:end/.test(line)) isGenerated = page.startsWith('docs/reference/');
    const isPrinted = fence === '```console' && !/^[$>] /.test(line);
    return line.length <= 120 || isPrinted || (isGenerated && /^(\||!\[)/.test(line)) ? [] : [place];
  });
}

test('lines of the documentation are at most 120 characters wide', () => {
  assert.deepEqual(allPages().flatMap(wideLines), []);
});

test('rows of tables in the documentation are not broken over two lines', () => {
  const rows = allPages()
    .flatMap(placedLines)
    .filter(({ line, fence }) => fence === undefined && line.startsWith('|'));
  assert.ok(rows.length > 0);
  assert.deepEqual(
    rows.filter(({ line }) => !line.endsWith('|')).map(({ place }) => place),
    [],
  );
});

test('the README stays small and leads to every page; CONTRIBUTING leads to the pages about the design', () => {
  const readme = read('README.md');
  assert.ok(Buffer.byteLength(readme) <= 12_000, 'README.md');
  assert.ok(Buffer.byteLength(read('CONTRIBUTING.md')) <= 6_000, 'CONTRIBUTING.md');
  const unlinked = (text: string, some: readonly string[]) => some.filter((page) => !text.includes(`(${page})`));
  assert.deepEqual(unlinked(readme, pages.slice(1)), []);
  const design = readdirSync(join(root, 'docs/design')).map((name) => `docs/design/${name}`);
  assert.deepEqual(unlinked(read('CONTRIBUTING.md'), design), []);
});

test('decisions are numbered in each section, and none is repeated', () => {
  const rooms = read('docs/design/decisions.md').split(/^## /m).slice(1);
  assert.ok(rooms.length > 10);
  const titles = rooms.flatMap((room) => {
    const entries = [...room.matchAll(/^(\d+)\. \*\*([\s\S]+?)\*\*/gm)];
    assert.deepEqual(
      [...room.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number)),
      entries.map((_, index) => index + 1),
      room.slice(0, 40),
    );
    return entries.map(([, , title = '']) => title.replace(/\s+/g, ' '));
  });
  assert.deepEqual(
    titles.filter((title, index) => titles.indexOf(title) !== index),
    [],
  );
});
