import assert from 'node:assert/strict';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import type { Page } from 'playwright-core';
import { boxesOf, browserTest, login, openBrowser, openFolder, openMenu } from '../support/browser.ts';
import { startServer } from '../support/server.ts';
import { assertBarsInSight } from '../support/window-sizes.ts';

const now = Date.UTC(2026, 2, 16, 12, 0);
const minute = 60_000;
const day = 24 * 60 * minute;

const dates = [
  { name: 'a', at: now - 20_000, shown: 'Now', german: 'Jetzt' },
  { name: 'b', at: now - 5 * minute, shown: '5 minutes ago', german: 'Vor 5 Minuten' },
  { name: 'c', at: now - 3 * 60 * minute, shown: 'Today, 09:00', german: 'Heute, 09:00' },
  { name: 'd', at: now - day, shown: 'Yesterday, 12:00', german: 'Gestern, 12:00' },
  { name: 'e', at: now - 3 * day, shown: '3 days ago', german: 'Vor 3 Tagen' },
  { name: 'f', at: now - 40 * day, shown: '4 Feb 2026', german: '04.02.2026' },
  { name: 'g', at: now + 5 * day, shown: '21 Mar 2026', german: '21.03.2026' },
] as const;

browserTest('recent dates are relative; the pointer and screen readers get the whole date', async (t) => {
  const server = await startServer(t);
  for (const { name, at } of dates) {
    writeFileSync(join(server.home, name), '');
    utimesSync(join(server.home, name), at / 1000, at / 1000);
  }
  const shownOn = (page: Page) => page.locator('td time').allInnerTexts();
  for (const [locale, column] of [
    ['en-GB', 'shown'],
    ['de-DE', 'german'],
  ] as const) {
    const page = await openBrowser(t, { locale });
    // The clock runs until it is paused, which can take a while on a busy machine. So it starts an hour early.
    await page.clock.install({ time: now - 60 * minute });
    await page.clock.pauseAt(now);
    await login(page, server.url);
    assert.deepEqual(
      await shownOn(page),
      dates.map((date) => date[column]),
    );
    if (column === 'german') continue;
    assert.equal(await page.locator('td', { hasText: 'Yesterday' }).textContent(), 'Yesterday, 12:00 (15 Mar 2026)');
    await page.locator('time', { hasText: 'Yesterday' }).hover();
    const title = await page.locator('time', { hasText: 'Yesterday' }).getAttribute('title');
    assert.match(title ?? '', /^Sunday,? 15 March 2026 at 12:00:00$/);
    await page.clock.runFor(2 * minute);
    assert.equal((await shownOn(page))[1], '7 minutes ago', 'the relative time increases');
  }
});

browserTest('the menu by keyboard: it opens, the arrow keys move in it, it closes, and it restores the focus', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'x');
  const page = await openFolder(t, server);
  const focused = () => page.evaluate<string>('document.activeElement.innerText.trim()');
  const opener = page.getByRole('button', { name: 'Account alice' });
  const menu = page.locator('#menu');
  await page.getByLabel('Select a.txt').check();
  await opener.focus();
  await page.keyboard.press('Enter');
  await menu.waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Keyboard', 'Tab leads into the menu');
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), 'Sign out', 'arrows go round');
  await page.keyboard.press('Home');
  assert.equal(await focused(), 'Keyboard');
  await menu.getByRole('button', { name: 'System' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'Dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme=dark]').waitFor();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  await opener.and(page.locator(':focus')).waitFor();
  assert.ok(await page.getByLabel('Select a.txt').isChecked(), 'Escape closed the menu and nothing else');
  await page.keyboard.press('ArrowDown');
  await menu.waitFor();
  await page.keyboard.press('End');
  assert.equal(await focused(), 'Sign out');
  await page.getByRole('button', { name: 'Keyboard' }).click();
  await page.getByRole('dialog').getByRole('heading', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await opener.and(page.locator(':focus')).waitFor();
  await openMenu(page);
  await page.getByRole('button', { name: 'Français' }).click();
  await page.getByRole('button', { name: 'Compte alice' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'fr');
});

browserTest('a click anywhere on a row follows its link, and a click near its check box ticks the box', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.txt', 'b.bin']) writeFileSync(join(server.home, name), 'x');
  const page = await openFolder(t, server);
  const cell = (row: string, column: number) => page.locator('tbody tr', { hasText: row }).locator('td').nth(column);
  await cell('a.txt', 0).click({ position: { x: 3, y: 3 } });
  await page.getByText('1 selected').waitFor();
  await cell('b.bin', 0).click({ position: { x: 3, y: 3 }, modifiers: ['Shift'] });
  await page.getByText('2 selected').waitFor();
  await page.mouse.click(...(await middleOf(cell('a.txt', 2))));
  await page.getByRole('dialog', { name: 'a.txt' }).waitFor();
  await page.keyboard.press('Escape');
  await cell('Folder', 3).locator('time').click();
  await page.waitForURL('**/home/Folder/');
});

