import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';

browserTest('events appear as they happen, are found by a search, and have pages, from which Back returns to the search', async (t) => {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#events');
  await page.locator('.heading .badge.good').waitFor();
  await server.put('/home/seen.txt', 'one');
  await page.locator('main tbody tr', { hasText: '/seen.txt' }).first().waitFor();
  await page.getByRole('combobox', { name: 'Search' }).fill('event:40017 account:alice');
  await page.locator('main form').getByRole('button', { name: 'Search' }).click();
  await page.getByRole('heading', { name: 'Found' }).waitFor();
  const found = page.locator('main tbody tr', { hasText: '/seen.txt' });
  await found.first().waitFor();
  assert.deepEqual(new Set(await page.locator('main tbody td:nth-child(2)').allTextContents()), new Set(['40017file uploaded']));
  await found.first().locator('.row-link').click();
  await page.getByRole('heading', { name: 'Event 40017' }).waitFor();
  await page.getByText('total_write', { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Found' }).waitFor();
  await page.locator('.chip', { hasText: 'account:alice' }).waitFor();
});
