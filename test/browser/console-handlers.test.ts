import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, signIn, startConsole } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';

browserTest('a handler that is started and stops again at once is reported in one message, with the reason', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500, reason: 'Still broken' } });
  const { server, console } = await startConsole(t, {
    event_handlers: { hook: { type: 'http', name: 'archive', url: receiver.url, target: '40017', fail_after_errors: 1 } },
  });
  for (const name of ['a', 'b']) await server.put(`/home/${name}`, name);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#handlers');
  const handler = page.locator('.handler');
  await handler.getByText('stopped', { exact: true }).waitFor();
  const told: string[] = [];
  await page.exposeFunction('told', (text: string) => told.push(text));
  await page.evaluate(`new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (/archive/.test(node.textContent)) told(node.textContent);
  }).observe(document.getElementById('notices'), { childList: true })`);
  await handler.getByRole('button', { name: 'Start' }).click();
  await page.getByText(/archive was started, but has stopped again: 500 Still broken/).waitFor();
  // The page reports messages in their order, so all earlier ones have been reported before this one.
  await until('the message is reported', () => told.some((text) => text.includes('has stopped again')));
  const focused = handler.locator('button:focus');
  await until('the focus is on the new button', async () => (await focused.allInnerTexts()).join() === 'Start');
  assert.equal(await page.getByText('archive was started.').count(), 0);
  assert.equal(told.filter((text) => text.includes('was started.')).length, 0);

  await page.goto(`${console.url}/#overview`);
  const incident = page.locator('.errors tbody tr', { hasText: 'archive' });
  await incident.getByText('component stopped').waitFor();
  await incident.getByText('The delivery of event 40017 by "archive" failed: 500 Still broken').waitFor();
  assert.equal(await incident.count(), 1, 'a stop, its cause and the failed deliveries are one row');
  assert.equal(await incident.locator('.number a').innerText(), '2');
  assert.deepEqual((await page.locator('.panel > h2').allInnerTexts()).slice(0, 2), ['Last errors', 'Services']);
  await incident.locator('.number a').click();
  await page.locator('.listed tbody tr .row-link').nth(1).waitFor();
  assert.equal(await page.locator('.listed tbody tr .row-link').count(), 2, 'the number leads to the failed deliveries');
});

browserTest('the number of errors with one cause leads to exactly these events', async (t) => {
  const otherwise = { status: 500, reason: 'Still broken' };
  const receiver = await startReceiver(t, { script: [{ status: 503, reason: 'Updating' }], otherwise });
  const hook = { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 0, retry_count: 0 };
  const { server, console } = await startConsole(t, { event_handlers: { crm: hook, erp: { ...hook, url: 'http://127.0.0.1:9/' } } });
  const failures = async () => (await console.get('/api/events?id=20174', asOperator)).json<{ events: unknown[] }>().events.length;
  for (let file = 1; file <= 3; file++) {
    await server.put(`/home/${file}`, 'x');
    await until('both deliveries failed', async () => (await failures()) === 2 * file);
  }
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#overview');
  for (const [reason, count] of [
    ['500 Still broken', 2],
    ['the connection was refused', 3],
  ] as const) {
    const number = page.locator('.errors tbody tr', { hasText: reason }).locator('.number a');
    await number.getByText(String(count), { exact: true }).click();
    await page.locator('.listed tbody tr', { hasText: reason }).first().waitFor();
    assert.equal(await page.locator('.listed tbody tr .row-link').count(), count);
    await page.goBack();
  }
});

browserTest('in a low window three messages are whole and can be closed; a good one goes when the next action starts', async (t) => {
  const hook = { type: 'http', url: 'http://127.0.0.1:9/', target: '40017' };
  const { console } = await startConsole(t, { event_handlers: { a: hook, b: hook, c: hook, d: hook } });
  const page = await openBrowser(t, { expectedErrors: /401/, viewport: { width: 1280, height: 600 } });
  const answer = { outcome: 'failed', details: '503 The endpoint is being updated. '.repeat(4), attempts: 1, event_uuid: '' };
  await page.route('**/api/handlers/*/test', (route) =>
    route.fulfill({ json: route.request().url().includes('/a/') ? { ...answer, outcome: 'delivered' } : answer }),
  );
  await signIn(page, console.url, '#handlers');
  const messages = page.locator('#notices .notice');
  for (const index of [1, 0, 2, 3]) {
    await page.locator('.handler').nth(index).getByRole('button', { name: 'Send a test event' }).click();
    await messages.nth(index === 3 ? 2 : index === 1 ? 0 : 1).waitFor();
  }
  await messages.getByText('did not reach d').waitFor();
  assert.deepEqual(await messages.evaluateAll((all) => all.map((one) => one.className)), Array(3).fill('notice error'));
  for (const box of await boxesOf(messages.nth(0), messages.nth(1), messages.nth(2)))
    assert.ok(box.top >= 56 && box.bottom <= 600 && box.height > 60, JSON.stringify(box));
  for (let left = 3; left > 0; left--) {
    await messages.first().getByRole('button', { name: 'Close' }).click();
    assert.equal(await messages.count(), left - 1);
  }
});