async function middleOf(locator: ReturnType<Page['locator']>): Promise<[number, number]> {
  const box = await locator.boundingBox();
  assert.ok(box);
  return [box.x + box.width / 2, box.y + box.height / 2];
}

browserTest('toolbar, table head and selection bar stay visible, and cover no focused element: 320 px', (t) =>
  assertBarsInSight(t, { width: 320, height: 640 }),
);

browserTest('the menu has a transition, but none if the browser asks for reduced motion', async (t) => {
  const server = await startServer(t);
  for (const [reducedMotion, isMoving] of [
    ['reduce', false],
    ['no-preference', true],
  ] as const) {
    const page = await openFolder(t, server, { reducedMotion });
    const durations = await page.evaluate<string>(`getComputedStyle(document.querySelector('#menu')).transitionDuration`);
    assert.equal(/[1-9]/.test(durations), isMoving, reducedMotion);
  }
});

browserTest('the menu shows the used part of a quota', async (t) => {
  const server = await startServer(t, { group: { quota_size: 10_000_000 } });
  writeFileSync(join(server.home, 'a.bin'), Buffer.alloc(2_500_000));
  const page = await openFolder(t, server);
  await openMenu(page);
  const meter = page.getByRole('meter', { name: 'Storage' });
  await page.getByText('2.5\u00a0MB of 10\u00a0MB used', { exact: true }).waitFor();
  assert.equal(await meter.getAttribute('aria-valuenow'), '25');
});

browserTest('on a phone an icon opens the filter, which has room for a word; dates are not cut', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'letter.bin'), Buffer.alloc(999_900));
  utimesSync(join(server.home, 'letter.bin'), (now - day) / 1000, (now - day) / 1000);
  const page = await openBrowser(t, { viewport: { width: 320, height: 640 } });
  await page.clock.setFixedTime(now);
  await login(page, server.url);
  const date = page.locator('td:nth-child(4)');
  await date.getByText('Yesterday, 12:00').waitFor();
  assert.ok(await date.evaluate((cell) => cell.scrollWidth <= cell.clientWidth), 'the date is not cut');
  const leftOf = (selector: string) =>
    page.evaluate<number>(`((place) => {
      const range = document.createRange();
      range.selectNodeContents(place);
      return range.getBoundingClientRect().left;
    })(document.querySelector('${selector}').lastChild)`);
  const american = await openBrowser(t, { viewport: { width: 320, height: 640 }, locale: 'en-US' });
  await american.clock.setFixedTime(now);
  await login(american, server.url);
  const longDate = american.locator('td:nth-child(4)', { hasText: 'Yesterday, 12:00 PM' });
  assert.ok(await longDate.evaluate((cell) => cell.scrollWidth <= cell.clientWidth), 'a long date is not cut');
  assert.ok(Math.abs((await leftOf('a.i')) - (await leftOf('td:nth-child(4) time'))) < 1, 'the date is below the name');

  const filter = page.locator('input.filter');
  const widthOf = async () => (await filter.boundingBox())?.width ?? 0;
  const newFolder = page.getByRole('button', { name: 'New', exact: true });
  await newFolder.click({ trial: true });
  await newFolder.click();
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Upload folder', 'New folder']);
  await page.getByRole('menuitem', { name: 'New folder' }).click();
  await page.getByRole('dialog', { name: 'New folder' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Select letter.bin').check();
  await page.getByRole('button', { name: 'More actions' }).click();
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Share', 'Copy'], 'only what is not in the bar');
  await page.keyboard.press('Escape');
  await page.getByLabel('Select letter.bin').uncheck();
  assert.equal(await filter.isVisible(), false);
  const opener = page.getByRole('button', { name: 'Search', exact: true });
  await opener.click();
  await filter.and(page.locator(':focus')).waitFor();
  assert.ok((await widthOf()) > 150);
  await filter.fill('letter');
  await page.getByRole('link', { name: 'letter.bin' }).focus();
  assert.ok((await widthOf()) > 150, 'the filter stays wide');
  assert.equal(await newFolder.isVisible(), false, 'the button below the filter is hidden');
  await page.locator('#tools').getByRole('button', { name: 'Clear search' }).click();
  await opener.and(page.locator(':focus')).waitFor();
  assert.equal(await filter.inputValue(), '');
  await newFolder.click({ trial: true });
  await page.keyboard.press('/');
  await filter.fill('letter');
  await filter.press('Enter');
  await page.getByRole('heading', { name: 'Search for' }).and(page.locator(':focus')).waitFor();
  assert.equal(
    await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle'),
    'none',
    'the heading has no focus ring',
  );
});

