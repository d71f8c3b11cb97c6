import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, consoleService, signIn, startConsole, startConsoleProcess } from '../support/console.ts';
import { answerHostile } from '../support/console-replies.ts';
import { until } from '../support/receiver.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const panelOf = (page: Page, name: string) => page.locator('.panel', { has: page.getByRole('heading', { name, exact: true }) });

browserTest('the question whether to cancel an upload has buttons with different labels, and closes when the view changes', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await answerHostile(page);
  await signIn(page, console.url, '#accounts');
  await panelOf(page, 'Unfinished uploads').getByRole('button', { name: 'Cancel' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.deepEqual(await dialog.locator('button:visible').allTextContents(), ['Keep it', 'Cancel upload']);
  await page.evaluate(`location.hash = '#handlers'`);
  await page.getByRole('heading', { level: 1, name: 'Handlers' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
});

browserTest(
  'the configuration can be filtered and reduced to options of the file; changed secrets are reported; files with errors are not reloaded',
  async (t) => {
    const { console } = await startConsole(t);
    const page = await openBrowser(t, { expectedErrors: /401/ });
    await answerHostile(page);
    await signIn(page, console.url, '#configuration');
    await panelOf(page, 'What a reload would change').getByText('changed (masked)').waitFor();
    const running = panelOf(page, 'Running configuration');
    await running.getByLabel('Filter').fill('port');
    await running.locator('.config-section[open]').getByText('80', { exact: true }).waitFor();
    assert.deepEqual(await running.locator('summary').allTextContents(), ['services']);
    await running.getByText('The file sets none of these options.').waitFor();
    await running.getByLabel('Filter').fill('');
    assert.ok(await running.getByLabel('Only what I set').isChecked());
    assert.deepEqual(await running.locator('summary').allTextContents(), ['server']);
    await running.getByLabel('Only what I set').uncheck();
    await running.locator('summary', { hasText: 'services' }).waitFor();
    await running.getByLabel('Only what I set').check();
    assert.deepEqual(await running.locator('summary').allTextContents(), ['server']);
    const reload = page.getByRole('button', { name: 'Reload' });
    assert.ok(await reload.isEnabled());
    assert.match((await reload.getAttribute('class')) ?? '', /primary/, 'there is something to reload');
    await page.route('**/api/configuration/changes', (route) =>
      route.fulfill({ json: { would_reload: false, reason: 'The file has errors.', changes: [], findings: [] } }),
    );
    const finding = { code: 'x', file: 'a', line: 3, column: 1, path: 'services.web', message: 'm', hint: '' };
    const findings = (['warning', 'error', 'warning', 'error'] as const).map((severity) => ({ severity, ...finding }));
    await page.route('**/api/configuration/findings', (route) =>
      route.fulfill({ json: { valid: false, file: '/etc/svc.yaml', findings } }),
    );
    await page.reload();
    await page.getByText('A reload would be refused').waitFor();
    const severities = page.locator('article.result .badge');
    await severities.nth(3).waitFor();
    assert.deepEqual(await severities.allInnerTexts(), ['error', 'error', 'warning', 'warning'], 'errors come before warnings');
    assert.ok(await reload.isDisabled());
    assert.doesNotMatch((await reload.getAttribute('class')) ?? '', /primary/);
    const removed = { type: 'http', name: 'Warehouse', url: 'https://example.com/' };
    await page.route('**/api/configuration/changes', (route) =>
      route.fulfill({
        json: { would_reload: true, reason: null, changes: [{ path: 'event_handlers.wh', old: removed }], findings: [] },
      }),
    );
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('A reload would be refused').waitFor({ state: 'detached' });
    const change = panelOf(page, 'What a reload would change').locator('details');
    assert.equal(await change.locator('summary').innerText(), 'event_handlers.wh (Warehouse) removed');
    assert.equal(await change.getByText('https://example.com/').isVisible(), false);
    await change.locator('summary').click();
    await change.getByText('https://example.com/').waitFor();
    await reload.click();
    await page.getByRole('dialog').getByText('One option changes.').waitFor();
    await page.route('**/api/configuration/reload', (route) =>
      route.fulfill({ json: { changes: [], nodes: [], ended: { sessions: 0, connections: 0, transfers: 0 }, incomplete: '' } }),
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Reload' }).click();
    await page.locator('.notice.success').waitFor();
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.locator('.notice.success').waitFor({ state: 'detached', timeout: 3000 });
  },
);

browserTest('on a phone the account menu can be pressed; the filter of deliveries is collapsed, and refuses a wrong ID', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/, viewport: { width: 375, height: 700 } });
  await answerHostile(page);
  await signIn(page, console.url, '#deliveries');
  const opener = page.locator('[popovertarget=menu]');
  const { width, height } = (await opener.boundingBox()) ?? { width: 0, height: 0 };
  assert.ok(width > 40 && height >= 24, `${width} x ${height}`);
  await opener.getByText('olga').waitFor();
  await page.locator('.filter-box summary').waitFor();
  assert.equal(await page.getByLabel('Event ID').isVisible(), false);
  await page.locator('.filter-box summary').click();
  await page.getByLabel('Event ID').fill('forty');
  await page.getByText('An event ID is a number').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Search' }).isDisabled());
  await page.getByLabel('Select all that are shown').check();
  await page.getByRole('button', { name: 'Replay 3' }).waitFor();
  const since = page.getByLabel('Since');
  const wide = (await since.boundingBox())?.width ?? 0;
  await page.goto(`${console.url}/#events`);
  await page.locator('.filter-box summary').click();
  assert.ok(wide > 300 && wide === (await since.boundingBox())?.width, `dates of both filters are ${wide} px wide`);
});

browserTest('at 320 px titles and their buttons take one line in every language; a low quota is in the list of accounts', async (t) => {
  const { console } = await startConsole(t);
  for (const locale of ['en-GB', 'de-DE', 'fr-FR', 'es-ES']) {
    const page = await openBrowser(t, { expectedErrors: /401/, locale, viewport: { width: 320, height: 640 } });
    await page.route(/\/api\/accounts(\?|$)/, async (route) => {
      const reply = await (await route.fetch()).json();
      const quota = { quota_bytes: 50_000_000, used_bytes: 47_000_000 };
      await route.fulfill({ json: { ...reply, items: reply.items.map((item: object) => ({ ...item, ...quota })) } });
    });
    await signIn(page, console.url, '#accounts');
    await page.locator('.listed td .badge.warn', { hasText: '47' }).first().waitFor();
    for (const section of ['configuration', 'events', 'held', 'expectations']) {
      await page.goto(`${console.url}/#${section}`);
      await page.locator(`main.${section} .heading button:not([hidden])`).first().waitFor();
      const middles = await page.locator('.heading:has(h1) > *').evaluateAll((all) => {
        // Without a configuration file, the button that reloads it is hidden.
        for (const one of all) one.removeAttribute('hidden');
        return all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => Math.round((top + bottom) / 2));
      });
      assert.ok(middles.length > 1 && Math.max(...middles) - Math.min(...middles) <= 2, `${locale}, ${section}: ${middles}`);
      assert.ok(await page.evaluate<boolean>('document.documentElement.scrollWidth <= 320'), `${locale}, ${section}: too wide`);
    }
  }
});

