import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { browserTest, openBrowser, openFolder } from '../support/browser.ts';
import { signInByKeyboard, workByKeyboard } from '../support/by-keyboard.ts';
import { startServer } from '../support/server.ts';

browserTest('all works without a mouse: sign in, upload, new folder, rename, move, delete, sort, colours, sign out', async (t) => {
  const server = await startServer(t);
  const page = await openBrowser(t, { expectedErrors: /409/ });
  if (page) await workByKeyboard(page, server);
});

browserTest('the focused element is visible, even where a bar could cover it', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 40; index++) writeFileSync(join(server.home, `f${String(index).padStart(2, '0')}.bin`), 'x');
  const page = await openBrowser(t, { viewport: { width: 320, height: 480 } });
  await page.goto(`${server.url}/home/`);
  await signInByKeyboard(page);
  // The script adds these buttons, so it is running when they are there.
  await page.getByRole('button', { name: 'Actions for f00.bin' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.getByText('1 selected').waitFor();
  for (let step = 0; step < 25; step++) {
    await page.keyboard.press('ArrowDown');
    const isHidden: boolean = await page.evaluate<boolean>(`(() => {
      const { left, top, width, height } = document.activeElement.getBoundingClientRect();
      const found = document.elementFromPoint(left + width / 2, top + height / 2);
      return found !== document.activeElement && !document.activeElement.contains(found);
    })()`);
    assert.equal(isHidden, false, `the focus is hidden after ${step + 1} steps (WCAG 2.4.11)`);
  }
  await page.keyboard.press('?');
  const heading = page.getByRole('dialog').getByRole('heading', { name: 'Keyboard' });
  await heading.and(page.locator(':focus')).waitFor();
  assert.ok(((await heading.boundingBox())?.y ?? -1) >= 0, 'the dialog is shown from its heading on');
});

browserTest('the menu of sorting behaves like the other menus: arrows, Escape, Tab and a click outside', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openFolder(t, server);
  const summary = page.locator('.sort summary');
  const links = page.locator('.sort a');
  await summary.focus();
  await page.keyboard.press('Enter');
  for (const [key, at] of [['ArrowDown', 0] as const, ['ArrowDown', 1] as const, ['ArrowUp', 0] as const, ['ArrowUp', 3] as const]) {
    await page.keyboard.press(key);
    await links.nth(at).and(page.locator(':focus')).waitFor();
  }
  for (const key of ['Escape', 'Tab']) {
    if (key === 'Tab') await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(key);
    await links.first().waitFor({ state: 'hidden' });
    await summary.and(page.locator(':focus')).waitFor();
  }
  await summary.click();
  await links.first().waitFor();
  await page.mouse.click(20, 650);
  await links.first().waitFor({ state: 'hidden' });
  await summary.click();
  await links.first().waitFor();
  await page.locator('[popovertarget=menu]').click();
  await page.locator('#menu:popover-open').waitFor();
  await links.first().waitFor({ state: 'hidden' });
});
