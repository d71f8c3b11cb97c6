import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, signIn, startConsole } from '../support/console.ts';
import { watchedForDays } from '../support/expectations.ts';
import { cheapHash } from '../support/passwords.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';
import { trashOf } from '../support/trash.ts';

const panelOf = (page: Page, name: string) => page.locator('.panel', { has: page.getByRole('heading', { name, exact: true }) });

browserTest('accounts are paged and searched on the server; a name opens its account page, and Back returns to the list', async (t) => {
  const accountsFile = join(temporaryFolder(t), 'accounts.json');
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`user-${String(index).padStart(3, '0')}`, {}]));
  writeFileSync(accountsFile, JSON.stringify({ ...many, zoe: { enabled: false } }));
  const { server, console } = await startConsole(t, {
    authentications: { local: { type: 'application', accounts_file_path: accountsFile } },
  });
  await server.login('alice', undefined, { headers: { 'user-agent': 'Cyberduck/9 <b>' } });
  const page = await openBrowser(t, { expectedErrors: /401|404/ });
  await signIn(page, console.url, '#accounts');
  const list = panelOf(page, 'Accounts');
  await list.getByText('302 accounts.').waitFor();
  assert.equal(await list.locator('tbody tr').count(), 50);
  await list.getByRole('button', { name: 'Show more' }).click();
  await list.getByText('user-098').waitFor();
  await page.getByRole('searchbox').fill('ZO');
  await page.getByRole('button', { name: 'Search' }).click();
  await list.getByText('1 account.').waitFor();
  await list.getByText('switched off').waitFor();
  assert.match(page.url(), /#accounts\?search=ZO$/);
  await page.reload();
  await list.getByText('1 account.').waitFor();
  await page.getByRole('searchbox').fill('alice');
  await page.keyboard.press('Enter');
  await list.getByText('web: 1').waitFor();
  // One search covers all tables, and shows the number of matches in each.
  await page.locator('.leads .count:empty').waitFor({ state: 'detached' });
  await panelOf(page, 'Links').waitFor({ state: 'hidden' });
  assert.deepEqual(await page.locator('.leads button').allTextContents(), [
    'Accounts 1',
    'Sessions 1',
    ...['Bans', 'Locks', 'Unfinished uploads', 'Trash', 'Access tokens', 'Links'].map((name) => `${name} 0`),
  ]);
  await panelOf(page, 'Locks').waitFor({ state: 'hidden' });
  await list.getByRole('link', { name: 'alice' }).click();
  await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor();
  await page.locator('.leads').getByRole('button', { name: 'Locks 0', disabled: true }).waitFor();
  assert.equal(await panelOf(page, 'Locks').isVisible(), false, 'an account has no empty panels');
  await page.getByText('the configuration', { exact: true }).waitFor();
  const device = panelOf(page, 'Sessions').getByText('Cyberduck 9', { exact: true });
  assert.equal(await device.getAttribute('title'), 'Cyberduck/9 <b>');
  await page.goBack();
  await list.getByText('1 account.').waitFor();
  await page.goto(`${console.url}/#accounts/nobody`);
  await page.getByText('No account of this name is known.').waitFor();
  await page.locator('main').getByRole('link', { name: 'Overview' }).waitFor();
  await page.goto(`${console.url}/some/where?x=1#events`);
  await page.getByRole('heading', { level: 1, name: 'There is nothing here' }).waitFor();
  assert.equal(await page.locator('#sections [aria-current]').count(), 0, 'no section is marked');
  await page.goto(`${console.url}/#events?event=40017`);
  await page.locator('main').getByRole('link', { name: 'Events' }).waitFor();
  await page.getByText('This address does not exist').waitFor();
  await page.locator('main').getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/');
});