browserTest('errors with a known code are shown in the language of the page, others as the server wrote them', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /40[0149]/, locale: 'de-DE' });
  await signIn(page, console.url, '#events/0b5cad00-1111-4222-8333-000000000009');
  await page.locator('main p', { hasText: /^Gibt es nicht mehr\.$/ }).waitFor();
  const answer = { errors: [{ code: 'bad-request', message: '"cursor" is wrong.' }] };
  await page.route('**/api/handlers', (route) => route.fulfill({ status: 400, json: answer }));
  await page.goto(`${console.url}/#handlers`);
  await page.getByRole('alert').getByText('Die Anfrage ist ungültig: "cursor" is wrong.').waitFor();
  answer.errors = [{ code: 'toString', message: 'A newer server has this reason.' }];
  await page.reload();
  await page.getByRole('alert').getByText('A newer server has this reason.', { exact: true }).waitFor();
});

browserTest('the reason of a failed delivery is shown in the language of the page', async (t) => {
  const away = { type: 'http', target: '40017', url: 'http://127.0.0.1:1/a, http://127.0.0.1:1/b', fail_after_errors: 0 };
  const { server, console } = await startConsole(t, { event_handlers: { away } });
  for (const name of ['a.txt', 'b.txt']) await server.put(`/home/${name}`, 'x');
  await until('both deliveries are recorded', async () => {
    const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>();
    return deliveries.length === 2;
  });
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#deliveries');
  const [newer, older] = ['b.txt', 'a.txt'].map((file) => page.locator('.of-deliveries tbody tr', { hasText: file }));
  await older?.getByText('die Verbindung wurde abgelehnt').waitFor();
  await newer?.getByText('alle URLs sind ausgesetzt').waitFor();
  await page.goto(`${console.url}/#handlers`);
  await page.getByText(/^Letzter Fehler eines Ereignisses vor \d+ Sekunden?: alle URLs sind ausgesetzt$/).waitFor();
  const urls = await page.locator('.handler .urls li').allInnerTexts();
  assert.deepEqual(
    urls.map((shown) => shown.replace(/\d+:\d+:\d+/, 'T').replace(/\s+/g, ' ')),
    ['a', 'b'].map((path) => `http://127.0.0.1:1/${path} ausgesetzt bis heute, T Aussetzung aufheben`),
  );
  await page.goto(`${console.url}/#overview`);
  await page.locator('.server dd', { hasText: /^vor \d+ Sekunden?$/ }).waitFor();
});

