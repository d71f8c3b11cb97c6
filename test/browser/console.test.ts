import assert from 'node:assert/strict';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, operatorPassword, signIn, startConsole } from '../support/console.ts';
import { answerHostile, views } from '../support/console-replies.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { HeldClients } from '../support/transfers.ts';

const counts = { requests: 0, failures: 0, received_bytes: 0, sent_bytes: 0, events: 0, deliveries: 0, failed_deliveries: 0 };
const noSample = { ...counts, connections: 0, memory_bytes: 0, waiting_events: 0 };

browserTest('an administrator signs in, sees the section that the URL names, and signs out; a wrong password is reported', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.goto(`${console.url}/#configuration`);
  await page.getByLabel('User name').fill('olga');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('The name or the password is not correct.').waitFor();
  await page.getByLabel('Password').fill(operatorPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Configuration', exact: true }).waitFor();
  assert.equal(await page.locator('#sections [aria-current]').textContent(), 'Configuration');
  await page.getByText('The server runs without a configuration file').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Reload' }).isVisible(), false, 'there is nothing to reload');
  await page.locator('[popovertarget=menu]').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('User name').waitFor();
  await page.locator('#sections').waitFor({ state: 'hidden' });
  assert.equal(await page.getByText('Your session has ended.').isVisible(), false);
});