browserTest('a tried login shows the account in words; no column shrinks to single letters, and the page is not too wide', async (t) => {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#accounts');
  await page.getByRole('button', { name: 'Try a login' }).click();
  const form = page.locator('details[open] form');
  await form.getByLabel('User name').fill('alice');
  await form.getByLabel('Password').fill(testPassword);
  await form.getByRole('button').click();
  const result = page.locator('.answer .result');
  const home = result.locator('dd .code', { hasText: server.home });
  for (const isWhole of [false, true]) {
    if (isWhole) await result.locator('summary').click();
    for (const width of [320, 375, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      assert.ok(((await home.boundingBox())?.width ?? 0) > 80, `${width} px`);
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`);
    }
  }
  await result.getByText('"home_folder_path"').waitFor();
  // The account exists, so the result must not say that its name is unknown. There is one method, and so one result.
  await form.getByLabel('User name').fill('alice');
  await form.getByLabel('Password').fill('wrong-Word-1');
  await form.getByRole('button').click();
  await result.getByText('The name is known here, but the password is wrong.').waitFor();
  await result.getByText('name or password not accepted').waitFor();
  assert.equal(await page.locator('.answer .badge').count(), 1);
  await page.route('**/api/auth-test', async (route) => {
    const found = (await (await route.fetch()).json()) as { methods: object[] };
    const methods = found.methods.map((method) => ({ ...method, outcome: 'rejected', invalid: true }));
    await route.fulfill({ json: { ...found, outcome: 'rejected', methods } });
  });
  await form.getByLabel('Password').fill('wrong-Word-2');
  await form.getByRole('button').click();
  await result.getByText('no valid reply').waitFor();
  // Although the tool is open, the accounts found are in view after a search, also on a phone.
  for (const [width, height] of [
    [1280, 860],
    [375, 740],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.getByRole('searchbox').fill('alice');
    await page.keyboard.press('Enter');
    await page.locator('.leads').getByText('Accounts 1').waitFor();
    const row = await panelOf(page, 'Accounts').getByRole('link', { name: 'alice' }).boundingBox();
    assert.ok(row && row.y > 0 && row.y + row.height < height, `${width} px: ${row?.y}`);
    await page.getByRole('button', { name: 'What may an account do?' }).click();
    await page.getByLabel('Account', { exact: true }).and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: 'Try a login' }).click();
    await result.getByText('no valid reply').waitFor();
  }
});

browserTest(
  'the page of an account links to what other sections have of it, names groups, and tries a login of this account',
  async (t) => {
    const receiver = await startReceiver(t, { otherwise: { status: 500 } });
    const { server, console } = await startConsole(t, {
      groups: { partners: { name: 'Partners of ours', home_folder_path: temporaryFolder(t) } },
      accounts: { bob: { group: 'partners', password: await cheapHash(testPassword) } },
      expectations: {
        bills: { every: '1h', path: '/bills*', account: 'bob' },
        others: { every: '1h', path: '/others*', account: 'alice' },
      },
      event_handlers: { hook: { type: 'http', url: receiver.url, target: '40017', retry_count: 0, fail_after_errors: 0 } },
    });
    await watchedForDays(server, ['bills']);
    for (const user of ['alice', 'bob']) await server.put('/home/a.txt', 'x', { user: `${user}:${testPassword}` });
    await until('both deliveries failed', async () => {
      const { deliveries } = (await console.get('/api/deliveries?outcome=failed', asOperator)).json<{ deliveries: unknown[] }>();
      return deliveries.length === 2;
    });
    const page = await openBrowser(t, { expectedErrors: /401/ });
    await signIn(page, console.url, '#accounts/bob');
    const leads = page.locator('.leads');
    await leads.locator('a:not([href])', { hasText: 'Held uploads 0' }).waitFor();
    await leads.getByRole('link', { name: /^Due files \d+ × missing/ }).waitFor();
    await page.getByText('Partners of ours').and(page.getByTitle('partners')).waitFor();
    await page.getByRole('button', { name: 'What may it do?' }).click();
    const form = page.locator('details[open] form');
    assert.equal(await form.getByLabel('Account').inputValue(), 'bob');
    await page.getByRole('button', { name: 'Try a login' }).click();
    await form.getByLabel('Password').and(page.locator(':focus')).waitFor();
    assert.equal(await form.getByLabel('User name').inputValue(), 'bob');

    await leads.getByRole('link', { name: 'Failed deliveries, 24 h 1' }).click();
    const rows = page.locator('.of-deliveries tbody tr');
    await rows.first().waitFor();
    assert.deepEqual(await rows.locator('.event-account').allTextContents(), ['bob']);
    await page.getByRole('button', { name: 'Remove account:bob' }).click();
    await rows.nth(1).waitFor();
    assert.match(page.url(), /outcome=failed&last=24h$/, 'the other conditions stay');
    await page.goto(`${console.url}/#expectations?account=bob`);
    await page.locator('main').getByRole('link', { name: 'bills' }).first().waitFor();
    assert.equal(await page.locator('main').getByRole('link', { name: 'others' }).count(), 0);

    const viewer = await openBrowser(t, { expectedErrors: /401/ });
    await signIn(viewer, console.url, '#accounts/bob', 'viewer');
    await viewer.locator('.leads').getByRole('link', { name: 'Failed deliveries, 24 h 1' }).waitFor();
    assert.equal(await viewer.getByRole('button', { name: 'Try a login' }).count(), 0);
  },
);

browserTest('in the trash of an account, one item is restored, one deleted, and then all others deleted', async (t) => {
  const { server, console } = await startConsole(t, { group: { trash: { days: 30 } } });
  for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) {
    await server.put(`/home/${name}`, name);
    await server.send('DELETE', `/home/${name}`);
  }
  await server.put('/home/b.txt', 'taken');
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#accounts/alice');
  const trash = panelOf(page, 'Trash');
  const press = (path: string, name: string) =>
    trash.locator('tbody tr', { hasText: path }).getByRole('button', { name, exact: true }).click();
  const held: Route[] = [];
  await page.route('**/api/trash/restore', (route) => void held.push(route), { times: 1 });
  await press('/a.txt', 'Restore');
  const restoring = trash.locator('tbody tr', { hasText: '/a.txt' }).getByRole('button', { name: 'Restore', disabled: true });
  await restoring.waitFor();
  await until('the console is asked', () => held.length === 1);
  await held[0]?.continue();
  await page.getByText('Restored: /a.txt').waitFor();
  assert.equal((await server.get('/home/a.txt')).text, 'a.txt');
  await press('/b.txt', 'Restore');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Another item now has the path /b.txt.').waitFor();
  const other = dialog.getByLabel('Path');
  assert.equal(await other.inputValue(), '/b (2).txt');
  await other.fill('/a.txt');
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await dialog.getByText('The name is taken').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await press('/c.txt', 'Delete');
  await page.getByRole('dialog').getByText('Nobody can restore it any more.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('Deleted for good:').waitFor();
  // The question names the number of items in the list, which is loaded again after the message.
  await trash.locator('tbody tr', { hasText: '/c.txt' }).waitFor({ state: 'detached' });
  await trash.getByRole('button', { name: 'Empty the trash' }).click();
  await page.getByRole('dialog').getByText('The trash of alice').waitFor();
  await page.getByRole('button', { name: 'Delete 2 items for good' }).click();
  await trash.getByText('Nothing for this account.').waitFor();
  assert.equal(await trash.getByRole('button', { name: 'Empty the trash' }).isVisible(), false);
  assert.deepEqual(await trashOf(server), []);
});

browserTest('long collections show 50 items; a button shows 50 more; on phones, a deleted file is a card of three lines', async (t) => {
  const { server, console } = await startConsole(t, { group: { trash: { days: 30 } } });
  for (let number = 0; number < 104; number++) {
    await server.put(`/home/file-${number}.txt`, 'x');
    await server.send('DELETE', `/home/file-${number}.txt`);
  }
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#accounts');
  const trash = panelOf(page, 'Trash');
  const rows = trash.locator('tbody tr');
  await trash.getByText('50 of 104 are shown.').waitFor();
  assert.equal(await rows.count(), 50);
  await trash.getByRole('button', { name: 'Show more' }).click();
  await trash.getByText('100 of 104 are shown.').waitFor();
  await rows.nth(50).locator(':focus').waitFor();
  // Tokens and links follow, so scrolling to them must not load the rest.
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await rows.nth(99).getByRole('button', { name: 'Restore' }).click();
  await trash.getByText('100 of 103 are shown.').waitFor();
  await trash.getByRole('button', { name: 'Show more' }).click();
  await rows.nth(102).waitFor();
  await trash.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });

  await page.setViewportSize({ width: 375, height: 800 });
  const edges = await rows.first().evaluate((row) => {
    const shown = [...row.querySelectorAll('td')].filter((cell) => cell.checkVisibility());
    return {
      lines: shown.map((cell) => Math.round(cell.getBoundingClientRect().bottom)),
      left: shown[0]?.getBoundingClientRect().left ?? 0,
      icon: row.querySelector('button svg')?.getBoundingClientRect().left ?? 0,
    };
  });
  assert.equal(edges.lines.length, 5, 'path, account, size, time and buttons');
  const second = edges.lines.slice(1, 4);
  assert.ok(Math.max(...second) - Math.min(...second) < 8, `account, size and time share a line: ${JSON.stringify(edges)}`);
  assert.ok(Math.abs(edges.icon - edges.left) < 6, `the buttons begin where the text begins: ${JSON.stringify(edges)}`);
});

browserTest('a lock has one line on tablets; all sections are in view there, and in a menu on phones', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE', viewport: { width: 768, height: 800 } });
  const longPath = `/srv/files/alice/${'quarterly-reports/'.repeat(4)}budget.xlsx`;
  const lock = {
    id: 'urn:1',
    path: longPath,
    account: `${'subsidiary.'.repeat(6)}example.com`,
    address: '192.0.2.155',
    owner: 'Anna Weber, Accounting',
  };
  await page.route(/\/api\/locks\?/, (route) =>
    route.fulfill({ json: { items: [{ ...lock, expires: new Date(Date.now() + 86_400_000 * 3).toISOString() }], total: 1 } }),
  );
  await signIn(page, console.url, '#accounts');
  const row = panelOf(page, 'Dateisperren').locator('tbody tr');
  await row.waitFor();
  for (const width of [768, 1024]) {
    await page.setViewportSize({ width, height: 800 });
    const heights = await row.locator('.unbroken bdi').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    assert.equal(heights.length, 2);
    assert.ok(Math.max(...heights) < 30, `${width}: ${heights}`);
    const table = panelOf(page, 'Dateisperren').locator('.table');
    assert.ok(await table.evaluate((element) => element.scrollWidth <= element.clientWidth), `${width}: no column is cut`);
  }
  const links = page.locator('#sections a');
  await page.setViewportSize({ width: 706, height: 800 });
  const isInView = await links.last().evaluate((link) => link.getBoundingClientRect().right <= 706);
  assert.ok(isInView, 'all sections are in view on a tablet');
  await page.route(/\/api\/overview$/, async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, json: { ...(await reply.json()), held_uploads: 3, missing_files: 2 } });
  });
  await page.setViewportSize({ width: 320, height: 800 });
  await page.reload();
  const opener = page.getByRole('button', { name: 'Konten 5 Fälle brauchen Aufmerksamkeit' });
  await opener.waitFor();
  const dot = await page.locator('#needs').boundingBox();
  assert.ok(dot && dot.width < 10, 'a dot, because a number would seem to count accounts');
  assert.equal(await links.first().isVisible(), false);
  await opener.press('ArrowDown');
  assert.equal(await focused(page), 'Übersicht');
  await page.keyboard.press('End');
  assert.equal(await focused(page), 'Konfiguration');
  const boxes = await links.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.equal(boxes.length, 8);
  for (const { left, right, height } of boxes) assert.ok(left >= 0 && right <= 320 && height >= 44, 'each section is in view');
  assert.deepEqual(await page.locator('#sections .count').allTextContents(), ['3', '2']);
  await page.keyboard.press('Escape');
  assert.match(await focused(page), /^Konten/);
  await opener.click();
  await links.getByText('Ereignisse').click();
  await links.first().waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  await page.getByRole('button', { name: 'Ereignisse 5 Fälle brauchen Aufmerksamkeit' }).click();
  await page.goBack();
  await links.first().waitFor({ state: 'hidden' });
  await opener.waitFor();
});