browserTest('messages of events are shown in the language of the page, other texts as they were written', async (t) => {
  const away = { type: 'http', target: '40017', url: 'http://127.0.0.1:1/', fail_after_errors: 1 };
  const { server, console } = await startConsole(t, { event_handlers: { away: { name: 'Archiv', ...away } } });
  const named = 'a" was removed. {path} $&.txt';
  await server.put(`/home/${encodeURIComponent(named)}`, 'x');
  await server.get('/home/', { user: 'anna:wrong' });
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#events');
  const rows = page.locator('.of-events tbody');
  await rows.getByText(`Die Datei „/${named}“ wurde hochgeladen.`, { exact: true }).click();
  await page.locator('p.lead', { hasText: `Die Datei „/${named}“ wurde hochgeladen.` }).waitFor();
  await page.goBack();
  await rows.getByText(/^Kein Anmeldeverfahren hat die Anmeldedaten von „anna“ angenommen\.$/).waitFor();
  await page.goto(`${console.url}/#overview`);
  await panelOf(page, 'Letzte Fehler')
    .getByText(/^Die Komponente „Archiv“ wurde gestoppt: /)
    .waitFor();
});

browserTest('reasons of inspections, methods and held uploads are shown in the language of the page', async (t) => {
  const nobody = 'http://127.0.0.1:9/';
  const { server, console } = await startConsole(t, {
    inspections: { away: { name: 'Prüfung', type: 'http', url: nobody }, off: { type: 'http', url: nobody, enabled: false } },
    authentications: { local: { type: 'application' }, dead: { type: 'http', url: nobody } },
    group: { inspections: [['away']] },
  });
  await server.put('/home/a.txt', 'a');
  const contract = await console.contract();
  contract.check('GET', '/api/held', await console.get('/api/held', asOperator));
  contract.check('GET', '/api/overview', await console.get('/api/overview', asOperator));
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#overview');
  const inspections = panelOf(page, 'Prüfungen');
  await inspections.getByText('die Verbindung wurde abgelehnt', { exact: true }).waitFor();
  await inspections.getByText('in der Konfiguration abgeschaltet').waitFor();
  await panelOf(page, 'Anmeldeverfahren').getByText('die Verbindung wurde abgelehnt', { exact: true }).waitFor();
  await page.goto(`${console.url}/#held`);
  await page.locator('.plain-list').getByText('die Verbindung wurde abgelehnt', { exact: true }).waitFor();
  const old = { inspection: 'away', name: 'Prüfung', verdict: 'failure', message: 'no reply: an old record' };
  await page.route('**/api/held*', async (route) => {
    const reply = await (await route.fetch()).json();
    await route.fulfill({ json: { ...reply, items: reply.items.map((item: object) => ({ ...item, verdicts: [old] })) } });
  });
  await page.reload();
  await page.getByText('no reply: an old record', { exact: true }).waitFor();
});

browserTest('findings and their hints are shown in the language of the page, those without a translation in English', async (t) => {
  const cwd = temporaryFolder(t);
  const named = 'a {path} $&"b".';
  await writeConfig(cwd, {
    services: { web: { type: 'http', port: 0 }, console: await consoleService() },
    event_handlers: { away: { type: 'http', target: '40017', url: 'http://127.0.0.1:9/', user_groups: ['staf', named] } },
    groups: { staff: { permissions: [] } },
  });
  const file = join(cwd, 'svc.config.json');
  chmodSync(file, 0o644);
  const { console } = await startConsoleProcess(t, cwd);
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, new URL(console.url).origin, '#configuration');
  const findings = panelOf(page, 'Befunde');
  const finding = (path: string, message: string) => findings.locator('article', { hasText: path }).getByText(message, { exact: true });
  await finding('accounts.alice.password', `${file} enthält Geheimnisse und ist für alle Benutzer lesbar`).waitFor();
  await finding('event_handlers.away.user_groups', 'die Gruppe „staf“ gibt es nicht').waitFor();
  await finding('event_handlers.away.user_groups', 'meinten Sie „staff“? · unknown-reference').waitFor();
  await finding('event_handlers.away.user_groups', `die Gruppe „${named}“ gibt es nicht`).waitFor();
  await finding('groups.staff.permissions', '[] means the default, [[allow-full-control]]; to grant nothing, write [[]]').waitFor();
});
