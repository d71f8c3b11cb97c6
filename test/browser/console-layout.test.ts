import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';

/** Returns the number of different bottom edges of elements, that is, the number of lines that they take. */
async function lines(elements: Locator): Promise<number> {
  await elements.first().waitFor();
  const boxes = await Promise.all((await elements.all()).map((one) => one.boundingBox()));
  return new Set(boxes.map((box) => box && Math.round(box.y + box.height))).size;
}

browserTest('filters, date ranges and buttons of a row take one line where they fit; dialogs leave room for focus rings', async (t) => {
  const { server, console } = await startConsole(t, {
    group: { trash: { days: 30 } },
    expectations: { feed: { every: '1d', path: '/feed*', opens: '2d', grace: '1d' } },
  });
  await server.put('/home/a.txt', 'a');
  await server.send('DELETE', '/home/a.txt');
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#deliveries?outcome=failed');
  const filters = page.locator('.filter :is(select, input, button:not([hidden]))');
  assert.equal(await lines(filters), 1, 'deliveries on a desktop');
  await page.setViewportSize({ width: 768, height: 900 });
  assert.equal(await lines(filters), 2, 'deliveries on a tablet');

  for (const width of [768, 1024]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${console.url}/#events`);
    assert.equal(await lines(page.locator('.range input[type=datetime-local]')), 1, `the date range at ${width} px`);
    const row = page.locator('.listed tbody tr').first();
    await row.waitFor();
    const [event, message] = [await row.locator('.kind').boundingBox(), await row.locator('.main-column').boundingBox()];
    assert.ok(event && message && message.width > event.width, `the message has more room than the event at ${width} px`);
    await page.goto(`${console.url}/#accounts`);
    assert.equal(
      await lines(page.locator('tr', { hasText: '/a.txt' }).getByRole('button')),
      1,
      `the buttons of a trash row at ${width} px`,
    );
  }

  for (const width of [320, 375]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${console.url}/#accounts`);
    const remove = page.locator('tr', { hasText: '/a.txt' }).getByRole('button', { name: 'Löschen' });
    await remove.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Abbrechen' }).click();
  }

  await page.goto(`${console.url}/#expectations`);
  await page.getByRole('button', { name: 'Entschuldigen' }).first().click();
  const [field, hint] = [await page.locator('dialog input').boundingBox(), await page.locator('dialog .hint').boundingBox()];
  assert.ok(field && hint && hint.y - field.y - field.height >= 6, 'there is room for the focus ring between the field and the hint');
});
