import { assertConsoleAccessible } from '../support/accessible-console.ts';
import { browserTest } from '../support/browser.ts';

for (const [colorScheme, width] of [
  ['dark', 320],
  ['light', 320],
  ['light', 768],
  ['dark', 768],
  ['light', 1280],
  ['dark', 1280],
] as const)
  browserTest(`axe finds nothing on the console, and hostile names are plain text: ${colorScheme}, ${width} px`, (t) =>
    assertConsoleAccessible(t, colorScheme, width),
  );
