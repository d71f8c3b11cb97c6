// Writes all texts for people in the sources (errors, log lines, findings, help of options and commands, events, pages) to
// .cache/messages.md, with their line numbers, so that one person can read all of them. They are sorted by file.
//   node scripts/messages.mjs
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);

/**
 * Matches comments, and texts in the three kinds of quotes. It is not exact: if a regular expression contains a quote, its line is not
 * matched correctly.
 */
const tokens = /\/\/.*|\/\*[\s\S]*?\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;

/** Returns whether a text has at least two words. A shorter text is a key, a name or a part of a protocol. */
function isForPeople(text) {
  return /\p{L}{2,}[,:;]? (\S+ )*\p{L}{2,}/u.test(text);
}

function messagesIn(file) {
  const source = readFileSync(file, 'utf8');
  const rows = [...source.matchAll(tokens)].flatMap(({ 1: single, 2: double, 3: template, index }) => {
    const text = single ?? double ?? template ?? '';
    if (!isForPeople(text)) return [];
    return [`- ${source.slice(0, index).split('\n').length}: ${text.replaceAll('\n', '⏎')}`];
  });
  return rows.length > 0 ? [`## ${file}\n\n${rows.join('\n')}\n`] : [];
}

const files = readdirSync('src', { recursive: true })
  .filter((name) => /\.ts$|[/\\]en\.json$/.test(name))
  .map((name) => `src/${name}`)
  .sort();
mkdirSync('.cache', { recursive: true });
writeFileSync('.cache/messages.md', files.flatMap(messagesIn).join('\n'));
