import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { trashOf } from '../support/trash.ts';

browserTest('deleted items are restored by Undo or by Ctrl+Z; an item that is no longer in the trash is reported', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  mkdirSync(join(server.home, 'A folder'));
  writeFileSync(join(server.home, 'A folder/inside'), 'inside');
  for (const name of ['one', 'two ü']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  const remove = async (...names: string[]) => {
    for (const name of names) await page.getByLabel(`Select ${name}`).check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    // An earlier message can have the same words, so the test first waits until the rows are gone.
    for (const name of names) await page.getByLabel(`Select ${name}`).waitFor({ state: 'detached' });
    await page.getByText(names.length === 1 ? `Moved ${names[0]} to the trash` : `Moved ${names.length} items to the trash`).waitFor();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    for (const name of names) assert.equal(existsSync(join(server.home, name)), false);
  };
  await remove('A folder', 'two ü');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored 2 items').waitFor();
  assert.equal(readFileSync(join(server.home, 'A folder/inside'), 'utf8'), 'inside');
  assert.equal(readFileSync(join(server.home, 'two ü'), 'utf8'), 'two ü');
  await page.getByRole('link', { name: 'two ü' }).waitFor();

  await remove('one');
  await page.keyboard.press('Control+z');
  await until('the item is restored', () => existsSync(join(server.home, 'one')));
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  await remove('one');
  await page.locator('a:focus', { hasText: 'two ü' }).waitFor();
  assert.equal((await server.send('DELETE', '/home/__svc__/trash')).status, 204);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('one: no longer in the trash').waitFor();
});

