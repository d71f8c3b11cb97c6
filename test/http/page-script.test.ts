import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptTexts as consoleDe } from '../../src/console/pages/client/texts/de.ts';
import { scriptTexts as consoleEn } from '../../src/console/pages/client/texts/en.ts';
import { scriptTexts as consoleEs } from '../../src/console/pages/client/texts/es.ts';
import { scriptTexts as consoleFr } from '../../src/console/pages/client/texts/fr.ts';
import { scriptTexts as scriptDe } from '../../src/http/html/client/texts/de.ts';
import { scriptTexts as scriptEn } from '../../src/http/html/client/texts/en.ts';
import { scriptTexts as scriptEs } from '../../src/http/html/client/texts/es.ts';
import { scriptTexts as scriptFr } from '../../src/http/html/client/texts/fr.ts';
import { Speed } from '../../src/http/html/client/uploads/speed.ts';
import { nextName } from '../../src/http/html/client/uploads/upload.ts';
import { pageTexts as de } from '../../src/http/html/pages/locales/de.ts';
import { pageTexts as en } from '../../src/http/html/pages/locales/en.ts';
import { pageTexts as es } from '../../src/http/html/pages/locales/es.ts';
import { pageTexts as fr } from '../../src/http/html/pages/locales/fr.ts';
import * as dePreviews from '../../src/http/html/pages/locales/previews/de.ts';
import * as enPreviews from '../../src/http/html/pages/locales/previews/en.ts';
import * as esPreviews from '../../src/http/html/pages/locales/previews/es.ts';
import * as frPreviews from '../../src/http/html/pages/locales/previews/fr.ts';
import { fillText, type Text } from '../../src/http/html/pages/locales/text.ts';
import { preferredLanguage } from '../../src/lib/headers/accept-language.ts';

test('keeping both files counts up and keeps the extension', () => {
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

test('the speed is that of the last seconds, and starts anew when a file does', () => {
  const speed = new Speed();
  assert.equal(speed.bytesPerSecond, undefined);
  for (let second = 0; second <= 20; second++) speed.note(second * 1000, second * 1000);
  assert.equal(speed.bytesPerSecond, 1000);
  speed.note(100, 21_000);
  assert.equal(speed.bytesPerSecond, undefined);
});

test('a text is filled in its own language', () => {
  const items: Text = { one: '{count} item', other: '{count} items' };
  assert.equal(fillText('en', items, { count: 1 }), '1 item');
  assert.equal(fillText('de', items, { count: 12_345 }), '12.345 items');
  assert.equal(fillText('fr', items, { count: 0 }), '0 item', 'French counts nothing as one');
  assert.equal(fillText('en', '{a} {b}', { a: '{b}' }), '{b} {b}', 'what is filled in is not filled again');
});

test('every language has every text with the same places', () => {
  const places = (text: Text) => [...new Set(JSON.stringify(text).match(/\{[a-z]+\}/g) ?? [])].sort();
  const compare = (name: string, texts: Record<string, Text>, english: Record<string, Text>) => {
    assert.deepEqual(Object.keys(texts).sort(), Object.keys(english).sort(), name);
    for (const [key, text] of Object.entries(english)) assert.deepEqual(places(texts[key] as Text), places(text), `${name} ${key}`);
  };
  for (const [name, texts] of Object.entries({ de, fr, es })) compare(name, texts, en);
  for (const [name, texts] of Object.entries({ scriptDe, scriptFr, scriptEs })) compare(name, texts, scriptEn);
  for (const [name, texts] of Object.entries({ consoleDe, consoleFr, consoleEs })) compare(name, texts, consoleEn);
  for (const [name, { previewTexts }] of Object.entries({ dePreviews, frPreviews, esPreviews }))
    compare(name, previewTexts, enPreviews.previewTexts);
});

test('Accept-Language: quality counts, the region is kept for formats', () => {
  const offers = ['en', 'de'];
  assert.deepEqual(preferredLanguage('de-at;q=0.8, en;q=0.7', offers), { tag: 'de', range: 'de-AT' });
  assert.deepEqual(preferredLanguage('zh-Hans-CN, *', offers), { tag: 'en', range: 'en' });
  assert.deepEqual(preferredLanguage('de;q=2, en-x-y;q=0.1', offers), { tag: 'en', range: 'en' });
});
