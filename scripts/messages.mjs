// Writes each text for people in the sources (errors, log lines, findings, help of options and commands, events, pages) with its line
// to .cache/messages.md, by file, so that one person can read them in one sitting.
//   node scripts/messages.mjs
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

process.chdir(new URL('..', import.meta.url).pathname);

/** Comments, and texts in their three quotes: good enough to read by; a quote in a regular expression spoils its line alone. */
const tokens = /\/\/.*|\/\*[\s\S]*?\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;

/** A text has two words of letters at least: anything shorter is a key, a name or a piece of a protocol. */
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
