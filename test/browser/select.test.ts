import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest(
  'Control+A selects all; keys or clicks with Shift select a range; typed letters focus the next name that begins with them',
  async (t) => {
    const server = await startServer(t);
    const names = ['alpha', 'Äpfel', 'beta', 'bird', 'bison', 'gamma', 'great name'];
    for (const name of names) writeFileSync(join(server.home, name), '');
    const page = await openBrowser(t, { viewport: { width: 700, height: 900 } });
    await page.clock.install();
    await login(page, server.url);
    const selected = () => page.evaluate<string[]>(`[...document.querySelectorAll('tbody :checked')].map(({ value }) => value)`);
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await page.getByRole('link', { name: 'beta' }).focus();
    await press('Shift+ArrowDown', 'Shift+ArrowDown');
    assert.deepEqual(await selected(), ['beta', 'bird', 'bison']);
    await press('Shift+ArrowUp', 'Shift+ArrowUp', 'Shift+ArrowUp');
    assert.deepEqual(await selected(), ['Äpfel', 'beta'], 'a range can be reversed');
    await press('Shift+End');
    assert.deepEqual(await selected(), ['beta', 'bird', 'bison', 'gamma', 'great name']);
    await press('Escape');
    assert.deepEqual(await selected(), []);
    await press('Control+a');
    assert.deepEqual(await selected(), names);
    assert.ok(await page.getByLabel('Select all').isChecked());
    await press('Escape');
    await press('/');
    await page.getByRole('searchbox').fill('b');
    await page.getByText('3 matches').waitFor({ state: 'attached' });
    await press('Control+a');
    assert.deepEqual(await selected(), [], 'in a field, Control+A selects the text');
    await press('ArrowDown', 'Control+a');
    assert.deepEqual(await selected(), ['beta', 'bird', 'bison'], 'hidden rows are not selected');
    await page.getByRole('searchbox').fill('');
    await page.getByRole('link', { name: 'alpha' }).waitFor();
    await press('ArrowDown', 'Escape');

    await page.getByLabel('Select beta').click();
    await page.getByRole('link', { name: 'gamma' }).click({ modifiers: ['Shift'] });
    assert.deepEqual(await selected(), ['beta', 'bird', 'bison', 'gamma']);
    await page.getByRole('link', { name: 'alpha' }).click({ modifiers: ['Shift'] });
    assert.deepEqual(await selected(), ['alpha', 'Äpfel', 'beta'], 'a click with Shift sets the other end of the range');
    assert.equal(page.context().pages().length, 1);
    await press('Escape');

    await page.getByRole('link', { name: 'Show as a grid' }).click();
    await page.locator('#list.grid').waitFor();
    const places = await page.evaluate<[number, number][]>(
      `[...document.querySelectorAll('tbody tr')].map((row) => { const { left, top } = row.getBoundingClientRect(); return [left, top]; })`,
    );
    const columns = places.filter(([, top]) => top === places[0]?.[1]).length;
    assert.ok(columns > 1 && columns < names.length, 'the tiles stand in several lines');
    await page.getByRole('link', { name: 'alpha' }).focus();
    await press('ArrowRight');
    assert.equal(await focused(), names[1]);
    await press('ArrowDown');
    assert.equal(await focused(), names[1 + columns]);
    await press('ArrowUp', 'ArrowLeft', 'Shift+ArrowDown');
    assert.deepEqual(await selected(), names.slice(0, columns + 1), 'the range has all tiles between its ends');
    await press('Escape');

    await page.getByRole('link', { name: 'Show as a list' }).click();
    await page.getByRole('link', { name: 'alpha' }).focus();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await press('Home', 'b');
    assert.equal(await focused(), 'beta');
    await press('i', 's');
    assert.equal(await focused(), 'bison');
    await page.clock.fastForward(1100);
    await press('A', 'a');
    assert.equal(await focused(), 'Äpfel', 'the same letter again moves to the next name; accents and case are ignored');
    await page.clock.fastForward(1100);
    await press('g', 'r', 'e', 'a', 't', 'Space', 'n');
    assert.equal(await focused(), 'great name');
    assert.deepEqual(await selected(), [], 'a space in a name selects nothing');
  },
);

browserTest('after a reload of a filtered folder no box is ticked, although browsers restore ticks by position', async (t) => {
  const server = await startServer(t);
  for (const name of ['apple', 'banana', 'cherry', 'date']) writeFileSync(join(server.home, name), '');
  const page = await openBrowser(t);
  await login(page, server.url);
  await page.getByRole('searchbox').fill('date');
  await page.getByText('1 match', { exact: true }).waitFor({ state: 'attached' });
  await page.getByLabel('Select date').check();
  await page.reload();
  await page.getByRole('button', { name: 'Actions for apple' }).waitFor();
  assert.equal(await page.locator('tbody :checked').count(), 0);
  assert.equal(await page.locator('#actions').isVisible(), false);
});

browserTest('the question before many items are deleted has the focus on Cancel, not on the list that scrolls', async (t) => {
  const server = await startServer(t);
  for (let number = 1; number <= 8; number++) writeFileSync(join(server.home, `${number}.bin`), '');
  const page = await openFolder(t, server);
  await page.getByLabel('Select all').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete these 8 items?' }).locator('button:focus', { hasText: 'Cancel' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(readdirSync(server.home).length, 8);
});
