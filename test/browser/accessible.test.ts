import { test } from 'node:test';
import {
  assertErrorPagesAccessible,
  assertLanguageAccessible,
  assertPagesAccessible,
  assertQuestionAccessible,
} from '../support/accessible-pages.ts';

test('axe finds nothing: light, 320 px', (t) => assertPagesAccessible(t, 'light', 320));
test('axe finds nothing on the question of the form: dark', (t) => assertQuestionAccessible(t, 'dark'));
test('axe finds nothing in the language de, and each page names it', (t) => assertLanguageAccessible(t, 'de'));
test('axe finds nothing on error pages and results: dark', (t) => assertErrorPagesAccessible(t, 'dark'));
