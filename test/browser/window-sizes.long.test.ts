import { browserTest } from '../support/browser.ts';
import { assertAllByForms } from '../support/by-forms.ts';
import { assertBarsInSight, assertFoldersDropped, assertPanelApart } from '../support/window-sizes.ts';

// Other files run the first three tests in a narrow window.
const wide = { width: 1280, height: 800 };

browserTest('toolbar, table head and selection bar stay visible, and cover no focused element: 1280 px', (t) => assertBarsInSight(t, wide));
browserTest('the upload panel does not cover the actions of the selection, 1280 px', (t) =>
  assertPanelApart(t, { width: 1280, height: 640 }),
);
browserTest('dropped folders arrive whole, 1280 px', (t) => assertFoldersDropped(t, wide));
browserTest('without scripts all actions work by forms: wide window, light colours', (t) =>
  assertAllByForms(t, { viewport: wide, colorScheme: 'light' }),
);
browserTest('without scripts all actions work by forms: narrow window, dark colours', (t) =>
  assertAllByForms(t, { viewport: { width: 320, height: 640 }, colorScheme: 'dark' }),
);
