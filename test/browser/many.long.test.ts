import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { browserTest, drop, openFolder } from '../support/browser.ts';
import { startServer, type TestServer } from '../support/server.ts';

/** Upper limit for the rows in the document: those in the window, and those kept ready above and below it. */
const maxPlaced = 60;

/** Asserts that a listing of `count` entries, a thousand or more, stays smooth: filtered rows and any scroll position appear at once. */
async function assertSmooth(t: TestContext, count: number): Promise<void> {
  const server = await startServer(t);
  const nameAt = (index: number) => `file-${String(index).padStart(5, '0')}.txt`;
  for (let index = 0; index < count; index++) writeFileSync(join(server.home, nameAt(index)), '');
  const lastName = nameAt(count - 1);
  const page = await openFolder(t, server);
  // Once this number is shown, all rows have arrived.
  await page.keyboard.press('Control+a');
  await page.getByText(`${count.toLocaleString('en')} selected`).waitFor();
  await page.keyboard.press('Escape');
  // The matching rows are far below the window, and have not been laid out before.
  const isInSight = await page.evaluate<boolean>(`(async () => {
    const field = document.querySelector('.filter');
    field.value = '${lastName.slice(0, -5)}';
    field.dispatchEvent(new Event('input'));
    for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return document.querySelector('tbody tr:not([hidden])').getBoundingClientRect().top < innerHeight;
  })()`);
  assert.ok(isInSight, 'the filtered rows appear in the next frame');
  await page.getByText('10 matches').waitFor();
  await page.getByRole('searchbox').fill('');
  // The time of a jump depends on the rows that it adds, so the test counts the rows. `npm run bench -- pages` measures the time.
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

/** Creates a folder of 230 files on the "desktop". Browsers return at most 100 entries of a folder at a time. */
function makeFolder(server: TestServer, sizeBytes: number): string {
  const folder = join(server.folder, 'source/many');
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 230; index++) writeFileSync(join(folder, `f${index}.txt`), `${index}`.padEnd(sizeBytes, ' '));
  return folder;
}

browserTest('a dropped folder of 230 files arrives whole', async (t) => {
  const server = await startServer(t);
  const folder = makeFolder(server, 100);
  const page = await openFolder(t, server);
  await drop(page, [folder]);
  await page.getByText('230 files were uploaded.').waitFor({ state: 'attached', timeout: 90_000 });
  const arrived = readdirSync(join(server.home, 'many'));
  assert.equal(arrived.length, 230);
  for (const name of arrived)
    assert.equal(readFileSync(join(server.home, 'many', name), 'utf8'), readFileSync(join(folder, name), 'utf8'), name);
  await page.getByRole('link', { name: 'many' }).click();
  await page.getByText('230 items').waitFor({ state: 'attached' });
});

browserTest('all uploads are cancelled together: finished files are whole, no other file exists', async (t) => {
  const server = await startServer(t);
  const folder = makeFolder(server, 20_000);
  const page = await openFolder(t, server, { expectedErrors: /ERR_/ });
  const session = await page.context().newCDPSession(page);
  const speed = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 };
  await session.send('Network.emulateNetworkConditions', speed);
  await drop(page, [folder]);
  await page.locator('.queue li.done').nth(2).waitFor();
  await page.getByRole('button', { name: 'Cancel all' }).click();
  await page.locator('.queue').getByRole('button', { name: 'Close' }).waitFor();
  assert.equal(await page.locator('.queue li.running, .queue li.waiting').count(), 0);
  await page.locator('.queue').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'many' }).click();
  await page.waitForURL('**/home/many/');
  const arrived = readdirSync(join(server.home, 'many')).filter((name) => !name.startsWith('.svc-'));
  assert.ok(arrived.length >= 3 && arrived.length < 230, `${arrived.length} arrived`);
  for (const name of arrived) assert.equal(readFileSync(join(server.home, 'many', name)).length, 20_000, name);
});

for (const count of [1000, 10_000]) test(`a listing of ${count.toLocaleString('en')} entries stays smooth`, (t) => assertSmooth(t, count));