browserTest('on a phone, a message shows the beginning and the end of a long name; on a wide screen, the whole name', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  const names = ['1', '2'].map((number) => `Quarterly-financial-statement-2026-final-corrected-v${number}.xlsx`) as [string, string];
  for (const name of names) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server, { viewport: { width: 320, height: 640 } });
  const remove = async (name: string) => {
    await page.getByLabel(`Select ${name}`).check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
  };
  await remove(names[0]);
  const message = page.getByText(/^Moved Quarterly-[^…]*…[^…]*v1\.xlsx to the trash$/);
  await message.waitFor();
  const { height = 99 } = (await message.boundingBox()) ?? {};
  assert.ok(height < 60, `two lines: ${height} px`);
  await page.setViewportSize({ width: 1024, height: 640 });
  await remove(names[1]);
  await page.getByText(`Moved ${names[1]} to the trash`).waitFor();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${server.url}/home/__svc__/trash`);
  const shown = page.locator(`tbody .i[title="${names[0]}"] bdi`);
  await shown.locator('.gap').waitFor({ state: 'attached' });
  const box = await shown.boundingBox();
  assert.ok(box && box.height < 60, `two lines in the trash, too: ${box?.height} px`);
});

browserTest('a question precedes the deletion of more than 100 items, also if they go to the trash', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  for (let index = 0; index <= 100; index++) writeFileSync(join(server.home, `${index}`), '');
  const page = await openFolder(t, server);
  await page.getByLabel('Select all').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete these 101 items?' });
  await dialog.locator('button:focus', { hasText: 'Cancel' }).waitFor();
  await dialog.getByText('You can restore them from the trash.', { exact: true }).waitFor();
  assert.equal(await dialog.locator('.names .i').count(), 4);
  await dialog.getByText('and 97 more', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Moved 101 items to the trash').waitFor();
  await page.getByText('This folder is empty.').waitFor();
  assert.deepEqual(
    readdirSync(server.home).filter((name) => !name.startsWith('.')),
    [],
  );
});

browserTest('the trash has the menu, filter and selection of a folder; a reload ticks no box; a restoration can be undone', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  for (const name of ['one.txt', 'two.txt', 'three.bin']) {
    writeFileSync(join(server.home, name), name);
    assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  }
  const page = await openFolder(t, server, { viewport: { width: 320, height: 700 } }, '/home/__svc__/trash');
  const rows = page.locator('tbody tr');
  await rows.filter({ hasText: 'one.txt' }).click();
  assert.equal(await page.getByRole('button', { name: 'Search' }).isVisible(), false, 'with few tools, the field needs no opener');
  await page.getByRole('searchbox').fill('.txt');
  await page.getByText('2 matches').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Delete for good', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete “one.txt” for good?' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('1 selected').waitFor({ state: 'attached' });
  await page.reload();
  await page.getByRole('button', { name: 'Actions for three.bin' }).waitFor();
  // The filter changed the order of the boxes. Browsers restore ticks by order, so another item could be ticked.
  assert.equal(await page.locator('tbody input:checked').count(), 0);
  await page.getByRole('button', { name: 'Actions for three.bin' }).click();
  await page.getByRole('menuitem', { name: 'Restore' }).waitFor();
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Restore', 'Select', 'Delete for good']);
  await page.getByRole('menuitem', { name: 'Restore' }).click();
  await page.getByText('Restored three.bin').waitFor();
  await until('the restored item is no longer listed', async () => (await rows.count()) === 2);
  assert.ok(existsSync(join(server.home, 'three.bin')));
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Moved three.bin to the trash').waitFor();
  await rows.filter({ hasText: 'three.bin' }).waitFor();
  assert.equal(existsSync(join(server.home, 'three.bin')), false);
});

browserTest('restoring asks for another name if the name is taken, and reports an item that was removed meanwhile', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  mkdirSync(join(server.home, 'in ü'));
  for (const name of ['free.txt', 'taken.txt', 'gone.txt']) {
    writeFileSync(join(server.home, 'in ü', name), 'old');
    assert.equal((await server.send('DELETE', `/home/in%20%C3%BC/${name}`)).status, 204);
  }
  writeFileSync(join(server.home, 'in ü/taken.txt'), 'new');
  const page = await openFolder(t, server, { expectedErrors: /40[49]/ }, '/home/__svc__/trash');
  const gone = (await trashOf(server)).find(({ path }) => path.endsWith('/gone.txt'));
  await page.getByLabel('Select all').check();
  assert.equal((await server.send('DELETE', `/home/__svc__/trash/${gone?.id}`)).status, 204);
  await page.getByRole('button', { name: 'Restore' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('New name').waitFor();
  await assertAccessible(page, 'another name');
  assert.equal(await dialog.getByLabel('New name').inputValue(), 'taken (2).txt', 'a name that is probably free');
  await page.keyboard.press('Enter');
  await page.getByText('Restored 2 items').waitFor();
  await page.getByText('“Restore” did not work: ').waitFor();
  await page.getByText('The trash is empty.').waitFor();
  const content = (name: string) => readFileSync(join(server.home, 'in ü', name), 'utf8');
  assert.deepEqual(['free.txt', 'taken.txt', 'taken (2).txt'].map(content), ['old', 'new', 'old']);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Moved 2 items to the trash').waitFor();
  await page.getByLabel('Select taken (2).txt').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'in ü')), ['taken.txt']);
});

browserTest('without the right to delete, a restoration offers no Undo', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 }, permissions: [['allow-read', 'allow-list', 'allow-write']] } });
  for (const content of ['old', 'new']) assert.equal((await server.put('/home/a.txt', content)).status < 300, true);
  const page = await openFolder(t, server, { expectedErrors: /409/ }, '/home/__svc__/trash');
  await page.getByLabel('Select a.txt').check();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('dialog').getByLabel('New name').fill('b.txt');
  await page.keyboard.press('Enter');
  await page.getByText('Restored b.txt').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
});

browserTest('if a button of the trash is pressed twice before the service has answered, it acts once', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  for (const name of ['a.txt', 'b.txt']) {
    writeFileSync(join(server.home, name), name);
    assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  }
  const page = await openFolder(t, server, {}, '/home/__svc__/trash');
  const pressTwice = async (name: string) => {
    const held: Route[] = [];
    const hold = (route: Route) => void held.push(route);
    await page.route('**/home/**', hold);
    for (let press = 0; press < 2; press++) await page.getByRole('button', { name }).click();
    await until('the service is asked', () => held.length > 0);
    await Promise.all(held.map((route) => route.continue()));
    await page.unroute('**/home/**', hold);
  };
  await pressTwice('Empty the trash');
  const dialog = page.getByRole('dialog', { name: 'Delete these 2 items for good?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByLabel('Select a.txt').check();
  await pressTwice('Restore');
  await page.getByText('Restored a.txt').waitFor();
  await page.getByLabel('Select a.txt').waitFor({ state: 'detached' });
  assert.equal(await page.getByText('That did not work').count(), 0);
});

browserTest('on the page of the trash an item is restored and another deleted for good, with and without scripts', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  for (const javaScriptEnabled of [true, false]) {
    for (const name of ['kept', 'ended']) {
      writeFileSync(join(server.home, name), name);
      assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
    }
    const page = await openFolder(t, server, { javaScriptEnabled });
    if (javaScriptEnabled) {
      await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Trash' }).click();
    } else await page.goto(`${server.url}/home/__svc__/trash`);
    await page.getByLabel('Select kept').check();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText(javaScriptEnabled ? 'Restored kept' : 'One item was restored.').waitFor();
    assert.equal(readFileSync(join(server.home, 'kept'), 'utf8'), 'kept');
    await page.getByRole('button', { name: 'Empty the trash' }).click();
    await page.getByRole('heading', { name: 'Delete “ended” for good?' }).waitFor();
    await (javaScriptEnabled ? page.getByRole('dialog') : page).getByRole('button', { name: 'Delete for good' }).click();
    await page.getByText('The trash is empty.').waitFor();
    await page.getByText('One item was deleted for good.').waitFor();
  }
});

browserTest('on the narrowest phones, a long size does not cut the time of an item in the trash', async (t) => {
  const server = await startServer(t, { account: { trash: { days: 7 } } });
  writeFileSync(join(server.home, 'a.bin'), 'x');
  assert.equal((await server.send('DELETE', '/home/a.bin')).status, 204);
  const page = await openFolder(t, server, { viewport: { width: 320, height: 640 } }, '/home/__svc__/trash');
  await page.locator('tbody time').first().waitFor();
  const widths = await page.evaluate<number[]>(`(() => {
    const [, , size, time] = document.querySelector('tbody tr').cells;
    size.textContent = '117.7 MB';
    time.querySelector('time').textContent = '28 Nov 2026, 23:58';
    return [time.scrollWidth, time.clientWidth];
  })()`);
  assert.ok((widths[0] ?? 0) <= (widths[1] ?? 0), `${widths}`);
});
