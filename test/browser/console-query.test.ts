import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';
import { startReceiver } from '../support/receiver.ts';

browserTest(
  'a search is typed into one bar: events are suggested by name, conditions are chips, and the URL contains all of them',
  async (t) => {
    const { server, console } = await startConsole(t);
    for (const path of ['/home/in/a.txt', '/home/b.txt']) {
      await server.put('/home/in/', '');
      await server.put(path, 'x');
    }
    const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
    await signIn(page, console.url, '#events');
    const bar = page.getByRole('combobox', { name: 'Search' });
    const rows = page.locator('main tbody tr');
    await rows.first().waitFor();
    await page.keyboard.press('/');
    await page.locator('#event-query:focus').waitFor();
    await page.keyboard.press('/');
    assert.equal(await bar.inputValue(), '/', 'in a field, the key is a character');
    await bar.fill('');
    await page.locator('main').getByRole('link', { name: 'Skip to the results' }).press('Enter');
    await page.locator('.panel:focus').waitFor();
    await page.keyboard.press('Tab');
    await rows.locator(':focus').waitFor();
    await bar.fill('event:delet');
    await page.getByRole('option', { name: 'file removed', exact: false }).first().waitFor();
    await rows.filter({ hasText: 'alice' }).first().waitFor();
    await bar.fill('ali');
    await page.getByRole('option', { name: 'account:alice' }).waitFor();
    await bar.fill('virus');
    await page.getByRole('option', { name: 'inspection failed' }).waitFor();
    await bar.fill('event:file up');
    await bar.fill('event:uploaded');
    await page.getByRole('option', { name: '40017' }).waitFor();
    await bar.press('ArrowDown');
    assert.match((await bar.getAttribute('aria-activedescendant')) ?? '', /^query-offer-/);
    await page.getByRole('option', { name: '40017' }).click();
    const chip = (words: string) => page.locator('.chip', { hasText: words });
    await chip('event:40017').waitFor();
    await bar.fill('path:/in/* status:succeeded account:alice');
    await bar.press('Enter');
    await chip('path:/in/*').waitFor();
    await rows.filter({ hasText: '/b.txt' }).first().waitFor({ state: 'detached' });
    await rows.filter({ hasText: '/in/a.txt' }).first().waitFor();
    assert.equal(await rows.filter({ hasText: '/b.txt' }).count(), 0);
    const url = new URL(page.url());
    assert.equal(decodeURIComponent(url.hash), '#events?id=40017&path=/in/&status=success&account=alice');
    await page.reload();
    await chip('account:alice').waitFor();
    await page.getByRole('button', { name: 'Remove path:/in/*' }).click();
    await rows.filter({ hasText: '/b.txt' }).first().waitFor();
    await bar.press('Backspace');
    assert.equal(await bar.inputValue(), 'account:alice', 'the last chip can be edited');
    await page.goBack();
    await chip('path:/in/*').waitFor();
  },
);

browserTest(
  'a click on a value adds it as a condition; a wrong condition is reported under the bar and disables Search and Replay',
  async (t) => {
    const { server, console } = await startConsole(t);
    await server.put('/home/a.txt', 'x');
    const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
    await signIn(page, console.url, '#events?id=40017');
    await page.locator('main tbody').getByRole('link', { name: 'alice' }).first().click();
    await page.locator('.chip', { hasText: 'account:alice' }).waitFor();
    await page.locator('.chip', { hasText: 'event:40017' }).waitFor();
    const bar = page.getByRole('combobox', { name: 'Search' });
    await bar.fill('acount:alice');
    await bar.press('Enter');
    await page.getByRole('alert').getByText('There is no key "acount"; did you mean account:?').waitFor();
    await bar.fill('user:alice');
    await bar.press('Enter');
    await page.getByRole('alert').getByText('There is no key "user"; the keys are event, account,').waitFor();
    assert.equal(await page.locator('.chip').count(), 2, 'nothing was searched');
    for (const words of ['"acount:alice"', 'https://example.com/a', 'failed: 12:30']) {
      await bar.fill(words);
      await bar.press('Enter');
      await page.locator('.chip', { hasText: 'text:' }).getByText(words.replaceAll('"', '')).waitFor();
      await page.goBack();
      await page.locator('.chip', { hasText: 'text:' }).waitFor({ state: 'detached' });
    }
    await bar.fill('event:99999');
    await bar.press('Enter');
    await page.getByRole('alert').getByText('There is no event "99999".').waitFor();
    assert.equal(await bar.getAttribute('aria-invalid'), 'true');
    assert.ok(await page.getByRole('button', { name: 'Search', exact: true }).isDisabled());
    await server.put('/home/b.txt', 'x');
    await page.locator('main tbody tr', { hasText: '/b.txt' }).waitFor();
    assert.ok(
      await page.getByRole('button', { name: 'Replay all that match' }).isDisabled(),
      'Replay stays disabled after another event has arrived',
    );
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${console.url}/#events?status=broken`);
    await page.getByRole('alert').getByText('There is no status "broken"').waitFor();
    await page.goto(`${console.url}/#events?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z`);
    await page.getByRole('alert').getByText('The end must be later than the beginning.').waitFor();
    assert.deepEqual(
      asked.filter((path) => path === '/api/events'),
      [],
    );
  },
);

