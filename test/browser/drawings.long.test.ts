import { browserTest } from '../support/browser.ts';
import { assertDrawingsBounded } from '../support/drawings.ts';

browserTest('drawings that exceed a browser are refused; those of drawing programs are shown, and load nothing', assertDrawingsBounded);