browserTest('over a slow line, the button says that the login is under way, and the form disappears once it was accepted', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.goto(console.url);
  await page.locator('#username').fill('olga');
  const held: (() => void)[] = [];
  for (const path of ['/api/login', '/api/me']) {
    const released = new Promise<void>((resolve) => held.push(resolve));
    await page.route(`**${path}`, (route) => released.then(() => route.continue()));
  }
  await page.locator('#password').fill(operatorPassword);
  await page.locator('#password').press('Enter');
  await page.getByRole('button', { name: 'Signing in …', disabled: true }).waitFor();
  held[0]?.();
  await page.locator('#main').getByText('Loading …').waitFor();
  assert.equal(await page.locator('#password').count(), 0);
  held[1]?.();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

browserTest('an error message disappears when another section is opened; when the session has ended, the login says so', async (t) => {
  const { console } = await startConsole(t, { event_handlers: { crm: { type: 'http', url: 'http://127.0.0.1:9/', target: '40017' } } });
  const page = await openBrowser(t, { expectedErrors: /40[01]/ });
  await signIn(page, console.url, '#handlers');
  const refusal = { status: 400, json: { errors: [{ code: 'bad-request', message: 'Not now.' }] } };
  await page.route('**/api/handlers/crm/pause', (route) => route.fulfill(refusal));
  const pause = page.getByRole('button', { name: 'Pause' });
  const message = page.locator('#notices .notice');
  await pause.click();
  await message.getByText('Not now.').waitFor();
  await page.locator('#sections').getByText('Configuration').click();
  await page.getByText('The server runs without a configuration file').waitFor();
  assert.equal(await message.count(), 0);
  let reads = 0;
  page.on('response', (reply) => {
    if (reply.url().endsWith('/api/overview')) reads++;
  });
  await page.locator('#sections').getByText('Handlers').click();
  await page.unroute('**/api/handlers/crm/pause');
  await pause.waitFor();
  await until('the numbers in the frame are read', () => reads === 2);
  await page.context().clearCookies();
  await pause.click();
  await page.getByText('Your session has ended.').waitFor();
  assert.equal(await message.count(), 0, 'only the login says why the action failed');
});

browserTest('no section offers a viewer a control that changes something; an operator gets such controls', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await answerHostile(page);
  const controls = async (hash: string, heading: string) => {
    await page.goto(`${console.url}/${hash}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('main .panel').last().waitFor();
    await page.getByText('Loading').first().waitFor({ state: 'detached' });
    const closed = page.locator('main details:not([open]) > summary');
    while ((await closed.count()) > 0) await closed.first().click();
    return page.locator('main').locator('button:visible, input[type=checkbox]:visible').allTextContents();
  };
  await signIn(page, console.url, '', 'viewer');
  const changes: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') changes.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  const found = new Map<string, string[]>();
  for (const [hash, heading] of views) {
    const shown = (await controls(hash, heading)).map((words) => (hash.startsWith('#accounts') ? words.replace(/ \d*$/, '') : words));
    // The button for further items changes nothing, and comes with the items.
    const withoutMore = shown.filter((words) => words !== 'Show more');
    found.set(hash, withoutMore);
    for (const button of await page.locator('main button:visible').all()) await button.click();
    assert.equal(await page.getByRole('dialog').count(), 0, hash);
  }
  const tables = ['Sessions', 'Bans', 'Locks', 'Unfinished uploads', 'Trash', 'Access tokens', 'Links'];
  const presets = ['1 hour', '24 hours', '7 days', '30 days', 'All'];
  const expected = new Map(views.map(([hash]) => [hash, [] as string[]]));
  expected
    .set('#events', ['Pause', 'Search', ...presets, ''])
    .set('#deliveries', [...presets, 'Search'])
    .set('#deliveries/d-1', ['Copy as cURL'])
    .set('#configuration', ['Refresh', ''])
    .set('#accounts', ['Search', 'Accounts', ...tables])
    .set('#accounts/anna', tables)
    .set('#held', ['Refresh', ''])
    .set('#expectations', ['Refresh', ''])
    .set('#expectations/orders', ['Refresh']);
  assert.deepEqual(found, expected);
  assert.deepEqual(changes, []);
  await page.context().clearCookies();
  await page.goto('about:blank');
  await signIn(page, console.url);
  assert.ok((await controls('#handlers', 'Handlers')).includes('Send a test event'));
  assert.ok((await controls('#accounts', 'Accounts')).includes('What may an account do?'));
});

browserTest('the overview shows a running upload with its progress until it ends', async (t) => {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '', 'viewer');
  const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Transfers under way' }) });
  await panel.getByText('Nothing is being transferred.').waitFor();
  const clients = new HeldClients(t, server.port);
  const upload = await clients.send('PUT', '/home/report.pdf', { 'content-length': 4000 });
  upload.write(Buffer.alloc(1000));
  const row = panel.getByRole('row').filter({ hasText: '/report.pdf' });
  await row.waitFor();
  await row.filter({ hasText: /alice.*upload.*\/s/s }).waitFor();
  // The row can be there before the first bytes have arrived.
  await row.locator('progress[value="1000"][max="4000"]').waitFor();
  upload.write(Buffer.alloc(3000));
  await row.waitFor({ state: 'detached' });
});

browserTest('problems are shown on top of the overview, each with a link; without problems, it says that all is well', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const to = (path: string, more: object) => ({ type: 'http', url: `${receiver.url}/${path}`, target: '40017', ...more });
  const event_handlers = { crm: to('crm', { fail_after_errors: 1 }), books: to('books', { fail_after_errors: 0 }) };
  const { server, console } = await startConsole(t, { event_handlers });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url);
  const strip = page.locator('.problems');
  const fine = page.getByText('All is well.');
  await fine.waitFor();
  assert.equal(await strip.isVisible(), false);
  await server.put('/home/a.txt', 'x');
  await receiver.received(2);
  await strip.getByRole('link', { name: '1 handler stopped' }).waitFor();
  assert.equal(await fine.isVisible(), false);
  await page.locator('main tr', { hasText: 'books' }).getByText('failing, 1 of 1 in 1 h').waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const [what, count] of [
    ['.chart', 6],
    ['.panel:has(h2:text-is("Services")) tbody tr:first-child', 1],
  ] as const) {
    const boxes = await page.locator(what).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.equal(boxes.length, count);
    assert.ok(
      boxes.every(({ top, bottom }) => top > 0 && bottom <= 800),
      `all of ${what} is in sight without scrolling`,
    );
  }
  assert.deepEqual(await strip.getByRole('link').allInnerTexts(), ['1 handler stopped', '1 handler failing']);
  await strip.getByRole('link', { name: '1 handler failing' }).click();
  const card = page.locator('.handler', { hasText: 'books' });
  await card.getByText('failing, 1 of 1 in 1 h').waitFor();
  await card.getByText(/Last error .*500/).waitFor();
});

browserTest('a queued replay can be cancelled on its page', async (t) => {
  const receiver = await startReceiver(t, { script: [{}], otherwise: { isHeld: true } });
  const { server, console } = await startConsole(t, { event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url } } });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await server.put('/home/a.txt', 'x');
  const deliveries = async () =>
    (await console.get('/api/deliveries', asOperator)).json<{ deliveries: { id: string }[] }>().deliveries.map(({ id }) => id);
  await until('the event is delivered', async () => (await deliveries()).length === 1);
  const body = { deliveries: await deliveries() };
  const begin = async () => (await console.post('/api/replays', body, asOperator)).json<{ id: string }>().id;
  const ids = [await begin(), await begin(), await begin()];
  await signIn(page, console.url, `#deliveries/replays/${ids[2]}`);
  await page.getByText('waiting', { exact: true }).waitFor();
  assert.equal(await page.getByRole('progressbar').getAttribute('value'), null, 'nothing is done yet');
  await page.getByRole('button', { name: 'Cancel the replay' }).click();
  await page.getByText('cancelled', { exact: true }).waitFor();
});

browserTest(
  'if the page cannot reload the list of sessions after a session was ended, it says so; other sections can be opened',
  async (t) => {
    const { server, console } = await startConsole(t);
    for (let count = 0; count < 2; count++) await server.login();
    const page = await openBrowser(t, { expectedErrors: /401|ERR_FAILED/ });
    await signIn(page, console.url, '#accounts');
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Sessions', exact: true }) });
    const end = async () => {
      const asked = page.waitForRequest((request) => request.method() === 'GET' && request.url().includes('/api/sessions'));
      await panel.getByRole('button', { name: 'End', exact: true }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
      await asked;
    };
    const second = panel.getByRole('button', { name: 'End', exact: true }).nth(1);
    await second.waitFor();
    const isRead = ({ pathname }: URL) => pathname === '/api/sessions';
    await page.route(isRead, (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()));
    await end();
    await page.locator('.notice.error', { hasText: 'cannot be reached' }).waitFor();
    await page.unroute(isRead);
    await page.getByRole('button', { name: 'Search' }).click();
    await second.waitFor({ state: 'detached' });
    await page.route(isRead, (route) => (route.request().method() === 'GET' ? undefined : route.continue()));
    await end();
    await page.locator('#sections').getByText('Overview').click();
    await page.getByRole('heading', { name: 'Transfers under way' }).waitFor();
  },
);

browserTest('the last field of a search and the button stay side by side even with long labels', async (t) => {
  const { console } = await startConsole(t);
  for (const locale of ['de-DE', 'fr-FR']) {
    const page = await openBrowser(t, { expectedErrors: /401/, locale });
    await signIn(page, console.url, '#deliveries?outcome=failed&since=2001-01-01T00:00:00.000Z');
    const ending = page.locator('.filter .ending :is(input, select, button)');
    await ending.nth(1).waitFor();
    for (const width of [768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const bottoms = await ending.evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().bottom)));
      assert.equal(new Set(bottoms).size, 1, `${locale}, ${width} px`);
    }
  }
});

browserTest(
  'if its server is unreachable, the console says so, shows no content of another section, and later loads the chosen section',
  async (t) => {
    const { console } = await startConsole(t);
    const page = await openBrowser(t, { expectedErrors: /401|500|ERR_INTERNET_DISCONNECTED|Failed to (load|fetch)/ });
    await signIn(page, console.url, '#accounts');
    await page.getByRole('heading', { level: 2, name: 'Accounts' }).waitFor();
    await page.locator('#sections').getByText('Handlers').click();
    await page.getByText('The configuration has no event handler').waitFor();
    await page.context().setOffline(true);
    const link = page.locator('#sections').getByText('Configuration');
    const lost = page.getByRole('alert').filter({ hasText: 'The console keeps trying.' });
    for (let time = 0; time < 2; time++) {
      await link.click();
      await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
      await lost.waitFor();
      await page.getByText('could not be loaded').waitFor({ state: 'hidden' });
      assert.equal(await page.locator('main h1').allTextContents().then(String), 'Configuration');
    }
    await page.locator('#sections').getByText('Accounts').click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await page.locator('main > .notice').waitFor({ state: 'detached', timeout: 500 });
    await page.locator('main .panel').getByText('Not loaded.').nth(7).waitFor();
    assert.equal(await page.locator('main').getByText('cannot be reached').count(), 0, 'only the line at the top says so');
    await link.click();
    await page.locator('main').getByText('Not loaded.').waitFor();
    assert.equal(await page.getByText('Loading …').count(), 0, 'the page does not claim that it is loading');
    const opacity = await page.evaluate('getComputedStyle(document.querySelector("main")).opacity');
    assert.ok(Number(opacity) < 1, 'old content is dimmed');
    await page.evaluate("document.querySelector('main').style.minHeight = '300vh'; scrollTo(0, 1e6)");
    const [line, first] = await boxesOf(lost, page.locator('#sections a').first());
    assert.ok(line && first && line.bottom <= first.top, 'the message does not cover the links to the sections');
    await page.context().setOffline(false);
    await page.getByText('The server runs without a configuration file').waitFor();
    await lost.waitFor({ state: 'detached' });
    assert.match(page.url(), /#configuration$/);
    await page.route('**/api/**', (route) => route.fulfill({ status: 500, body: '' }));
    await page.locator('#sections').getByText('Accounts').click();
    await lost.getByText('The server answers with an error (500). The console keeps trying.').waitFor();
    assert.equal(await page.getByText('cannot be reached').count(), 0);
    await page.unroute('**/api/**');
    await lost.waitFor({ state: 'detached' });
  },
);

browserTest('charts continue after the clock of the server was set back', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const sample = (time: string, sessions: number) => ({ ...noSample, time, sessions });
  await page.route('**/api/samples', (route) =>
    route.fulfill({ json: { interval_seconds: 10, samples: [sample('2026-01-01T12:00:00.000Z', 1)] } }),
  );
  const later = JSON.stringify({ ...sample('2026-01-01T10:00:00.000Z', 77), requests: 10, failures: 30 });
  await page.route('**/api/live', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: `event: sample\ndata: ${later}\n\n` }),
  );
  await signIn(page, console.url);
  await page.locator('.chart .legend', { hasText: 'Sessions 77' }).waitFor();
  // Error events are counted apart from requests, so there can be more error events than requests.
  await page.locator('.chart .legend', { hasText: /all 1\/s\s*error events 3\/s/ }).waitFor();
});

