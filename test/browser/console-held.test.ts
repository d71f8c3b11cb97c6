import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Route } from 'playwright-core';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import { asReviewer, signIn, startConsole } from '../support/console.ts';
import { refusalBody, startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';

browserTest('a reviewer sees, downloads, releases, discards and re-inspects held uploads; a viewer only reads', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { name: 'Content check', type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  await server.put('/home/good', 'fine');
  for (const name of ['good', 'wrong']) await server.put(`/home/${name}`, `odd ${name}`);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#held', 'reviewer');
  await page.locator('main .badge.live.good').waitFor();
  const row = (name: string) => page.locator('main tbody tr', { hasText: `/${name}` });
  const seen = await row('good').innerText();
  for (const part of ['alice', 'Somebody has to look.\nContent check holds', '8 bytes']) assert.ok(seen.includes(part), `${part}: ${seen}`);
  await page.setViewportSize({ width: 768, height: 800 });
  assert.equal(await page.evaluate("getComputedStyle(document.querySelector('th.actions')).transitionDuration"), '0s');
  const line = await row('good').locator('.row').boundingBox();
  assert.ok(line && line.height < 50, 'on a tablet, all actions of a card are in one line');
  assert.equal(await page.locator('main thead').isVisible(), false);
  await page.setViewportSize({ width: 1280, height: 800 });
  const since = row('good').locator('.held-path time');
  assert.match(await since.innerText(), /^\d+ seconds? ago$/);
  assert.match((await since.getAttribute('title')) ?? '', /\d:\d\d:\d\d/);
  const sha256 = createHash('sha256').update('odd good').digest('hex');
  assert.ok(seen.includes(`SHA-256 ${sha256.slice(0, 12)}…`), seen);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await row('good').getByRole('button', { name: 'Copy SHA-256' }).click();
  await page.getByText('The SHA-256 was copied.').waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), sha256);
  const download = page.waitForEvent('download');
  await row('good').getByRole('link', { name: 'Download' }).click();
  const saved = join(server.folder, 'saved');
  await (await download).saveAs(saved);
  assert.equal(readFileSync(saved, 'utf8'), 'odd good');
  await row('good').getByRole('button', { name: 'Release' }).click();
  const dialog = page.locator('dialog');
  await dialog.getByText(/^The file replaces the one of this name: 4 bytes, modified \d+ seconds? ago\.$/).waitFor();
  await dialog.getByRole('button', { name: 'Release and replace' }).click();
  const released = page.getByText('“good” was released.');
  await released.waitFor();
  await page.locator('#sections [data-section="overview"]').click();
  await released.waitFor({ state: 'detached' });
  await page.goBack();
  await until('the released file is visible', () => readFileSync(join(server.home, 'good'), 'utf8') === 'odd good');
  await row('wrong').getByRole('button', { name: 'Release' }).click();
  await dialog.getByText('The file becomes visible. No file of this name exists.').waitFor();
  await dialog.getByRole('button', { name: 'Release', exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await row('wrong').getByRole('button', { name: 'Discard' }).click();
  await page.getByLabel('Reason, for the events').fill('Not ours.');
  await page.locator('dialog').getByRole('button', { name: 'Discard' }).click();
  const none = page.getByText('No upload is held.');
  await none.waitFor();
  const [hint, told] = await boxesOf(page.locator('main .panel > .hint').first(), none);
  assert.ok(hint && told && told.top >= hint.bottom, 'the hint has its own line');
  assert.equal((await server.events()).find(({ id }) => id === '40074')?.data.details, 'Not ours.');
  await server.put('/home/third', 'odd');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await row('third').waitFor();
  inspector.decide = () => ({ status: 422, body: refusalBody });
  const held: Route[] = [];
  await page.route('**/api/held/inspect-again', (route) => void held.push(route));
  await row('third').getByRole('button', { name: 'Inspect again' }).click();
  await row('third').getByRole('button', { name: 'Inspect again', disabled: true }).waitFor();
  await until('the console is asked', () => held.length === 1);
  await held[0]?.continue();
  await until('the refused upload has ended', async () => (await server.eventIds()).filter((id) => id === 40074).length === 2);
  await page.getByText('“third” was inspected and refused. Not this file.').waitFor();
  await none.waitFor();
  await page.unroute('**/api/held/inspect-again');
  inspector.decide = () => ({ status: 202 });
  await server.put('/home/slow', 'wait');
  inspector.decide = undefined;
  await page.getByRole('button', { name: 'Refresh' }).click();
  for (const [status, told] of [
    [202, '“slow” was inspected, and is held again.'],
    [204, '“slow” was inspected and released.'],
  ] as const) {
    const asked = inspector.requests.length;
    await row('slow').getByRole('button', { name: 'Inspect again' }).click();
    await row('slow').getByText('being inspected').waitFor();
    await page.getByText('“slow” is being inspected again.').waitFor();
    await until('the inspection runs', () => inspector.requests.length > asked);
    inspector.answerWaiting(status);
    await page.getByText(told).waitFor();
    assert.equal(await page.getByText('“slow” is being inspected again.').count(), 0, 'the outcome replaces the first message');
    if (status === 202)
      await row('slow')
        .getByText(/Content check holds · \d+ seconds? ago/)
        .waitFor();
  }
  await none.waitFor();
  const viewer = await openBrowser(t, { expectedErrors: /401/ });
  inspector.decide = undefined;
  await server.put('/home/fourth', 'odd');
  await signIn(viewer, console.url, '#held', 'viewer');
  await viewer.locator('main tbody tr', { hasText: '/fourth' }).waitFor();
  assert.equal(await viewer.locator('main tbody a').count(), 0);
  const offered = await viewer.locator('main tbody button').evaluateAll((buttons) => buttons.map(({ ariaLabel }) => ariaLabel));
  assert.deepEqual(offered, ['Copy SHA-256']);
});

browserTest('a reviewer selects held uploads and decides about all of them at once; the question names their number', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  const names = ['a', 'b', 'c', 'd'];
  await server.put('/home/a', 'fine');
  for (const name of names) await server.put(`/home/${name}`, `odd ${name}`);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#held', 'reviewer');
  const rows = page.locator('main tbody tr');
  await rows.nth(3).waitFor();
  assert.deepEqual(
    (await rows.locator('bdi').allTextContents()).filter((text) => text.startsWith('/')),
    names.map((name) => `/${name}`),
    'what has waited longest comes first',
  );
  const bulk = page.locator('.bulk');
  assert.equal(await bulk.getByRole('button').first().isVisible(), false, 'without a selection, there are no buttons for it');
  await page.getByLabel('Select all that are shown').check();
  await page.getByLabel('Select /d').uncheck();
  const release = bulk.getByRole('button', { name: 'Release 3' });
  await release.waitFor();
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 260 });
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const { top, place } = await release.evaluate((button) => {
      const { left, top } = button.getBoundingClientRect();
      const found = button.ownerDocument.elementFromPoint(left + 5, top + 5);
      return { top: found?.closest('button')?.textContent ?? '', place: { left, top } };
    });
    assert.match(top, /Release 3/, `${width}: the button is visible at the end of the list: ${JSON.stringify(place)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByLabel('Select /c').uncheck();
  await bulk.getByRole('button', { name: 'Release 2' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Release 2 files?' }).waitFor();
  assert.deepEqual(await dialog.locator('.names').first().locator('li').allTextContents(), ['/a', '/b']);
  assert.match(await dialog.locator('.notice.warn').innerText(), /^One of them replaces a file:\s+\/a \(4 bytes, \d+ seconds? ago\)$/);
  const [gone] = (await console.get('/api/held', asReviewer))
    .json<{ items: { id: string; path: string }[] }>()
    .items.filter(({ path }) => path === '/b');
  await console.post('/api/held/discard', { ids: [gone?.id] }, asReviewer);
  await dialog.getByRole('button', { name: 'Release 2 and replace' }).click();
  await page.getByText('“a” was released.').waitFor();
  await page.getByText('“b” was already discarded by rita.').waitFor();
  await until('the released file is visible', () => readFileSync(join(server.home, 'a'), 'utf8') === 'odd a');
  await rows.nth(2).waitFor({ state: 'detached' });
  await bulk.getByRole('button').first().waitFor({ state: 'hidden' });

  await page.getByLabel('Select all that are shown').check();
  await bulk.getByRole('button', { name: 'Discard 2' }).click();
  await dialog.getByLabel('Reason, for the events').fill('Not ours.');
  await dialog.getByRole('button', { name: 'Discard 2' }).click();
  await page.getByText('2 files were discarded.').waitFor();
  await page.getByText('No upload is held.').waitFor();
  const reasons = (await server.events()).filter(({ id }) => id === '40074').map(({ data }) => data.details);
  assert.equal(reasons.filter((reason) => reason === 'Not ours.').length, 2);
});

browserTest('the list and the number in the navigation follow the decisions of others, and a late decision says who decided', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) await server.put(`/home/${name}`, `odd ${name}`);
  const { items } = (await console.get('/api/held', asReviewer)).json<{ items: { id: string; path: string }[] }>();
  const decide = (action: string, ...paths: string[]) =>
    console.post(`/api/held/${action}`, { ids: items.flatMap(({ id, path }) => (paths.includes(path) ? [id] : [])) }, asReviewer);
  const page = await openBrowser(t, { expectedErrors: /401|ERR_FAILED/ });
  await signIn(page, console.url, '#held?account=alice', 'operator');
  const row = (name: string) => page.locator('main tbody tr', { hasText: `/${name}` });
  const count = (number: string) => page.locator('#sections [data-section="held"] .count', { hasText: number }).waitFor();
  await row('e').waitFor();
  await page.getByLabel('Select /c').check();
  await row('d').getByRole('button', { name: 'Discard' }).click();
  await decide('release', '/a');
  await row('a').waitFor({ state: 'detached' });
  await count('4');
  assert.equal(await page.getByLabel('Select /c').isChecked(), true);
  await decide('discard', '/d');
  await row('d').waitFor({ state: 'detached' });
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await page.getByText('“d” was already discarded by rita.').waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('#sections [data-section="handlers"]').click();
  await page.getByText('The configuration has no event handler').waitFor();
  await server.put('/home/f', 'odd f');
  await count('4');
  await page.route('**/api/events/live*', (route) => route.abort());
  await page.locator('#sections [data-section="held"]').click();
  await row('e').waitFor();
  await decide('release', '/b', '/c');
  await row('b').getByRole('button', { name: 'Release' }).click();
  await page.getByText('“b” was already released by rita.').waitFor();
  await row('c').waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('dialog').count(), 0);
  await count('2');
});

browserTest('if several accounts have held uploads, the question names the account of each; buttons fit two lines on phones', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  for (const name of ['a', 'b']) await server.put(`/home/${name}`, `odd ${name}`);
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE', viewport: { width: 320, height: 800 } });
  await page.route(/\/api\/held$/, async (route) => {
    const reply = (await (await route.fetch()).json()) as { items: { path: string; account: string }[] };
    for (const item of reply.items) if (item.path === '/b') [item.path, item.account] = ['/a', 'bob'];
    await route.fulfill({ json: reply });
  });
  await signIn(page, console.url, '#held', 'reviewer');
  // A check box that is ticked before the list is loaded would be reset.
  await page.locator('main tbody tr').nth(1).waitFor();
  await page.getByLabel('Alle gezeigten auswählen').check();
  const tops = await page
    .locator('main tbody tr')
    .first()
    .locator('.actions .row > *')
    .evaluateAll((buttons) => buttons.map((button) => Math.round(button.getBoundingClientRect().top)));
  assert.equal(tops.length, 4);
  assert.equal(new Set(tops).size, 2, tops.join());
  await page.locator('.bulk').getByRole('button').first().click();
  await page.getByRole('dialog').locator('li').nth(1).waitFor();
  assert.deepEqual(await page.getByRole('dialog').locator('li').allTextContents(), ['alice: /a', 'bob: /a']);
  const french = await openBrowser(t, { expectedErrors: /401/, locale: 'fr-FR', viewport: { width: 375, height: 800 } });
  await signIn(french, console.url, '#held', 'reviewer');
  const [row, ...buttons] = await boxesOf(
    french.locator('main tbody tr').first(),
    ...['Libérer', 'Rejeter', 'Réinspecter', 'Télécharger'].map((name) => french.getByText(name, { exact: true }).first()),
  );
  for (const box of buttons) assert.ok(row && box && box.right <= row.right, JSON.stringify({ row, buttons }));
});

browserTest('the events of a refused file show the reason, and lead to the page of the account', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  await server.put('/home/virus.zip', 'bad');
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#events?id=40071');
  await page.getByRole('link', { name: 'The inspection "check" refused "/virus.zip". Not this file.' }).click();
  const reason = page.locator('.facts div', { hasText: /^Reason\s*Not this file\.$/ });
  await reason.waitFor();
  await page.getByRole('link', { name: 'The upload of "/virus.zip" failed: An inspection refused the file.' }).click();
  await page.getByRole('heading', { name: 'Event 40022: upload failed' }).waitFor();
  await reason.waitFor();
  await page.locator('.facts').getByRole('link', { name: 'alice' }).click();
  await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor();
});

browserTest('each section shows its title at once, and the same line until its data arrive, without an empty table', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url);
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/api\/(held|handlers|expectations|deliveries)/, async (route) => {
    await gate;
    await route.continue();
  });
  const titles = { held: 'Held uploads', handlers: 'Handlers', expectations: 'Due files', deliveries: 'Deliveries' };
  for (const [section, title] of Object.entries(titles)) {
    await page.locator(`#sections [data-section="${section}"]`).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    assert.equal(await page.locator('main').innerText(), `${title}\n\nLoading …`);
  }
  release();
  await page.locator('main .loading').waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor();
});

