import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileChooser, Locator, Page } from 'playwright-core';
import { testPassword } from './secrets.ts';
import type { TestServer } from './server.ts';

/** Presses Tab, or Shift and Tab, until an element has the focus, like a user without a mouse. */
async function tabTo(page: Page, wanted: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${key} never reaches ${wanted}`);
}

/** Logs in. The page first sets the focus to the user name; text that is typed earlier would be lost. */
export async function signInByKeyboard(page: Page): Promise<void> {
  await page.locator('input[name=username]:focus').waitFor();
  await page.keyboard.type('alice');
  await page.keyboard.press('Tab');
  await page.keyboard.type(testPassword);
  await page.keyboard.press('Enter');
  await page.locator('#members').waitFor();
}

async function press(page: Page, name: string, within: Page | Locator = page): Promise<void> {
  await tabTo(page, within.getByRole('button', { name, exact: true }));
  await page.keyboard.press('Enter');
}

/**
 * Does everything without a mouse: login, upload, new folder, rename, move, delete, sort, colours, logout.
 *
 * @param server a server with an empty home folder
 * @param page a page of a browser. The browser's console reports 409 once, because a name is taken
 */
export async function workByKeyboard(page: Page, server: TestServer): Promise<void> {
  mkdirSync(join(server.home, 'Folder'));
  writeFileSync(join(server.home, 'old.bin'), 'x');
  const dialog = page.getByRole('dialog');
  await page.goto(`${server.url}/home/`);
  await signInByKeyboard(page);

  const chooser: Promise<FileChooser> = page.waitForEvent('filechooser');
  await press(page, 'Upload files');
  await (await chooser).setFiles({ name: 'new.bin', mimeType: 'text/plain', buffer: Buffer.from('new') });
  await page.getByRole('link', { name: 'new.bin' }).waitFor();

  await press(page, 'New folder');
  await dialog.getByLabel('Name of the new folder').and(page.locator(':focus')).waitFor();
  await page.keyboard.type('Made');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Made' }).waitFor();

  await tabTo(page, page.getByRole('link', { name: 'old.bin' }));
  await page.keyboard.press('F2');
  await dialog.getByLabel('New name').and(page.locator(':focus')).waitFor();
  await page.keyboard.type('renamed');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'renamed.bin' }).waitFor();
  await page.locator('a:focus', { hasText: 'renamed.bin' }).waitFor();

  await tabTo(page, page.getByRole('link', { name: 'renamed.bin' }));
  await page.keyboard.press('Space');
  await press(page, 'Move');
  await dialog.getByRole('button', { name: 'Folder', exact: true }).waitFor();
  await press(page, 'Folder', dialog);
  await dialog.locator('.place-here', { hasText: 'Folder' }).waitFor();
  await press(page, 'Move here', dialog);
  await page.getByText(/^Moved \S/).waitFor();
  assert.ok(existsSync(join(server.home, 'Folder/renamed.bin')));
  await page.locator('#members:focus').waitFor();

  await tabTo(page, page.getByLabel('Select new.bin'));
  await page.keyboard.press('Space');
  await page.keyboard.press('Delete');
  await dialog.waitFor();
  await press(page, 'Delete', dialog);
  await page.getByText(/^Deleted \S/).waitFor();
  assert.deepEqual(readdirSync(server.home), ['Folder', 'Made']);

  // The focus is on the next row. In Firefox, Tab after the last row leaves the page and does not return to it.
  await tabTo(page, page.getByRole('link', { name: 'Size' }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/?sort=size*');
  await tabTo(page, page.getByRole('button', { name: 'Account alice', exact: true }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await press(page, 'Dark');
  await page.locator('html[data-theme=dark]').waitFor();
  await press(page, 'Sign out');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}
