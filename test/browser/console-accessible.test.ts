import { assertConsoleAccessible } from '../support/accessible-console.ts';
import { browserTest } from '../support/browser.ts';

browserTest('axe finds nothing on the console, and hostile names are texts: dark, 320 px', (t) =>
  assertConsoleAccessible(t, 'dark', 320, /overview|d-1|held|expectations/),
);