browserTest('if live figures change, a row keeps its focus and selected text, even if rows above it come and go', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const handler = (name: string, waiting: number) => {
    const figures = { waiting_events: waiting, oldest_waiting_seconds: 0, rate_per_minute: 1 };
    const hour = { last_hour: [], is_failing: false, last_error: '', last_error_time: null };
    return {
      uuid: `uuid-${name}`,
      name,
      enabled: true,
      state: 'running',
      reason: '',
      reason_code: '',
      suspended_urls: [],
      urls: [],
      ...hour,
      ...figures,
    };
  };
  const overview = (handlers: unknown[]) => ({
    server: { name: 'demo', uuid: 'u', version: '1', started: '2026-01-01T12:00:00.000Z' },
    ...{ services: [], methods: [], inspections: [], errors: [], nodes: [], transfers: [], transfers_left_out: 0 },
    ...{ journal: { bytes: null, free_bytes: null }, handlers },
  });
  await page.route('**/api/overview', (route) =>
    route.fulfill({ json: overview([handler('first', 1), handler('second', 1), handler('third', 1)]) }),
  );
  await page.addInitScript('EventSource = class extends EventTarget { constructor() { super(); globalThis.source = this; } close() {} }');
  await signIn(page, console.url);
  const link = page.getByRole('link', { name: 'third' });
  await link.focus();
  await page.evaluate(`getSelection().selectAllChildren(document.querySelector('[data-key=uuid-third] .badge'))`);
  const message = JSON.stringify(overview([handler('newest', 1), handler('second', 1), handler('fourth', 1), handler('third', 42)]));
  await page.evaluate((data) => {
    const scope = globalThis as unknown as { source: EventTarget };
    scope.source.dispatchEvent(new MessageEvent('overview', { data }));
  }, message);
  await page.locator('[data-key=uuid-newest]').waitFor();
  assert.deepEqual(await page.locator('main [data-key^=uuid] a').allTextContents(), ['newest', 'second', 'fourth', 'third']);
  assert.match((await page.locator('[data-key=uuid-third]').textContent()) ?? '', /42/);
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'third');
  assert.equal(await page.evaluate('String(getSelection())'), 'running');
});