browserTest('the request of a delivery is copied as a curl command with masked secrets and quoted arguments', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const secret = 'marker-C0pied-8zQ';
  const { server, console } = await startConsole(t, {
    event_handlers: {
      hook: { type: 'http', url: receiver.url, target: '40017', username: 'hook', password: secret, headers: { 'X-Api-Key': secret } },
    },
  });
  await server.put("/home/it's.txt", 'x');
  await until('the delivery is recorded', async () => {
    const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>();
    return deliveries.length > 0;
  });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn(page, console.url, '#deliveries');
  await page.locator('main tbody .row-link').first().click();
  await page.getByRole('button', { name: 'Copy as cURL' }).click();
  await page.getByText('Copied. Secrets are masked').waitFor();
  const titles = await page.locator('main .panel > h2').allInnerTexts();
  assert.deepEqual(titles, ['Summary', 'Reply', 'Events', 'Attempts', 'Request'], 'the reply comes before the request');
  const command = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.match(command, /^curl -X 'POST' 'http:\/\/127\.0\.0\.1:\d+\/hook'/);
  assert.match(command, /-H 'authorization: (?:Basic )?\*\*\*'/i);
  assert.match(command, /-H 'x-api-key: \*\*\*'/i);
  assert.match(command, /--data-raw '.*it'\\''s\.txt.*'$/s);
  assert.equal(command.includes(secret) || command.includes(btoa(`hook:${secret}`)), false);
  await page.route('**/api/deliveries/*', async (route) => {
    const found = (await (await route.fetch()).json()) as object;
    await route.fulfill({ json: { ...found, attempts: [], details: 'all URLs are suspended' } });
  });
  await page.reload();
  await page.getByText('No request was sent.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Copy as cURL' }).count(), 0, 'there is no request to copy');
});

browserTest('the event of a failed delivery links to the delivery, its event and the handler; Replay repeats that delivery', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const { server, console } = await startConsole(t, {
    event_handlers: { hook: { type: 'http', name: 'archive', url: receiver.url, target: '40017', retry_count: 0 } },
  });
  for (const name of ['a', 'b']) await server.put(`/home/${name}.txt`, 'x');
  type Failure = { uuid: string; data: { event_uuid: string } };
  const failures = async () => (await console.get('/api/events?id=20174', asOperator)).json<{ events: Failure[] }>().events;
  await until('both failures are reported', async () => (await failures()).length === 2);
  const event = (await failures())[1] as Failure;
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, `#events/${event.uuid}`);
  const fact = (name: string) => page.locator('.facts > div', { has: page.getByText(name, { exact: true }) }).getByRole('link');
  assert.equal(await fact('Event of this delivery').getAttribute('href'), `#events/${event.data.event_uuid}`);
  assert.equal(await fact('Handler').getAttribute('href'), '#handlers?show=hook');
  assert.equal(await page.getByText('Component', { exact: true }).count(), 0, 'the handler is the component');
  const asked = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/replays'));
  await page.getByRole('button', { name: 'Replay' }).click();
  const { deliveries } = (await asked).postDataJSON() as { deliveries: string[] };
  await page.getByRole('button', { name: 'Cancel' }).click();
  await fact('Delivery').click();
  await page.getByRole('heading', { name: 'Delivery to archive' }).waitFor();
  assert.deepEqual(deliveries, [decodeURIComponent(page.url().split('#deliveries/')[1] ?? '')]);
  await page.getByRole('link', { name: event.data.event_uuid }).waitFor();
});

browserTest(
  'the list of deliveries names file and account; its filters distinguish requests of the service from those that people repeated',
  async (t) => {
    const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }] });
    const hook = { type: 'http', name: 'archive', url: receiver.url, target: '40017', retry_count: 0, fail_after_errors: 2 };
    const { server, console } = await startConsole(t, { event_handlers: { hook } });
    mkdirSync(join(server.home, 'in'));
    for (const name of ['orders.csv', 'invoices.csv']) await server.put(`/home/in/${name}`, 'x');
    await until('both deliveries are recorded', async () => {
      const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>();
      return deliveries.length === 2;
    });
    const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
    await signIn(page, console.url, '#overview');
    await page.locator('main').getByRole('link', { name: 'archive', exact: true }).click();
    await page.locator('.handler:focus', { hasText: '2 Zustellungen in Folge sind fehlgeschlagen.' }).waitFor();
    await page.goto(`${console.url}/#deliveries`);
    const rows = page.locator('main .of-deliveries tbody tr');
    const older = rows.filter({ hasText: 'orders.csv' });
    assert.match(await older.innerText(), /orders\.csv\s+\/in\/\s+alice\s+archive/);
    assert.equal(await older.locator('[title="/in/orders.csv"]').count(), 1);
    // A period of the filter also limits what *Replay all failed* sends.
    await page.goto(`${console.url}/#deliveries?until=2001-01-01T00:00:00.000Z`);
    await page.getByText('Keine passenden Zustellungen.').waitFor();
    await page.getByRole('button', { name: 'Alle fehlgeschlagenen erneut senden' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Es gibt nichts zu senden.').waitFor();
    await dialog.getByRole('button', { name: 'Abbrechen' }).click();
    await page.goto(`${console.url}/#deliveries`);
    await older.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Eine erneut senden' }).click();
    await dialog.getByRole('checkbox').uncheck();
    await dialog.getByRole('button', { name: '1 Anfrage an 1 Empfänger senden' }).click();
    await page.getByText('fertig').waitFor();
    // Without a filter there are three rows, so the list of the previous page has another number of rows.
    const chosen = async (label: string, count: number) => {
      await page.goto(`${console.url}/#deliveries`);
      await until('all deliveries are listed', async () => (await rows.count()) === 3);
      await page.getByLabel('Herkunft').selectOption({ label });
      await until('the chosen deliveries are listed', async () => (await rows.count()) === count);
      return (await rows.allInnerTexts()).map((row) => /\w+\.csv/.exec(row)?.[0]);
    };
    assert.deepEqual(await chosen('Von Hand', 1), ['orders.csv']);
    assert.deepEqual(await chosen('Vom Dienst', 2), ['invoices.csv', 'orders.csv']);
    await page.goto(`${console.url}/#deliveries`);
    await rows.nth(2).waitFor();
    await rows.first().locator('.row-link').click();
    await page.getByText('/in/orders.csv', { exact: true }).waitFor();
  },
);
