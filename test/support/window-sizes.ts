import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ViewportSize } from 'playwright-core';
import { boxesOf, drop, login, openBrowser } from './browser.ts';
import { startServer } from './server.ts';

/** Moves through the rows of a listing by keyboard. Asserts that the bars above and below stay visible and hide no focused row. */
export async function assertBarsInSight(t: TestContext, viewport: ViewportSize): Promise<void> {
  const server = await startServer(t);
  for (let index = 0; index < 60; index++) writeFileSync(join(server.home, `f${String(index).padStart(2, '0')}.bin`), 'x');
  const page = await openBrowser(t, { viewport });
  await login(page, server.url);
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Space');
  await page.getByText('1 selected').waitFor();
  for (const part of ['#tools', 'thead', '#actions']) {
    const box = await page.locator(part).boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= viewport.height, `${part} is in sight`);
  }
  for (let step = 0; step < 59; step++) {
    await page.keyboard.press('ArrowUp');
    const isHidden: boolean = await page.evaluate<boolean>(`(() => {
      const { left, top, height } = document.activeElement.getBoundingClientRect();
      return [top + 2, top + height - 2].some((y) => !document.activeElement.contains(document.elementFromPoint(left + 20, y)));
    })()`);
    assert.equal(isHidden, false, `the focus is hidden after ${step + 1} steps`);
  }
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  assert.equal(overflow, 0);
  const { top, bottom } = await page.evaluate<{ top: number; bottom: number }>(
    `(({ top, bottom }) => ({ top, bottom }))(document.querySelector('#tools').getBoundingClientRect())`,
  );
  assert.ok(bottom - top < 70, 'the tools take one row');
}

/**
 * Uploads files and selects one. Asserts that the panel of uploads and the action bar do not overlap, and that every row can be made
 * visible.
 */
export async function assertPanelApart(t: TestContext, viewport: ViewportSize): Promise<void> {
  const server = await startServer(t);
  for (let index = 10; index < 50; index++) writeFileSync(join(server.home, `f${index}.txt`), 'x');
  const page = await openBrowser(t, { viewport });
  await login(page, server.url);
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles(
      Array.from({ length: 12 }, (_, index) => ({ name: `up${index}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') })),
    );
  await page.getByText('12 files were uploaded.').waitFor({ state: 'attached' });
  await page.getByRole('checkbox', { name: 'f10.txt' }).check();
  const [actions, panel] = await boxesOf(page.locator('#actions'), page.locator('.queue'));
  assert.ok(actions && panel);
  const isApart = actions.bottom <= panel.top || actions.right <= panel.left;
  assert.ok(isApart, JSON.stringify({ actions, panel }));
  assert.ok(actions.top > 200 && actions.bottom <= viewport.height && panel.bottom <= viewport.height, JSON.stringify({ actions, panel }));
  await page.getByRole('link', { name: 'up9.txt' }).scrollIntoViewIfNeeded();
  await page.keyboard.press('Escape');
  await page.locator('html').evaluate((root) => root.scrollTo(0, root.scrollHeight));
  const [row, below] = await boxesOf(page.getByRole('link', { name: 'up9.txt' }), page.locator('.queue'));
  assert.ok(row && below && (row.bottom <= below.top || row.right <= below.left), JSON.stringify({ row, below }));
}

/** Drops folders and a file from the desktop. Asserts that their whole content arrives, including empty folders. */
export async function assertFoldersDropped(t: TestContext, viewport: ViewportSize): Promise<void> {
  const server = await startServer(t);
  const page = await openBrowser(t, { viewport, colorScheme: 'dark' });
  const source = join(server.folder, 'source');
  mkdirSync(join(source, 'tree/deep/empty'), { recursive: true });
  writeFileSync(join(source, 'tree/deep/leaf.txt'), 'leaf');
  writeFileSync(join(source, 'tree/root.txt'), 'root');
  writeFileSync(join(source, 'alone.txt'), 'alone');
  await login(page, server.url);
  await drop(page, [join(source, 'tree'), join(source, 'alone.txt')]);
  await page.getByText('3 files were uploaded.').waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'tree' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'tree/deep/leaf.txt'), 'utf8'), 'leaf');
  assert.ok(existsSync(join(server.home, 'tree/deep/empty')), 'empty folders too');
  assert.ok(existsSync(join(server.home, 'alone.txt')));
}
