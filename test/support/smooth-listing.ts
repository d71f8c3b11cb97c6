import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { login, openBrowser } from './browser.ts';
import { startServer } from './server.ts';

/** More rows than a window has in sight, with those that are kept ready. */
const maxPlaced = 60;

/** A listing of so many entries, a thousand or more, stays smooth: what a filter finds is there at once, as is any part of the page. */
export async function assertSmooth(t: TestContext, count: number): Promise<void> {
  const server = await startServer(t);
  const nameAt = (index: number) => `file-${String(index).padStart(5, '0')}.txt`;
  for (let index = 0; index < count; index++) writeFileSync(join(server.home, nameAt(index)), '');
  const lastName = nameAt(count - 1);
  const page = await openBrowser(t);
  if (!page) return;
  await login(page, server.url);
  // All have come.
  await page.keyboard.press('Control+a');
  await page.getByText(`${count.toLocaleString('en')} selected`).waitFor();
  await page.keyboard.press('Escape');
  // Rows far below were never laid out.
  const isInSight = await page.evaluate<boolean>(`(async () => {
    const field = document.querySelector('.filter');
    field.value = '${lastName.slice(0, -5)}';
    field.dispatchEvent(new Event('input'));
    for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return document.querySelector('tbody tr:not([hidden])').getBoundingClientRect().top < innerHeight;
  })()`);
  assert.ok(isInSight, 'what a filter finds is there with the next frame');
  await page.getByText('10 matches').waitFor();
  await page.getByLabel('Filter by name').fill('');
  // What a jump costs are the rows that come into the document: `npm run bench -- pages` measures it.
  const placed = await page.evaluate<number[]>(`(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const counts = [];
    for (let step = 1; step <= 11; step++) {
      scrollTo(0, document.body.scrollHeight * step / 11);
      await frame();
      counts.push(document.querySelectorAll('tbody tr').length);
    }
    return counts;
  })()`);
  assert.ok(Math.min(...placed) > 0 && Math.max(...placed) <= maxPlaced, `rows in the document: ${placed}`);
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.evaluate('document.activeElement.innerText'), lastName);
}
