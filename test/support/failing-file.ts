import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from './browser.ts';
import { startConsole } from './console.ts';
import { startReceiver } from './receiver.ts';
import { watchOutput } from './secret-watch.ts';

// This test file fails while everything is open. test/browser/failures.test.ts runs it.

test('fails in the middle', async (t) => {
  watchOutput(t, () => assert.fail('planted in what stops'), []);
  const { server } = await startConsole(t);
  await startReceiver(t);
  const page = await openBrowser(t);
  await page?.goto(server.url);
  await page?.evaluate(() => console.error('planted in the page'));
  t.after(() => console.log('the last hook'));
  assert.fail('planted in the middle');
});