browserTest('a ban shows when it began and how many logins failed; this number is a link to their events', async (t) => {
  const { server, console } = await startConsole(t, { server: { security_policy: { ban_after_failures: 3 } } });
  for (let number = 0; number < 3; number++) await server.get('/home/', { user: `alice:wrong-${number}` });
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  await signIn(page, console.url, '#accounts');
  assert.match(await panelOf(page, 'Bans').locator('tbody tr').innerText(), /\t\d+ seconds? ago\t\d/);
  await panelOf(page, 'Bans').getByRole('link', { name: '3 failed logins from this address' }).click();
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
  assert.equal(decodeURIComponent(new URL(page.url()).hash), '#events?address=127.0.0.1&status=failure');
  await page.locator('main tbody tr', { hasText: 'credentials not accepted' }).first().waitFor();
});

browserTest('if the reply to an earlier search of the accounts arrives last, the tables still show the later search', async (t) => {
  const { server, console } = await startConsole(t);
  await server.login();
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const held: Route[] = [];
  const isHeld = ({ pathname, searchParams }: URL) => /^\/api\/(sessions|accounts)$/.test(pathname) && !searchParams.has('search');
  await page.route(isHeld, (route) => void held.push(route));
  await signIn(page, console.url, '#accounts');
  await until('both tables are requested', () => held.length === 2);
  await page.getByRole('searchbox').fill('nobody');
  await page.keyboard.press('Enter');
  // One line says so, in place of all tables.
  const none = page.locator('main .panel:visible', { hasText: 'Nothing matches “nobody”.' });
  await none.waitFor();
  assert.equal(await page.locator('main > .panel:visible').count(), 1);
  for (const route of held) {
    const replied = page.waitForResponse((reply) => reply.request() === route.request());
    await route.continue();
    await (await replied).finished();
  }
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
  assert.deepEqual(await page.locator('.leads button').nth(0).textContent(), 'Accounts 0');
  assert.deepEqual(await page.locator('.leads button').nth(1).textContent(), 'Sessions 0');
  assert.ok(await none.isVisible());
  await page.getByRole('searchbox').fill('');
  await page.keyboard.press('Enter');
  await panelOf(page, 'Links').waitFor();
  assert.equal(await none.count(), 0);
});

function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent');
}
