import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest('a file and a folder are renamed, but not to a name that is taken', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder/inner'), { recursive: true });
  for (const name of ['a.bin', 'taken.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Rename' }).click();
  await assertAccessible(page, 'renaming');
  await dialog.getByLabel('New name').fill('taken.bin');
  await page.keyboard.press('Enter');
  await dialog.getByText('This name is taken already.').waitFor();
  assert.equal(readFileSync(join(server.home, 'taken.bin'), 'utf8'), 'taken.bin', 'nothing is overwritten');
  await dialog.getByLabel('New name').fill('ä b %2F #?.bin');
  await page.keyboard.press('Enter');
  await page.getByText(/ to ä b %2F #\?\.bin$/).waitFor();
  await page.getByRole('link', { name: 'ä b %2F #?.bin' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'ä b %2F #?.bin'), 'utf8'), 'a.bin');

  await page.getByRole('link', { name: 'Folder', exact: true }).focus();
  await page.keyboard.press('F2');
  await dialog.getByLabel('New name').fill('Renamed');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Renamed' }).waitFor();
  assert.ok(existsSync(join(server.home, 'Renamed/inner')), 'the renamed folder keeps its content');
  assert.deepEqual(readdirSync(server.home).sort(), ['Renamed', 'taken.bin', 'ä b %2F #?.bin']);
  const ids = await server.eventIds();
  assert.ok(ids.includes(40055) && ids.includes(40065), 'a file and a folder were moved');
});

browserTest('items are moved into folders and up again; an item whose name is taken at the target stays, and is reported', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target/Deep'), { recursive: true });
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.bin', 'b.bin', 'Target/Deep/b.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  const dialog = page.getByRole('dialog');
  for (const name of ['a.bin', 'b.bin', 'Folder']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('button', { name: 'Target' }).waitFor();
  await assertAccessible(page, 'moving');
  await dialog.getByText('The items are already in this folder.').waitFor();
  const here = dialog.getByRole('button', { name: 'Move here' });
  assert.ok(await here.isDisabled());
  await dialog.getByRole('searchbox').focus();
  assert.equal(await dialog.getByRole('button', { name: 'Folder', exact: true }).count(), 0, 'a folder cannot be moved into itself');
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.getByRole('button', { name: 'Deep' }).click();
  await dialog.locator('.place-here', { hasText: 'Target/Deep' }).waitFor();
  assert.ok(await here.isEnabled());
  assert.equal(await dialog.getByText('already in this folder').isVisible(), false);
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText('That did not work: b.bin: The name is taken at the destination.').waitFor();
  await page.getByRole('link', { name: 'a.bin' }).waitFor({ state: 'detached' });
  assert.deepEqual(readdirSync(server.home).sort(), ['Target', 'b.bin']);
  assert.deepEqual(readdirSync(join(server.home, 'Target/Deep')).sort(), ['Folder', 'a.bin', 'b.bin']);
  assert.equal(readFileSync(join(server.home, 'Target/Deep/b.bin'), 'utf8'), 'Target/Deep/b.bin');

  await page.goto(`${server.url}/home/Target/Deep/`);
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('heading', { name: 'Move a.bin to a folder' }).waitFor();
  await dialog.getByText('The item is already in this folder.').waitFor();
  await dialog.getByRole('button', { name: 'Up to Target' }).click();
  await dialog.getByRole('button', { name: 'Up to Files' }).click();
  await dialog.getByRole('button', { name: 'Target' }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText(/^Moved \S/).waitFor();
  assert.equal(readFileSync(join(server.home, 'a.bin'), 'utf8'), 'a.bin');
});

browserTest('a refusal is reported in the language of the page, and nothing moves', async (t) => {
  const rules = [['allow-full-control'], ['*fixed.bin', 'allow-read', 'allow-list']];
  const server = await startServer(t, { account: { permissions: rules } });
  mkdirSync(join(server.home, 'Ziel'));
  writeFileSync(join(server.home, 'fixed.bin'), 'x');
  const page = await openFolder(t, server, { locale: 'de-DE', expectedErrors: /403/ });
  const dialog = page.getByRole('dialog');
  await page.getByRole('checkbox', { name: 'fixed.bin' }).check();
  await page.getByRole('button', { name: 'Umbenennen' }).click();
  await dialog.getByRole('textbox').fill('other.bin');
  await page.keyboard.press('Enter');
  await dialog.getByText('dafür fehlt die Berechtigung').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Verschieben' }).click();
  await dialog.getByRole('button', { name: 'Ziel' }).click();
  await dialog.locator('.place-here', { hasText: 'Ziel' }).waitFor();
  await dialog.locator('button[value=ok]').click();
  await page.getByText(/fixed\.bin: dafür fehlt die Berechtigung/).waitFor();
  assert.deepEqual(readdirSync(server.home).sort(), ['Ziel', 'fixed.bin']);
});

browserTest('without the right to rename, renaming and moving are not offered', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-read', 'allow-list', 'allow-write', 'allow-delete-file']] } });
  writeFileSync(join(server.home, 'a.bin'), 'x');
  const page = await openFolder(t, server);
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Delete' }).waitFor();
  await page.waitForLoadState('networkidle');
  for (const name of ['Rename', 'Move']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
});

browserTest('a selection and a focus set right after a move stay when the new rows arrive', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target'));
  for (const name of ['a.bin', 'b.bin', 'c.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Move' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  let letGo = () => {};
  const isSelected = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  // Hold back the new rows until the selection is made.
  await page.route(`${server.url}/home/`, async (route) => {
    if (route.request().method() === 'GET') await isSelected;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'c.bin' }).focus();
  await page.keyboard.press('Space');
  letGo();
  await page.getByRole('link', { name: 'a.bin' }).waitFor({ state: 'detached' });
  await page.getByText('1 selected').waitFor();
  assert.ok(await page.getByLabel('Select c.bin').isChecked());
  await page.getByText(/^Moved \S/).waitFor();
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'c.bin');
});