browserTest(
  'after an action by keyboard, the focus stays in the row; if the row is gone, it goes to the next row or the heading',
  async (t) => {
    const inspector = await startInspector(t);
    const { server, console } = await startConsole(t, {
      inspections: { check: { type: 'http', url: inspector.url } },
      group: { inspections: [['check']], trash: { days: 30 } },
      event_handlers: { hook: { type: 'http', url: inspector.url, target: '40092' } },
    });
    await server.send('MKCOL', '/home/in/');
    for (const name of ['a', 'b', 'c']) {
      await server.put(`/home/in/${name}`, `odd ${name}`);
      await server.put(`/home/${name}`, 'x');
      await server.send('DELETE', `/home/${name}`);
    }
    const page = await openBrowser(t, { expectedErrors: /401/ });
    await signIn(page, console.url, '#held', 'operator');
    const press = async (place: Locator, name: string) => {
      await place.getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    const rowOf = (path: string) => page.locator('main tbody tr', { has: page.getByText(path, { exact: true }) });
    const focused = (place: Locator, text: string) => place.locator(':focus', { hasText: text }).waitFor();
    const inspected = page.waitForResponse('**/api/held/inspect-again');
    await press(rowOf('/in/b'), 'Inspect again');
    await inspected;
    await focused(rowOf('/in/b'), 'Inspect again');
    for (const [path, next] of [
      ['/in/b', rowOf('/in/c')],
      ['/in/c', rowOf('/in/a')],
      ['/in/a', page.locator('main .panel h2')],
    ] as const) {
      await press(rowOf(path), 'Discard');
      await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).focus();
      await page.keyboard.press('Enter');
      await rowOf(path).waitFor({ state: 'detached' });
      await focused(page.locator('main'), path === '/in/a' ? 'review' : 'Discard');
      assert.ok(await next.evaluate((element) => element.contains(element.ownerDocument.activeElement)), path);
    }
    await page.goto(`${console.url}/#accounts/alice`);
    await press(rowOf('/b'), 'Restore');
    await focused(page.locator('main tbody tr').nth(1), 'Restore');
    await press(rowOf('/c'), 'Delete');
    await page.getByRole('button', { name: 'Delete for good' }).focus();
    await page.keyboard.press('Enter');
    await rowOf('/c').waitFor({ state: 'detached' });
    await focused(rowOf('/a'), 'Delete');
    await page.goto(`${console.url}/#handlers`);
    const handler = page.locator('.handler');
    await press(handler, 'Pause');
    await focused(handler, 'Resume');
    await page.keyboard.press('Enter');
    await focused(handler, 'Pause');
  },
);
