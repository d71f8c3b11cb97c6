import { test } from 'node:test';
import {
  assertErrorPagesAccessible,
  assertLanguageAccessible,
  assertPagesAccessible,
  assertQuestionAccessible,
} from '../support/accessible-pages.ts';

test('axe finds nothing: light, 1280 px', (t) => assertPagesAccessible(t, 'light', 1280));
test('axe finds nothing: dark, 320 px', (t) => assertPagesAccessible(t, 'dark', 320));
test('axe finds nothing: dark, 1280 px', (t) => assertPagesAccessible(t, 'dark', 1280));
test('axe finds nothing on the question of the form: light', (t) => assertQuestionAccessible(t, 'light'));

for (const language of ['en', 'de', 'fr', 'es'])
  test(`axe finds nothing in the language ${language}, and each page names it`, (t) => assertLanguageAccessible(t, language));

for (const theme of ['light', 'dark'] as const)
  test(`axe finds nothing on error pages and results: ${theme}`, (t) => assertErrorPagesAccessible(t, theme));
