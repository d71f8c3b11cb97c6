import assert from 'node:assert/strict';
import { eventIds } from '../../src/events/event-ids.ts';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';
import { until } from '../support/receiver.ts';

// Due at midnight of today by the browser's clock, so the time of the test run does not matter.
const daily = { every: '1d', from: '00:00', opens: '2d', account: 'alice' };

browserTest(
  'an operator sees what is due today by account, excuses a missing file and revokes the excuse; a viewer only reads',
  async (t) => {
    const { server, console } = await startConsole(t, {
      expectations: {
        orders: { ...daily, name: 'Orders', path: '/orders*', grace: '1d' },
        bills: { ...daily, name: 'Bills', path: '/bills*' },
      },
    });
    await server.put('/home/orders.csv', 'x');
    const page = await openBrowser(t, { expectedErrors: /401/, timezoneId: 'UTC' });
    await signIn(page, console.url, '#expectations');
    const account = page.locator('.panel', { has: page.getByRole('heading', { name: 'alice' }) });
    const row = (name: string) => account.locator('tbody tr', { hasText: name });
    assert.match(await row('Orders').innerText(), /in time[\s\S]*\/orders\.csv/);
    assert.match(await row('Bills').innerText(), /missing/);
    assert.equal(await row('Orders').getByRole('button', { name: 'Excuse' }).count(), 0);

    await row('Bills').getByRole('button', { name: 'Excuse' }).click();
    const dialog = page.locator('dialog');
    await dialog.getByRole('button', { name: 'Excuse' }).click();
    assert.equal(await dialog.locator('input:invalid').count(), 1, 'a reason is needed');
    await dialog.getByLabel('Reason').fill('None to pay.');
    await dialog.getByRole('button', { name: 'Excuse' }).click();
    await page.getByText('The file was excused.').waitFor();
    await row('Bills').getByText('excused', { exact: true }).waitFor();
    assert.match(await row('Bills').innerText(), /None to pay\./);

    await row('Bills').getByRole('button', { name: 'Expect once more' }).click();
    await dialog.getByRole('button', { name: 'Expect once more' }).click();
    await page.getByText('The file is expected once more.').waitFor();
    await row('Bills').getByText('waiting', { exact: true }).waitFor();
    // The board is updated without an action.
    await server.put('/home/bills.csv', 'x');
    await row('Bills').getByText('in time', { exact: true }).waitFor();
    const actions = (await server.events()).filter(({ id }) => Number(id) === eventIds.administratorAction);
    assert.deepEqual(
      actions.map(({ data }) => [data.action, data.administrator]),
      [
        ['expectation-excuse', 'olga'],
        ['expectation-again', 'olga'],
      ],
    );

    await row('Orders').getByRole('link', { name: 'Orders', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
    const facts = await page.locator('dl.facts').innerText();
    assert.match(facts, /Median\s+\d\d:\d\d \(\d+:\d\d h after due\)/);
    assert.match(await page.locator('.days li.good').first().innerText(), /: in time$/);
    assert.match(await page.locator('.days li.before').last().innerText(), /: not watched yet$/);
    assert.equal(await page.locator('.days li.bad').count(), 0, 'occurrences before the configuration are not missing');

    const viewer = await openBrowser(t, { expectedErrors: /401/, timezoneId: 'UTC' });
    await signIn(viewer, console.url, '#expectations', 'viewer');
    await viewer.getByText('/bills.csv').waitFor();
    assert.equal(await viewer.locator('main tbody button').count(), 0);
  },
);

browserTest('the number of missing files on the overview leads to the board', async (t) => {
  const { console } = await startConsole(t, { expectations: { bills: { every: '1h', path: '/bills' } } });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.route('**/api/overview', async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, json: { ...(await reply.json()), missing_files: 2 } });
  });
  await page.route('**/api/live', (route) => route.fulfill({ contentType: 'text/event-stream', body: ': nothing\n\n' }));
  await signIn(page, console.url, '#overview');
  await page.getByRole('link', { name: '2 expectations with missing files' }).click();
  await page.getByRole('heading', { level: 1, name: 'Due files' }).waitFor();
  await until('its rows', async () => (await page.getByRole('link', { name: 'bills' }).count()) > 0);
});