browserTest('on a phone the text of a preview takes nearly the whole width; a message keeps a distance from the edge', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'many words '.repeat(50));
  writeFileSync(join(server.home, 'none.zip'), 'no archive');
  const page = await openFolder(t, server, { viewport: { width: 320, height: 640 } });
  await page.getByRole('link', { name: 'a.txt' }).click();
  const [text, lines] = await boxesOf(page.locator('.stage pre'), page.locator('.stage pre .lines').first());
  assert.ok(text && lines && text.width > 270 && lines.width > text.width - 8, `${text?.width}, ${lines?.width}`);
  await page.keyboard.press('ArrowRight');
  const message = page.locator('.stage').getByText('This is not a ZIP archive, or it is damaged.');
  const [told, stage] = await boxesOf(message, page.locator('.stage'));
  assert.ok(told && stage && told.left - stage.left >= 16 && stage.right - told.right >= 16, `${told?.left}, ${stage?.left}: no distance`);
});

browserTest('in the grid the height of long names is limited; the row of an opened archive is as high as other rows', async (t) => {
  const server = await startServer(t);
  for (const name of ['short.bin', `${'n'.repeat(251)}.bin`, `${'many words '.repeat(20)}.bin`]) writeFileSync(join(server.home, name), '');
  writeFileSync(join(server.home, 'a.zip'), zipSync({ 'b.txt': strToU8('text') }));
  const page = await openFolder(t, server);
  await page.getByRole('link', { name: 'a.zip' }).click();
  await page.locator('.members').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const rowOf = (name: string) => page.locator('tbody tr', { hasText: name });
  const [opened, other] = await boxesOf(rowOf('a.zip'), rowOf('short.bin'));
  assert.equal(opened?.height, other?.height);
  await page.getByRole('link', { name: 'Show as a grid' }).click();
  await page.locator('#list.grid').waitFor();
  const names = page.locator('tbody a.i');
  for (const height of await names.evaluateAll((links) => links.map((link) => link.getBoundingClientRect().height)))
    assert.ok(height > 100 && height < 190, `${height} px`);
});

browserTest('recent changes in German: on screens of 1024 px each row has one line, with one baseline', async (t) => {
  const server = await startServer(t, { group: { show_recent: true } });
  for (const name of ['a.txt', 'b.csv']) await server.put(`/home/${name}`, 'x');
  rmSync(join(server.home, 'a.txt'));
  await server.send('DELETE', '/home/b.csv');
  const page = await openFolder(t, server, { viewport: { width: 1024, height: 768 }, locale: 'de' });
  await page.getByRole('link', { name: 'Letzte Änderungen' }).click();
  await page.getByText('Hochgeladen, nicht mehr da').first().waitFor();
  await page.waitForFunction('getComputedStyle(document.querySelector(".facts")).display === "grid"');
  const heights = await page.locator('.recent > li').evaluateAll((rows) => rows.map((row) => row.offsetHeight));
  assert.ok(heights.length > 1 && Math.max(...heights) - Math.min(...heights) <= 1, heights.join());
  const bottoms = (selector: string) =>
    page.locator(`.recent > li > ${selector}`).evaluateAll((all) =>
      all.map((words) => {
        const mark = words.ownerDocument.createElement('span');
        words.append(mark);
        mark.style.display = 'inline-block';
        return mark.getBoundingClientRect().bottom;
      }),
    );
  const [ofNames, ofFacts] = [await bottoms(':first-child > bdi'), await bottoms('.facts > span:last-child')];
  for (const [index, bottom] of ofNames.entries()) assert.ok(Math.abs(bottom - (ofFacts[index] ?? 0)) < 1, `row ${index}`);
});
