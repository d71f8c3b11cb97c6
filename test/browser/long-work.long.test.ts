import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { assertAccessible, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestServer } from '../support/server.ts';

const many = 60;

function makeFiles(server: TestServer, prefix: string): void {
  for (let index = 0; index < many; index++) writeFileSync(join(server.home, `${prefix}${index}.bin`), '');
}

/** Makes the service look slow: all requests that change something are held back until `go` is called. */
async function holdChanges(page: Page): Promise<{ held: Request[]; go: () => void }> {
  const held: Request[] = [];
  let go = () => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const isChange = (request: Request) => ['POST', 'MOVE', 'DELETE'].includes(request.method());
  await page.route('**/home/**', async (route, request) => {
    if (isChange(request)) {
      held.push(request);
      await gate;
    }
    await route.continue();
  });
  return { held, go };
}

browserTest(
  'one request moves many items to the folder shown when "Move here" was pressed; while items are deleted, the dialog cannot be closed',
  async (t) => {
    const server = await startServer(t);
    for (const folder of ['Target', 'Target/Deep', 'Other']) mkdirSync(join(server.home, folder));
    makeFiles(server, 'm');
    const page = await openFolder(t, server);
    const dialog = page.getByRole('dialog');
    const selectFiles = async (prefix: string) => {
      await page.getByRole('searchbox').fill(prefix);
      await page.getByText(`${many} matches`).waitFor();
      await page.getByLabel('Select all').check();
    };

    await selectFiles('m');
    await page.getByRole('button', { name: 'Move' }).click();
    await dialog.getByRole('button', { name: 'Target' }).click();
    await dialog.getByRole('button', { name: 'Deep' }).waitFor();
    const moving = await holdChanges(page);
    await dialog.getByRole('button', { name: 'Move here' }).click();
    await dialog.locator('progress').waitFor();
    await dialog.getByText(`0 of ${many}`).waitFor();
    await assertAccessible(page, 'the progress dialog');
    await dialog.locator('li button', { hasText: 'Deep' }).dispatchEvent('click');
    moving.go();
    await page.getByText(`Moved ${many} items`).waitFor();
    assert.equal(moving.held.length, 1, 'one request moves all items');
    assert.deepEqual(
      readdirSync(join(server.home, 'Target/Deep')),
      [],
      'items are moved to the folder that was shown when "Move here" was pressed',
    );
    assert.equal(readdirSync(join(server.home, 'Target')).length, many + 1);

    makeFiles(server, 'd');
    await page.reload();
    await selectFiles('d');
    await page.keyboard.press('Delete');
    const deleting = await holdChanges(page);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.locator('progress').waitFor();
    for (let press = 0; press < 3; press++) await page.keyboard.press('Escape');
    assert.ok(await dialog.isVisible(), 'the dialog stays while the work runs');
    deleting.go();
    await page.getByText(`Deleted ${many} items`).waitFor();
    await page.locator('tbody tr', { hasText: '.bin' }).first().waitFor({ state: 'detached' });
    assert.deepEqual(readdirSync(server.home).sort(), ['Other', 'Target']);
  },
);

