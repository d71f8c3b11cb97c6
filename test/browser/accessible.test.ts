import { assertPagesAccessible, assertQuestionAccessible } from '../support/accessible-pages.ts';
import { assertPreviewsAccessible } from '../support/accessible-previews.ts';
import { browserTest } from '../support/browser.ts';

browserTest('axe finds nothing: light, 320 px', (t) => assertPagesAccessible(t, 'light', 320));
browserTest('axe finds nothing on the question of the form: dark', (t) => assertQuestionAccessible(t, 'dark'));
browserTest('axe finds nothing on some previews, and on pages of searches and drop boxes: dark, 320 px', (t) =>
  assertPreviewsAccessible(t, { colorScheme: 'dark', width: 320, isShort: true }),
);
