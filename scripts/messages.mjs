// Writes all texts for people in the sources to .cache/messages.md, sorted by file, so that one person can read all of them.
//   node scripts/messages.mjs
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);

/** Matches comments, and texts in the three kinds of quotes. It fails in lines with a quote in a regular expression. */
const tokens = /\/\/.*|\/\*[\s\S]*?\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;

/** Returns whether a text has at least two words. Others are keys, names or parts of a protocol. */
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