browserTest('a time range is selected on the histogram; routine events are shown on demand; an incomplete count is marked', async (t) => {
  const receiver = await startReceiver(t);
  const { server, console } = await startConsole(t, { event_handlers: { crm: { type: 'http', url: receiver.url, target: '40017' } } });
  await server.put('/home/a.txt', 'x');
  await receiver.received(1);
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#events');
  const rows = page.locator('main tbody tr');
  await rows.filter({ hasText: 'file uploaded' }).first().waitFor();
  await page.getByText('Searched so far').waitFor({ state: 'detached' });
  assert.equal(await rows.filter({ hasText: '20189' }).count(), 0);
  await page.getByLabel('Show routine events').check();
  await rows.filter({ hasText: '20189' }).first().waitFor();
  const routine = await rows.filter({ hasText: '20189' }).first().innerText();
  assert.match(routine, /\bsystem\b/);
  assert.doesNotMatch(routine, /Process|0\.0\.0\.0/, 'events without a person name no technical account');
  await page.getByRole('button', { name: '1 hour' }).click();
  await page.waitForURL(/last=1h/);
  await page.getByRole('button', { name: '1 hour', pressed: true }).waitFor();
  const plot = page.locator('.histogram .plot');
  // The table grows below the chart, so nothing moves the chart once both are there.
  await rows.filter({ hasText: 'file uploaded' }).first().waitFor();
  await plot.waitFor();
  const { x, y, width, height } = (await plot.boundingBox()) as { x: number; y: number; width: number; height: number };
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width - 2, y + height / 2);
  await page.mouse.up();
  await page.waitForURL(/since=.*until=/);
  const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1]);
  const minutes = (Date.parse(query.get('until') ?? '') - Date.parse(query.get('since') ?? '')) / 60_000;
  assert.ok(minutes > 25 && minutes < 35, `${minutes} minutes`);
  assert.equal(query.get('last'), null);
  await rows.filter({ hasText: 'file uploaded' }).first().waitFor();
  // If counting stopped at its limits, the page says that the count is incomplete.
  await page.route('**/api/events/histogram*', async (route) => {
    const found = (await (await route.fetch()).json()) as { since: string; until: string };
    const middle = new Date((Date.parse(found.since) + Date.parse(found.until)) / 2).toISOString();
    const counts = Array.from({ length: 60 }, (_, part) => ({ events: part === 59 ? 900 : part === 50 ? 9 : 0, failures: 0 }));
    await route.fulfill({ json: { ...found, counted_since: middle, counts } });
  });
  await page.getByRole('button', { name: '24 hours' }).click();
  await page.locator('.histogram .badge').getByText('partial').waitFor();
  assert.match(await page.locator('.histogram > p').innerText(), /Events before .* are not counted here/);
  assert.match(await page.locator('.histogram .told').innerText(), /^909 events, 0 failed · max\. 900$/);
  const tall = await page.locator('.histogram .first').evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
  assert.ok((tall[0] ?? 0) >= (tall[1] ?? 0) / 11, `a few events are visible beside many: ${tall}`);
  assert.equal(Math.round(Number(await page.locator('.histogram .uncounted').getAttribute('width'))), 300);
});

browserTest(
  'events have names in the language of the page; they are found by these names, with or without accents, and by English ones',
  async (t) => {
    const { server, console } = await startConsole(t);
    await server.put('/home/a.txt', 'x');
    const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/, locale: 'fr-FR' });
    await signIn(page, console.url, '#events');
    const rows = page.locator('main tbody tr');
    await rows.filter({ hasText: '40017' }).first().getByText('fichier envoyé', { exact: true }).waitFor();
    const bar = page.getByRole('combobox', { name: 'Recherche' });
    for (const words of ["Echec de l'env", 'upload fail']) {
      await bar.fill(`event:"${words}`);
      await page.getByRole('option', { name: '40022' }).getByText('échec de l’envoi').waitFor();
    }
    for (const name of ['Fichier envoyé', 'file-uploaded']) {
      await bar.fill(`event:"${name}"`);
      await bar.press('Enter');
      await page.locator('.chip', { hasText: 'event:40017' }).getByText('fichier envoyé').waitFor();
      await page.getByRole('button', { name: 'Effacer' }).click();
      await page.locator('.chip').waitFor({ state: 'detached' });
    }
  },
);
