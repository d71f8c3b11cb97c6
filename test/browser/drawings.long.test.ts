import { test } from 'node:test';
import { assertDrawingsBounded } from '../support/drawings.ts';

test('all kinds of drawings that ask for more than a browser can draw are refused; those of drawing programs are shown', (t) =>
  assertDrawingsBounded(t, { areAll: true }));
