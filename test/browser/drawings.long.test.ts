import { browserTest } from '../support/browser.ts';
import { assertDrawingsBounded } from '../support/drawings.ts';

browserTest('all kinds of drawings that exceed a browser are refused; those of drawing programs are shown', (t) =>
  assertDrawingsBounded(t, { areAll: true }),
);
