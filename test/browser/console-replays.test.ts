import assert from 'node:assert/strict';
import type { Route } from 'playwright-core';
import { eventIds } from '../../src/events/event-ids.ts';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, signIn, startConsole } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';

const files = 25;

browserTest(
  'a replay shows the number of requests and handlers before it sends, groups results, stops after 20 failures, and is listed',
  async (t) => {
    const receiver = await startReceiver(t, { otherwise: { status: 500 } });
    const crm = { type: 'http', name: 'CRM', target: '40017', url: receiver.url, fail_after_errors: 0, concurrency: 1 };
    const { server, console } = await startConsole(t, { event_handlers: { crm } });
    for (let index = 0; index < files; index++) await server.put(`/home/${index}.txt`, 'x');
    await until('all events were sent', async () => {
      const { deliveries } = (await console.get('/api/deliveries?limit=100', asOperator)).json<{ deliveries: unknown[] }>();
      return deliveries.length === files;
    });
    const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
    await signIn(page, console.url, '#events?id=40017&account=nobody');
    await page.getByText('There are no such events.').waitFor();
    const replay = page.getByRole('button', { name: 'Replay all that match' });
    assert.ok(await replay.isDisabled(), 'no event matches, so there is nothing to replay');
    await page.goto(`${console.url}/#events?id=40017`);
    await replay.click();
    assert.equal(await page.getByLabel('Stop').inputValue(), '20');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Compare 25 requests' }).waitFor();
    await dialog.getByText('CRM is failing; its requests will probably fail.').waitFor();
    await dialog.getByRole('checkbox').uncheck();
    await dialog.getByRole('button', { name: 'Send 25 requests to 1 handler' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await replay.click();
    await dialog.getByRole('button', { name: 'Compare 25 requests' }).click();
    await page.getByRole('heading', { name: 'Dry run' }).waitFor();
    await page.getByText('24 more of this kind').waitFor();
    await page.getByText('CRM is failing; its requests will probably fail.').waitFor();
    assert.deepEqual(await page.locator('.results .group').count(), 1);
    assert.match(await page.locator('.results .group p').first().innerText(), /as it was sent CRM\s+40017\s+file uploaded\s+× 25/);
    await page.reload();
    const send = page.getByRole('button', { name: 'Send 25 requests to 1 handler' });
    await send.waitFor();
    const [kept] = await page.evaluate<[string, string][]>('Object.entries(sessionStorage)');
    const dryRun = page.url();
    assert.match(kept?.[1] ?? '', /"as_of":"\d/, 'events that arrive after the dry run are not sent');
    const before = receiver.requests.length;
    await send.click();
    await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
    await page.getByText('It was stopped: 20 requests failed in a row.').waitFor();
    assert.equal(receiver.requests.length - before, 20);
    const bar = page.locator('progress.ended');
    assert.deepEqual(
      [await bar.getAttribute('value'), await bar.getAttribute('max')],
      ['20', '25'],
      'the bar ends where the replay stopped',
    );
    await page.getByRole('button', { name: 'Replay all failed' }).click();
    await dialog.getByRole('button', { name: 'Compare 25 requests' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('19 more of this kind').waitFor();
    await page.goto(`${console.url}/#deliveries`);
    await page.getByText('Replays (2)').click();
    const rows = page.locator('details.panel tbody tr');
    await rows.first().waitFor();
    assert.match(await rows.nth(0).innerText(), /failed\s+Replay\s+20 of 25\s+0\s+20\s+olga/);
    assert.match(await rows.nth(1).innerText(), /done\s+Dry run\s+25 of 25/);
    assert.equal(await rows.count(), 2, 'a replay with which a dialog only counts requests is not listed');
    assert.equal(await page.locator('details.panel th', { hasText: 'Node' }).count(), 0, 'one node needs no column');
    // Requests to different handlers are never grouped, even if all of them would be sent unchanged.
    const same = { events: [{ id: '40017', uuid: 'a' }], delivery: 'd1-0', was_sent: true, differences: [] };
    const request = { method: 'POST', url: receiver.url, headers: {}, body: '', is_truncated: false };
    const results = ['crm', 'crm', 'other'].map((handler, index) => {
      const events = [{ id: index === 1 ? '40021' : '40017', uuid: 'a' }];
      return JSON.stringify({ handler, ...same, events, request: { handler, ...request } });
    });
    results.push(JSON.stringify({ handler: 'crm', ...same, was_sent: false, request: { handler: 'crm', ...request } }));
    await page.route(/\/results$/, (route) => route.fulfill({ body: results.join('\n') }));
    await page.goto(dryRun);
    await page.locator('.group', { hasText: /as it was sent CRM\s*40017\s*file uploaded\s*40021\s*upload started/ }).waitFor();
    await page.locator('.group', { hasText: /as it was sent other/ }).waitFor();
    const never = page.locator('.group', { hasText: /not sent before CRM/ });
    assert.match(
      (await never.locator('.badge').first().getAttribute('class')) ?? '',
      /calm/,
      'a request that was never sent is no success',
    );
    for (const [locale, words] of [
      ['de', '25 Anfragen an 1 Empfänger senden'],
      ['fr', 'Envoyer 25 requêtes à 1 destinataire'],
      ['es', 'Enviar 25 peticiones a 1 destino'],
    ] as const) {
      const other = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/, locale });
      await signIn(other, console.url);
      await other.evaluate(`sessionStorage.setItem(${JSON.stringify(kept?.[0])}, ${JSON.stringify(kept?.[1])})`);
      await other.route(/\/api\/replays\/[^/]+$/, async (route) => {
        const found = (await (await route.fetch()).json()) as object;
        await route.fulfill({ json: { ...found, state: 'running', seconds_left: 300 } });
      });
      await other.goto(dryRun);
      await other.getByText(/^5\smin/i).waitFor();
      await other.unroute(/\/api\/replays\/[^/]+$/);
      await other.getByRole('button', { name: words }).waitFor();
    }
  },
);

browserTest('the dialog for failed deliveries counts failed and never-sent events, and includes the latter only on request', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const crm = { type: 'http', name: 'CRM', target: '40017', url: receiver.url, fail_after_errors: 1 };
  const { server, console } = await startConsole(t, { event_handlers: { crm } });
  await server.put('/home/failed.txt', 'x');
  const state = async () => (await console.get('/api/handlers', asOperator)).json<{ handlers: { state: string }[] }>().handlers[0]?.state;
  await until('the handler has stopped', async () => (await state()) === 'stopped');
  for (const name of ['never', 'neither']) await server.put(`/home/${name}.txt`, 'x');
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#deliveries');
  assert.match(await page.locator('td.reply').innerText(), /^500\s+Internal Server Error$/, 'there is room for the words');
  await page.getByLabel('Select all that are shown').waitFor();
  const choice = page.getByLabel('Handler');
  await choice.selectOption('CRM');
  await page.waitForURL(/handler=crm/);
  await until('the list has the focus again', () => choice.evaluate((list) => list === list.ownerDocument.activeElement));
  await page.getByRole('button', { name: '1 hour', pressed: false }).click();
  await page.getByRole('button', { name: '1 hour', pressed: true }).waitFor();
  // The handlers are loaded before the dialog opens, so the button can be pressed twice.
  const held: Route[] = [];
  await page.route('**/api/handlers', (route) => void held.push(route));
  for (let press = 0; press < 2; press++) await page.getByRole('button', { name: 'Replay all failed' }).click();
  await until('the handlers are requested', () => held.length > 0);
  await Promise.all(held.map((route) => route.continue()));
  await page.unroute('**/api/handlers');
  const dialog = page.getByRole('dialog');
  await dialog.locator('.facts', { hasText: /Handler\s*CRM\s*Since/ }).waitFor();
  assert.equal(held.length, 1, 'only one dialog opens');
  const neverSent = dialog.getByRole('checkbox', { name: 'Also send events that were never sent; 3 events to 1 handler in all' });
  await neverSent.waitFor();
  assert.equal(await neverSent.isChecked(), false);
  await dialog.getByText('1 event, 1 request to 1 handler', { exact: true }).waitFor();
  await dialog.getByRole('checkbox', { name: 'Dry run' }).uncheck();
  await dialog.getByRole('button', { name: 'Send 1 request to 1 handler' }).waitFor();
  await neverSent.check();
  const send = dialog.getByRole('button', { name: 'Send 3 requests to 1 handler' });
  await send.waitFor();
  await neverSent.uncheck();
  await dialog.getByRole('button', { name: 'Send 1 request to 1 handler' }).click();
  await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
  await until('only the failed delivery was sent again', async () => receiver.requests.length === 2);
  await page.getByText('done, 1 failed').waitFor();
  await server.put('/home/fails.txt', 'x');
  await page.getByRole('button', { name: 'Replay the one that failed' }).click();
  await dialog.getByRole('heading', { name: 'Replay the one that failed' }).waitFor();
  await dialog.getByRole('button', { name: 'Compare 1 request' }).waitFor();
  assert.equal(await dialog.getByLabel('Stop').isVisible(), false, 'one request has no failures in a row');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await console.post('/api/handlers/crm/pause', {}, asOperator);
  await server.put('/home/waits.txt', 'x');
  await page.goto(`${console.url}/#overview`);
  await page.locator('.problems a.warn', { hasText: '1 paused handler with waiting events' }).waitFor();
  await page.goto(`${console.url}/#deliveries?outcome=discarded`);
  await page.getByText('There are no such deliveries.').waitFor();
  await page.getByLabel('Select all that are shown').waitFor({ state: 'hidden' });
});

browserTest('a replay of one event goes first to the handlers that have not received it; other choices send it again', async (t) => {
  const [good, bad] = [await startReceiver(t), await startReceiver(t, { otherwise: { status: 500 } })];
  const handler = { type: 'http', target: '40017', fail_after_errors: 1 };
  const { server, console } = await startConsole(t, {
    event_handlers: { crm: { ...handler, name: 'CRM', url: good.url }, erp: { ...handler, name: 'ERP', url: bad.url } },
  });
  await server.put('/home/order.txt', 'x');
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  const uuid = async () => (await server.events()).find(({ id }) => Number(id) === eventIds.fileUploaded)?.uuid;
  await until('both handlers have their outcome', async () => {
    const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>();
    return deliveries.length === 2;
  });
  await signIn(page, console.url, `#events/${await uuid()}`);
  const deliveries = page.locator('.of-deliveries');
  await deliveries.locator('tbody tr').nth(1).waitFor();
  assert.equal(await deliveries.getByRole('columnheader', { name: 'Events' }).count(), 0, 'the page is about one event');
  const dialog = page.getByRole('dialog');
  const told = (text: string) => dialog.getByText(text, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Replay' }).click();
  await told('1 event, 1 request to 1 handler');
  await told('ERP is stopped; its requests will probably fail.');
  const choice = dialog.getByLabel('Handler');
  assert.equal(await choice.locator('option:checked').textContent(), 'Handlers that have not received it');
  await choice.selectOption('All handlers');
  await told('1 event, 2 requests to 2 handlers');
  await dialog.getByLabel('Stop').waitFor();
  await choice.selectOption({ index: 0 });
  await choice.selectOption('CRM');
  await dialog.getByText(/ERP is stopped/).waitFor({ state: 'hidden' });
  await choice.selectOption({ index: 0 });
  await told('1 event, 1 request to 1 handler');
  await dialog.getByLabel('Stop').waitFor({ state: 'hidden' });
  await dialog.getByRole('checkbox', { name: 'Dry run' }).uncheck();
  await dialog.getByRole('button', { name: 'Send 1 request to 1 handler' }).click();
  await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
  await until('the event was sent again', async () => bad.requests.length === 2);
  assert.equal(good.requests.length, 1, 'the handler that has the event does not receive it again');
});

browserTest('the head of a long list stays below the bar of the chosen rows, and both lines of a delivery begin at one edge', async (t) => {
  const { server, console } = await startConsole(t, {
    event_handlers: { crm: { type: 'http', target: '40017', url: 'http://127.0.0.1:9/', fail_after_errors: 0, retry_count: 0 } },
  });
  for (let number = 0; number < 30; number++) await server.put(`/home/${number}.txt`, 'a');
  const deliveries = async () => (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>().deliveries;
  await until('the deliveries failed', async () => (await deliveries()).length === 30);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#deliveries');
  const [box, head] = [page.locator('td.chooses input').nth(20), page.locator('.of-files thead')];
  for (const [width, above] of [
    [1280, 56],
    [768, 0],
  ] as const) {
    await page.setViewportSize({ width, height: 500 });
    await box.scrollIntoViewIfNeeded();
    assert.equal((await head.boundingBox())?.y, above, `at ${width} px`);
    await box.check();
    const [bar, stays] = await boxesOf(page.locator('.bulk'), head);
    assert.ok(bar && stays && bar.top === above && Math.abs(stays.top - bar.bottom) < 1.5, JSON.stringify({ width, bar, stays }));
    await box.uncheck();
  }
  await page.setViewportSize({ width: 640, height: 500 });
  const row = page.locator('.of-files tbody tr').first();
  const [outcome, kind] = await boxesOf(row.locator('.outcome'), row.locator('.kind'));
  assert.ok(outcome && kind && outcome.left === kind.left && kind.top > outcome.top, JSON.stringify({ outcome, kind }));
});
