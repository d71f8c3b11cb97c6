import { browserTest } from '../support/browser.ts';
import { assertDrawingsBounded } from '../support/drawings.ts';

browserTest(
  'drawings too heavy for browsers are refused; those of drawing programs are shown, and no drawing loads foreign URLs',
  assertDrawingsBounded,
);
