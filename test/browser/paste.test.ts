import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { pastedName } from '../../src/web/files/uploads/upload.ts';
import { browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest('a pasted screenshot (a new image.png or image.jpeg) is named by the time; other files keep their names', () => {
  const nowMs = new Date(2026, 2, 4, 9, 5, 7).getTime();
  const named = (name: string, ageMs: number) => pastedName({ name, lastModified: nowMs - ageMs }, nowMs, 'Screenshot');
  assert.equal(named('image.png', 0), 'Screenshot 2026-03-04 09.05.07.png');
  assert.equal(named('image.JPEG', 10), 'Screenshot 2026-03-04 09.05.07.jpeg');
  assert.equal(named('image.png', 60_000), 'image.png', 'a file of that name, copied from a folder');
  assert.equal(named('image.svg', 0), 'image.svg');
  assert.equal(named('my image.png', 0), 'my image.png');
});

/** Pastes files at the focused element, as the browser does. */
function paste(page: Page, names: string[]): Promise<unknown> {
  return page.evaluate(`((names) => {
    const clipboardData = new DataTransfer();
    for (const name of names) clipboardData.items.add(new File(['content of ' + name], name));
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  })(${JSON.stringify(names)})`);
}

browserTest('files and screenshots can be pasted, except while a text field has the focus', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { locale: 'de-DE' });
  await page.getByRole('searchbox').focus();
  await paste(page, ['typed.txt']);
  await page.locator('#members').focus();
  await paste(page, ['image.png', 'Übersicht.txt']);
  await page.getByText('2 Dateien wurden hochgeladen.').waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'Übersicht.txt' }).waitFor();
  const [picture = '', ...others] = readdirSync(server.home).sort();
  assert.match(picture, /^Bildschirmfoto \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/);
  assert.deepEqual(others, ['Übersicht.txt']);
  assert.equal(readFileSync(join(server.home, picture), 'utf8'), 'content of image.png');
});
