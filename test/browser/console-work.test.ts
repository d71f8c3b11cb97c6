import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';
import { until } from '../support/receiver.ts';

browserTest('events appear as they happen, are found by a search, and have pages, from which Back returns to the search', async (t) => {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#events');
  await page.locator('.heading .badge.good').waitFor();
  const refused = await server.get('/home/', { headers: { authorization: 'Basic ' } });
  assert.equal(refused.status, 401);
  const nobody = page.locator('.of-account .hint', { hasText: 'not signed in' }).first();
  await nobody.waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.ok(await nobody.evaluate((name) => (name.closest('td')?.scrollWidth ?? 0) <= (name.closest('td')?.clientWidth ?? 0)), 'not cut');
  const event = page.locator('main tbody tr', { has: nobody }).locator('.event-name').first();
  assert.ok(((await event.boundingBox())?.height ?? 99) < 30, 'the event has one line');
  await server.put('/home/seen.txt', 'one');
  await page.locator('main tbody tr', { hasText: '/seen.txt' }).first().waitFor();
  await page.getByRole('combobox', { name: 'Search' }).fill('event:40017 account:alice');
  await page.locator('main form').getByRole('button', { name: 'Search' }).click();
  await page.getByRole('heading', { name: 'Found' }).waitFor();
  await page.getByRole('button', { name: 'Replay all that match', disabled: false }).waitFor();
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

browserTest('Back returns to the row that was opened, also if Show more had loaded it; a reload keeps the place', async (t) => {
  const { server, console } = await startConsole(t);
  for (let index = 0; index < 130; index++) await server.put(`/home/${index}.txt`, 'x');
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#events?id=40017');
  const row = page.locator('main tbody tr', { hasText: '/5.txt' });
  const link = row.locator('.row-link');
  await page.locator('main tbody tr', { hasText: '/129.txt' }).first().waitFor();
  await until('the row is loaded', async () => {
    await page.mouse.wheel(0, 2000);
    return (await row.count()) > 0;
  });
  await row.scrollIntoViewIfNeeded();
  const place = () => page.evaluate<number>('scrollY');
  const comesTrue = (condition: string) => until(condition, () => page.evaluate<boolean>(condition));
  await comesTrue('history.state === scrollY');
  const left = await place();
  assert.ok(left > 1000);
  await link.click();
  await page.getByRole('heading', { name: 'Event 40017' }).waitFor();
  assert.equal(await place(), 0);
  await page.goBack();
  await comesTrue("document.activeElement.matches('.row-link')");
  assert.ok(await link.evaluate((element) => element === element.ownerDocument.activeElement));
  // When the chart above the rows appears, the page scrolls once more.
  await comesTrue(`Math.abs(scrollY - ${left}) < 20`);
  await comesTrue('history.state === scrollY');
  const before = await place();
  await page.reload();
  await comesTrue(`Math.abs(scrollY - ${before}) < 20`);
  await page.locator('#sections a[data-section="events"]').press('ArrowDown');
  await page.locator('#sections a[data-section="events"]').click();
  await comesTrue('scrollY === 0');
});

browserTest('on a slow line, the filter of the deliveries stays usable when one of its choices changes', async (t) => {
  const { console } = await startConsole(t, { event_handlers: { crm: { type: 'http', name: 'CRM', url: 'http://127.0.0.1:1/' } } });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#deliveries');
  await page.getByLabel('Outcome').waitFor();
  let isAsked = false;
  for (const path of ['handlers', 'deliveries*'])
    await page.route(`**/api/${path}`, () => {
      isAsked = true;
    });
  await page.getByLabel('Outcome').selectOption('failed');
  await until('the page waits for replies', () => isAsked);
  await page.locator('main .loading').waitFor();
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'failed');
  assert.deepEqual(await page.getByLabel('Handler').locator('option').allInnerTexts(), ['All handlers', 'CRM']);
});
