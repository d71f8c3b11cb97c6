import { test } from 'node:test';
import { assertConsoleAccessible } from '../support/accessible-console.ts';

test('axe finds nothing on the console, and hostile names are texts: dark, 320 px', (t) =>
  assertConsoleAccessible(t, 'dark', 320, /overview|d-1/));
