import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

browserTest('a file and a folder are renamed, but not to a name that is taken', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder/inner'), { recursive: true });
  for (const name of ['a.bin', 'taken.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByLabel('New name').waitFor();
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

browserTest('items are moved into folders and up; on a taken name both can be kept, and Undo restores the name', async (t) => {
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
  await dialog.locator('.place-here', { hasText: 'Files / Target / Deep' }).waitFor();
  assert.ok(await here.isEnabled());
  assert.equal(await dialog.getByText('already in this folder').isVisible(), false);
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByRole('heading', { name: 'Target/Deep already contains “b.bin”.' }).waitFor();
  await assertAccessible(page, 'a name is taken');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Move 3 items to a folder' }).waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Target/Deep')), ['b.bin'], 'nothing is moved if the question is closed');
  await here.click();
  await page.getByText('In Target/Deep').waitFor();
  await page.locator('button:focus', { hasText: 'Keep both' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Moved 3 items to Target/Deep').waitFor();
  await page.getByRole('link', { name: 'a.bin' }).waitFor({ state: 'detached' });
  assert.deepEqual(readdirSync(server.home).sort(), ['Target']);
  assert.deepEqual(readdirSync(join(server.home, 'Target/Deep')).sort(), ['Folder', 'a.bin', 'b (2).bin', 'b.bin']);
  assert.equal(readFileSync(join(server.home, 'Target/Deep/b.bin'), 'utf8'), 'Target/Deep/b.bin');
  await page.getByRole('button', { name: 'Undo' }).click();
  for (const name of ['a.bin', 'b.bin', 'Folder']) await page.getByRole('link', { name, exact: true }).waitFor();
  assert.equal(readFileSync(join(server.home, 'b.bin'), 'utf8'), 'b.bin');
  assert.deepEqual(readdirSync(join(server.home, 'Target/Deep')), ['b.bin']);
  renameSync(join(server.home, 'a.bin'), join(server.home, 'Target/Deep/a.bin'));

  await page.goto(`${server.url}/home/Target/Deep/`);
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('heading', { name: 'Move “a.bin” to a folder' }).waitFor();
  await dialog.locator('.place-here', { hasText: /^Files \/ Target(?! \/)/ }).waitFor();
  await dialog.getByRole('button', { name: 'Up to Files' }).click();
  await dialog.getByRole('button', { name: 'Target' }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText(/^Moved \S/).waitFor();
  assert.equal(readFileSync(join(server.home, 'a.bin'), 'utf8'), 'a.bin');
});

browserTest('the dialog for moving lists all folders of a full folder, and its filter finds one', async (t) => {
  const server = await startServer(t);
  for (let number = 1; number <= 14; number++) mkdirSync(join(server.home, `Client ${number}`));
  writeFileSync(join(server.home, 'a.bin'), '');
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Move' }).click();
  const offered = dialog.getByRole('list', { name: 'Folders' }).getByRole('button');
  await offered.nth(13).waitFor();
  assert.deepEqual(
    await offered.allInnerTexts(),
    Array.from({ length: 14 }, (_, index) => `Client ${index + 1}`),
  );
  await dialog.getByRole('searchbox').fill('13');
  await until('one folder is offered', async () => (await offered.allInnerTexts()).join() === 'Client 13');
  await page.keyboard.press('Enter');
  await dialog.locator('.place-here', { hasText: 'Client 13' }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText('Moved a.bin to Client 13').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Client 13')), ['a.bin']);
});

browserTest('a copy in its own folder gets a number; at a taken name a file can be overwritten, but not a folder', async (t) => {
  const server = await startServer(t);
  for (const folder of ['Folder/inner', 'Target/Folder']) mkdirSync(join(server.home, folder), { recursive: true });
  for (const name of ['a.bin', 'a (2).bin', 'b.bin', 'Target/a.bin', 'Target/b.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  const copyHere = dialog.getByRole('button', { name: 'Copy here' });
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Copy' }).click();
  await dialog.getByText('The copy gets the name “a (3).bin”.').waitFor();
  await copyHere.click();
  await page.getByText('Copied a.bin to Files as a (3).bin').waitFor();
  await page.locator('a:focus', { hasText: 'a (3).bin' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'a (3).bin'), 'utf8'), 'a.bin');

  for (const name of ['a.bin', 'b.bin', 'Folder']) await page.getByLabel(`Select ${name}`, { exact: true }).check();
  await page.getByRole('button', { name: 'Copy' }).click();
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  await copyHere.click();
  const question = page.getByRole('dialog').last();
  await question.getByRole('heading', { name: 'Target already contains “Folder”.' }).waitFor();
  assert.equal(await question.getByRole('button', { name: 'Overwrite' }).count(), 0, 'a folder is not overwritten');
  await question.getByRole('button', { name: 'Keep both' }).click();
  await question.getByRole('heading', { name: 'Target already contains “a.bin”.' }).waitFor();
  await question.getByLabel('Do the same for all further conflicts').check();
  await question.getByRole('button', { name: 'Overwrite' }).click();
  await page.getByText('Copied 3 items to Target').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Target')).sort(), ['Folder', 'Folder (2)', 'a.bin', 'b.bin']);
  for (const name of ['a.bin', 'b.bin']) assert.equal(readFileSync(join(server.home, 'Target', name), 'utf8'), name);
  assert.deepEqual(readdirSync(join(server.home, 'Target/Folder (2)')), ['inner']);
});

browserTest('a row dragged to a folder that already contains its name stays if the user skips it or closes the question', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target'));
  for (const name of ['a.bin', 'Target/a.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  const question = page.getByRole('dialog');
  for (const key of ['Escape', 'Skip']) {
    await page.getByRole('link', { name: 'a.bin' }).dragTo(page.getByRole('link', { name: 'Target' }));
    await question.getByRole('heading', { name: 'Target already contains “a.bin”.' }).waitFor();
    assert.equal(await question.getByLabel('Do the same for all').count(), 0, 'a single conflict has no others');
    if (key === 'Escape') await page.keyboard.press(key);
    else await question.getByRole('button', { name: key }).click();
    await question.waitFor({ state: 'detached' });
    await page.locator('#main[aria-busy]').waitFor({ state: 'detached' });
  }
  assert.equal(readFileSync(join(server.home, 'a.bin'), 'utf8'), 'a.bin');
  assert.equal(readFileSync(join(server.home, 'Target/a.bin'), 'utf8'), 'Target/a.bin');
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
  await page.getByText(/^fixed\.bin konnte nicht verschoben werden: dafür fehlt die Berechtigung/).waitFor();
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

browserTest(
  'of two folders that are pressed while the line is slow, the last one is shown; a second press opens no second dialog',
  async (t) => {
    const server = await startServer(t);
    for (const name of ['Slow', 'Target/Deep']) mkdirSync(join(server.home, name), { recursive: true });
    writeFileSync(join(server.home, 'a.bin'), '');
    const page = await openFolder(t, server);
    const dialog = page.getByRole('dialog');
    const held: Route[] = [];
    await page.route('**/transfer.js', (route) => void held.push(route));
    await page.getByLabel('Select a.bin').check();
    for (let press = 0; press < 2; press++) await page.getByRole('button', { name: 'Move' }).click();
    await until('the code is requested', () => held.length === 1);
    await held.shift()?.continue();
    await dialog.getByRole('button', { name: 'Slow' }).waitFor();
    await page.route('**/home/Slow/', (route) => void held.push(route));
    await dialog.getByRole('button', { name: 'Slow' }).click();
    await until('the folder is requested', () => held.length === 1);
    await dialog.getByRole('button', { name: 'Target' }).click();
    await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
    const replied = page.waitForResponse('**/home/Slow/');
    await held.shift()?.continue();
    await (await replied).finished();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    await dialog.getByRole('button', { name: 'Deep' }).waitFor();
    assert.match(await dialog.locator('.place-here').innerText(), /^Files \/ Target/);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.route('**/share.js', (route) => void held.push(route));
    for (let press = 0; press < 2; press++) await page.getByRole('button', { name: 'Share' }).click();
    await until('the code is requested', () => held.length === 1);
    await held.shift()?.continue();
    await dialog.getByRole('heading', { name: 'Share “a.bin”' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
  },
);
