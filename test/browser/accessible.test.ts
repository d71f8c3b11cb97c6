import { test } from 'node:test';
import { assertPagesAccessible, assertQuestionAccessible } from '../support/accessible-pages.ts';

test('axe finds nothing: light, 320 px', (t) => assertPagesAccessible(t, 'light', 320));
test('axe finds nothing on the question of the form: dark', (t) => assertQuestionAccessible(t, 'dark'));
