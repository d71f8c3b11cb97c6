import {
  assertErrorPagesAccessible,
  assertLanguageAccessible,
  assertPagesAccessible,
  assertQuestionAccessible,
} from '../support/accessible-pages.ts';
import { assertPreviewsAccessible } from '../support/accessible-previews.ts';
import { browserTest } from '../support/browser.ts';

browserTest('axe finds nothing on the pages of an account: light, 320 px', (t) => assertPagesAccessible(t, 'light', 320));
browserTest('axe finds nothing on the pages of an account: light, 1280 px', (t) => assertPagesAccessible(t, 'light', 1280));
browserTest('axe finds nothing on the pages of an account: dark, 320 px', (t) => assertPagesAccessible(t, 'dark', 320));
browserTest('axe finds nothing on the pages of an account: dark, 1280 px', (t) => assertPagesAccessible(t, 'dark', 1280));
browserTest('axe finds nothing on the page that asks before a deletion: light', (t) => assertQuestionAccessible(t, 'light'));
browserTest('axe finds nothing on the page that asks before a deletion: dark', (t) => assertQuestionAccessible(t, 'dark'));

for (const language of ['en', 'de', 'fr', 'es'])
  browserTest(`axe finds nothing in the language ${language}, and each page declares its language`, (t) =>
    assertLanguageAccessible(t, language),
  );

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [320, 1280]) {
    const where = `${colorScheme}, ${width} px`;
    browserTest(`axe finds nothing on previews, in the grid, and on pages of searches and drop boxes: ${where}`, (t) =>
      assertPreviewsAccessible(t, { colorScheme, width }),
    );
    browserTest(`axe finds nothing on error pages and results: ${where}`, (t) => assertErrorPagesAccessible(t, colorScheme, width));
  }
}