browserTest('Stop ends a move in the service, too, and the result is reported; leaving during a deletion must be confirmed', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target'));
  const total = 3_000;
  for (let index = 0; index < total; index++) writeFileSync(join(server.home, `m${index}.bin`), '');
  const page = await openFolder(t, server);
  await page.getByLabel('Select all').check();
  await page.getByLabel('Select Target').uncheck();
  await page.getByRole('button', { name: 'Move' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await dialog.getByText(/^[1-9][\d,]* of 3,000/).waitFor();
  // The Stop button has the focus.
  await page.keyboard.press('Enter');
  const said = await page.getByText(/^Stopped: /).innerText();
  const numberIn = (words: string) => Number(/[\d,]+/.exec(words)?.[0].replace(',', ''));
  const left = numberIn(said);
  assert.equal(numberIn(await page.getByText(/^Moved .* items/).innerText()) + left, total);
  const rows = () =>
    page.evaluate<number>(`(({ ariaRowCount, rows }) => Number(ariaRowCount ?? rows.length) - 1)(document.getElementById('list'))`);
  await until('the list shows the items that are left', async () => (await rows()) - 1 === left);
  assert.ok(left > 0, 'Stop comes before the last item');
  assert.equal(readdirSync(server.home).length - 1, left, 'the page reports what is left on the disk');

  await page.getByRole('searchbox').fill('m2999');
  // The items that Stop left are still selected; the filter leaves one of them.
  await page.locator('#actions').getByText('1 selected').waitFor();
  await page.locator('#actions').getByRole('button', { name: 'Delete' }).click();
  const { held, go } = await holdChanges(page);
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await until('the request is sent', () => held.length === 1);
  const asked = page.waitForEvent('dialog');
  const leaving = page.goto('about:blank');
  const question = await asked;
  assert.equal(question.type(), 'beforeunload');
  await question.accept();
  await leaving;
  go();
});

browserTest('the copy of a folder shows its progress and Stop; the message after Stop says that a part can be copied', async (t) => {
  const server = await startServer(t);
  for (const folder of ['Target', 'full']) mkdirSync(join(server.home, folder));
  const total = 3_000;
  for (let index = 0; index < total; index++) writeFileSync(join(server.home, 'full', `m${index}.bin`), 'content');
  const page = await openFolder(t, server);
  await page.getByLabel('Select full').check();
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  await dialog.getByRole('button', { name: 'Copy here' }).click();
  await dialog.getByText(/[1-9][\d,]* of 3,001/).waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped: one item was not processed, or only in part.').waitFor();
  await dialog.waitFor({ state: 'detached' });
  const copied = readdirSync(join(server.home, 'Target/full')).length;
  assert.ok(copied > 0 && copied < total, `${copied} files were copied`);
  assert.equal(readdirSync(join(server.home, 'full')).length, total);
});

browserTest('a drag and its undo show progress and Stop if they take longer than a moment', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target'));
  makeFiles(server, 'm');
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select all').check();
  await page.getByLabel('Select Target').uncheck();
  const dragging = await holdChanges(page);
  await page.getByRole('link', { name: 'm1.bin' }).dragTo(page.getByRole('link', { name: 'Target' }));
  await dialog.getByText(`0 of ${many}`).waitFor();
  await assertAccessible(page, 'the progress dialog');
  for (let press = 0; press < 2; press++) await page.keyboard.press('Escape');
  assert.ok(await dialog.isVisible(), 'the dialog stays while the work runs');
  dragging.go();
  await page.getByText(`Moved ${many} items`).waitFor();
  await dialog.waitFor({ state: 'detached' });

  await page.unrouteAll({ behavior: 'wait' });
  const undoing = await holdChanges(page);
  await page.keyboard.press('Control+z');
  await dialog.getByText(`0 of ${many}`).waitFor();
  assert.equal(await dialog.getByRole('heading').innerText(), 'Undo');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByText(`Stopped: ${many} items were left unchanged.`).waitFor();
  await dialog.waitFor({ state: 'detached' });
  undoing.go();
  assert.equal(readdirSync(join(server.home, 'Target')).length, many, 'nothing was moved back');
});

browserTest('many failures are reported in one short message', async (t) => {
  const rules = [['allow-full-control'], ['*fixed*', 'allow-read', 'allow-list', 'allow-rename']];
  const server = await startServer(t, { account: { permissions: rules } });
  const page = await openBrowser(t);
  for (let index = 0; index < 8; index++) writeFileSync(join(server.home, `fixed${index}`), '');
  writeFileSync(join(server.home, 'loose'), '');
  await login(page, server.url);
  await page.getByLabel('Select all').check();
  await page.keyboard.press('Delete');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/^Deleted \S/).waitFor();
  await page.getByText(/^8 items could not be deleted: fixed0: .*; … \+3$/).waitFor();
});
