import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageScripts } from '../../scripts/page-scripts.mjs';
import { preferredLanguage } from '../../src/lib/headers/accept-header.ts';
import { Speed } from '../../src/lib/rate-meter.ts';
import { fillText, type Text } from '../../src/lib/translated-text.ts';
import { nextName } from '../../src/web/files/uploads/upload.ts';
import { temporaryFolder } from '../support/temp.ts';

test('to keep both files, the new name gets the next number and keeps the extension', () => {
  const cases = [
    ['report.pdf', 'report (2).pdf'],
    ['report (2).pdf', 'report (3).pdf'],
    ['report (9).tar.gz', 'report (9).tar (2).gz'],
    ['.profile', '.profile (2)'],
    ['Makefile', 'Makefile (2)'],
    ['a (x).txt', 'a (x) (2).txt'],
  ] as const;
  for (const [name, expected] of cases) assert.equal(nextName(name), expected);
});

test('the speed is measured over the last seconds, and anew for each file', () => {
  const speed = new Speed();
  assert.equal(speed.bytesPerSecond, undefined);
  for (let second = 0; second <= 20; second++) speed.note(second * 1000, second * 1000);
  assert.equal(speed.bytesPerSecond, 1000);
  speed.note(100, 21_000);
  assert.equal(speed.bytesPerSecond, undefined);
});

test('a text is filled with the plural forms and numbers of its language', () => {
  const items: Text = { one: '{count} item', other: '{count} items' };
  assert.equal(fillText('en', items, { count: 1 }), '1 item');
  assert.equal(fillText('de', items, { count: 12_345 }), '12.345 items');
  assert.equal(fillText('fr', items, { count: 0 }), '0 item', 'French has the singular for zero');
  assert.equal(fillText('en', '{a} {b}', { a: '{b}' }), '{b} {b}', 'inserted text is not expanded again');
});

test('every language has every text with the same placeholders', () => {
  const folder = join(process.env.SVC_ROOT ?? process.cwd(), 'src/web/texts');
  const read = (group: string, language: string): Record<string, Text> =>
    JSON.parse(readFileSync(join(folder, group, `${language}.json`), 'utf8'));
  const places = (text: Text) => [...new Set(JSON.stringify(text).match(/\{[a-z]+\}/g) ?? [])].sort();
  const groups = readdirSync(folder);
  assert.deepEqual(groups.sort(), [
    'accounts',
    'configuration',
    'console',
    'deletion',
    'details',
    'due',
    'events',
    'files',
    'findings',
    'found',
    'handlers',
    'held',
    'links',
    'messages',
    'pages',
    'previews',
    'problems',
    'questions',
    'share',
    'tokens',
    'transfer',
    'uploads',
  ]);
  for (const group of groups) {
    const [first = 'en', ...others] = ['details', 'events', 'findings', 'messages', 'problems'].includes(group)
      ? ['de', 'es', 'fr']
      : ['en', 'de', 'es', 'fr'];
    assert.deepEqual(readdirSync(join(folder, group)).sort(), [first, ...others].map((language) => `${language}.json`).sort());
    const texts = read(group, first);
    for (const language of others) {
      const translated = read(group, language);
      assert.deepEqual(Object.keys(translated).sort(), Object.keys(texts).sort(), `${group}/${language}`);
      for (const [key, text] of Object.entries(texts))
        assert.deepEqual(places(translated[key] as Text), places(text), `${group}/${language} ${key}`);
    }
  }
});

test('each part of the script is loaded by the name of its file, which another attempt needs', () => {
  const folder = join(process.env.SVC_ROOT ?? process.cwd(), 'src/web/files');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const calls = sources.flatMap((name) => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(
      /(?:loadPart|awaitPart|partFor)\(\s*'([^']+)',\s*\(\) =>\s*import\('[^']*?([\w-]+)\.ts'\)/g,
    ),
  ]);
  assert.ok(calls.length > 12, `${calls.length} calls`);
  for (const [, name, file] of calls) assert.equal(name, file);
});

test('French punctuation never begins a line: no-break spaces precede it', () => {
  const folder = join(process.env.SVC_ROOT ?? process.cwd(), 'src/web/texts');
  for (const group of readdirSync(folder)) {
    const texts: Record<string, Text> = JSON.parse(readFileSync(join(folder, group, 'fr.json'), 'utf8'));
    for (const text of Object.values(texts).flatMap((forms) => (typeof forms === 'string' ? forms : Object.values(forms))))
      assert.doesNotMatch(text, /[^\u202f][?!;](?=\s|$)|[^\u00a0]:(?=\s|$)|«[^\u00a0]|[^\u00a0]»/, `${group}: ${text}`);
  }
});

test('the language with the highest quality in Accept-Language is chosen, and its region is kept for formats', () => {
  const offers = ['en', 'de'];
  assert.deepEqual(preferredLanguage('de-at;q=0.8, en;q=0.7', offers), { tag: 'de', range: 'de-AT' });
  assert.deepEqual(preferredLanguage('zh-Hans-CN, *', offers), { tag: 'en', range: 'en' });
  assert.deepEqual(preferredLanguage('de;q=2, en-x-y;q=0.1', offers), { tag: 'en', range: 'en' });
});

test('two modules of the first script may export the same name, unless another part imports it', async (t) => {
  const folder = temporaryFolder(t);
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  write('a.ts', 'export const ask = () => 1; export const one = 1;');
  write('b.ts', 'export const ask = () => 2; export const two = 2;');
  write(
    'main.ts',
    `import { ask } from './a.ts'; import { ask as other } from './b.ts'; console.log(ask(), other()); import('./part.ts');`,
  );
  write('part.ts', `import { one } from './a.ts'; console.log(one);`);
  const { files } = await pageScripts(join(folder, 'main.ts'), []);
  assert.match(files['part.js'] ?? '', /import\{one as \w+\}from"\.\/page\.js"/, 'the part imports only the name that it uses');
  write('part.ts', `import { ask, one } from './a.ts'; import { two } from './b.ts'; console.log(ask(), one, two);`);
  await assert.rejects(pageScripts(join(folder, 'main.ts'), []), /a\.ts and .*b\.ts both export ask/);
});

test('a file of texts is sent as one object, without a second list of its keys', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'fr.json'), '{"close": "Fermer", "stop": "Arrêter"}');
  writeFileSync(join(folder, 'main.ts'), `import('./fr.json').then(({ default: texts }) => console.log(texts));`);
  const { files } = await pageScripts(join(folder, 'main.ts'), []);
  assert.match(files['fr.js'] ?? '', /Fermer.*export\{\w+ as default\}/s);
});
