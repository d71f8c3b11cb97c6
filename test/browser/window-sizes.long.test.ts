import { browserTest } from '../support/browser.ts';
import { assertAllByForms } from '../support/by-forms.ts';
import { assertBarsInSight, assertFoldersDropped, assertPanelApart } from '../support/window-sizes.ts';

// What other files do in a narrow window, in a wide one.
const wide = { width: 1280, height: 800 };

browserTest('tools, head and selection stay in sight, and hide nothing that has the focus: 1280 px', (t) => assertBarsInSight(t, wide));
browserTest('the panel leaves the actions of the selection alone, 1280 px', (t) => assertPanelApart(t, { width: 1280, height: 640 }));
browserTest('dropped folders come whole, 1280 px', (t) => assertFoldersDropped(t, wide));
browserTest('without scripts, wide and light: everything works with forms', (t) =>
  assertAllByForms(t, { viewport: wide, colorScheme: 'light' }),
);
