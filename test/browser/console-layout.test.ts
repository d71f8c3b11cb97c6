import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, signIn, startConsole } from '../support/console.ts';
import { answerHostile } from '../support/console-replies.ts';
import { startReceiver, until } from '../support/receiver.ts';

/** Returns the number of different bottom edges of elements, that is, the number of lines that they take. */
async function lines(elements: Locator): Promise<number> {
  await elements.first().waitFor();
  // All are measured at once: between two measurements, a late answer can move the page.
  const edges = await elements.evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().bottom)));
  return new Set(edges).size;
}

browserTest('filters, date ranges and buttons of a row take one line where they fit; dialogs leave room for focus rings', async (t) => {
  const { server, console } = await startConsole(t, {
    group: { trash: { days: 30 } },
    expectations: { feed: { every: '1d', path: '/feed*', opens: '2d', grace: '1d' } },
  });
  await server.put('/home/a.txt', 'a');
  await server.send('DELETE', '/home/a.txt');
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#deliveries?outcome=failed');
  const filters = page.locator('.filter :is(select, input:not([type=hidden]), button:not([hidden])):visible');
  assert.equal(await lines(filters), 1, 'the filters of deliveries on a desktop');
  await page.setViewportSize({ width: 768, height: 900 });
  assert.equal(await lines(filters), 1, 'the filters of deliveries on a tablet');
  const since = page.getByLabel('Von');
  assert.equal(await since.isVisible(), false);
  await page.getByRole('button', { name: 'Anderer Zeitraum', pressed: false }).click();
  await since.fill('2001-01-01T00:00:00');
  await page.getByRole('button', { name: 'Suchen' }).click();
  await page.getByRole('button', { name: 'Anderer Zeitraum', pressed: true }).waitFor();
  assert.ok(await since.isVisible(), 'a period in force is shown');

  for (const width of [768, 1024]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${console.url}/#events`);
    assert.equal(await lines(page.locator('.range input[type=datetime-local]')), 1, `the date range at ${width} px`);
    const row = page.locator('.listed tbody tr').first();
    await row.waitFor();
    const [event, message] = await boxesOf(row.locator('.kind'), row.locator('.main-column'));
    assert.ok(event && message && message.width > event.width, `the message has more room than the event at ${width} px`);
    await page.goto(`${console.url}/#accounts`);
    assert.equal(
      await lines(page.locator('tr', { hasText: '/a.txt' }).getByRole('button')),
      1,
      `the buttons of a trash row at ${width} px`,
    );
  }

  for (const width of [320, 375]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${console.url}/#accounts`);
    const card = page.locator('tr', { hasText: '/a.txt' });
    const remove = card.getByRole('button', { name: 'Löschen' });
    await remove.click();
    const [title, whole] = await boxesOf(card.getByText('/a.txt', { exact: true }), card);
    assert.ok(title && whole && title.left - whole.left < 8, 'the path is the title of the card, without a label before it');
    await page.getByRole('dialog').getByRole('button', { name: 'Abbrechen' }).click();
  }

  await page.goto(`${console.url}/#expectations`);
  await page.getByRole('button', { name: 'Entschuldigen' }).first().click();
  const [field, hint] = await boxesOf(page.locator('dialog input'), page.locator('dialog .hint'));
  assert.ok(field && hint && hint.top - field.bottom >= 6, 'there is room for the focus ring between the field and the hint');
});

type Style = (element: unknown, part: string) => { content: string };

const longName = 'the-long-account-name-of-a-subsidiary@logistics.example-company.com';

browserTest('deep configurations and long home folders fit: the page is not too wide, and each account takes one line', async (t) => {
  const { console } = await startConsole(t, {
    groups: {
      partners: { quota_size: 50_000_000, permissions: [['allow-full-control'], ['/a-folder-of-partners/*', 'allow-read', 'allow-list']] },
      all_others: { allow_own_password_change: true },
    },
    accounts: {
      nina: { home_folder_path: `/srv/${'home-folders-of-partners/'.repeat(6)}nina` },
      otto: { group: 'partners' },
      [longName]: { group: 'partners' },
    },
  });
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await signIn(page, console.url, '#configuration');
  await page.getByRole('searchbox').fill('partners');
  await page.locator('.tree').getByText('allow-full-control').waitFor();
  for (const width of [320, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`);
    const broken = await page.locator('.tree dt bdi', { hasText: /^[a-z_]+$/ }).evaluateAll((names) => {
      const isBroken = (boxes: Iterable<{ top: number }>) => new Set([...boxes].map(({ top }) => Math.round(top))).size > 1;
      return names.filter((name) => isBroken(name.getClientRects())).map(({ textContent }) => textContent);
    });
    assert.deepEqual(broken, [], `no name of an option breaks at ${width} px`);
  }
  await page.goto(`${console.url}/#accounts`);
  const table = page.locator('.panel', { has: page.getByRole('heading', { level: 2, name: 'Konten' }) }).locator('.table');
  const row = table.locator('tbody tr', { hasText: 'nina' });
  await row.waitFor();
  assert.ok(((await row.boundingBox())?.height ?? 99) < 40, 'the home folder takes one line');
  assert.match((await row.locator('.code').getAttribute('title')) ?? '', /nina$/, 'the title has the whole path');
  const [cut, whole] = await boxesOf(row.locator('.path-end'), row.locator('.path-end bdi'));
  assert.ok(cut && whole && whole.left < cut.left && whole.right <= cut.right, 'a long path is cut off at its beginning');
  const long = table.locator('tbody tr', { hasText: longName });
  for (const width of [768, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    assert.ok(((await long.boundingBox())?.height ?? 99) < 40, `the name takes one line at ${width} px`);
    assert.ok(await table.evaluate((element) => element.scrollWidth <= element.clientWidth), 'no column is hidden at the side');
  }
  assert.equal(await long.getByTitle(longName).count(), 1, 'the title has the whole name');

  await page.setViewportSize({ width: 375, height: 800 });
  const group = long.locator('td', { hasText: 'partners' });
  const label = await group.evaluate(
    (cell) => (globalThis as unknown as { getComputedStyle: Style }).getComputedStyle(cell, '::before').content,
  );
  assert.equal(label, '"Gruppe"');
  assert.equal(await long.getByText('–', { exact: true }).first().isVisible(), false, 'values that are missing are omitted');
});

browserTest('on narrow screens, the event and the reply of a delivery are not cut off, and a badge takes one line', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const { server, console } = await startConsole(t, {
    event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 0 } },
  });
  await server.put('/home/a.txt', 'a');
  const deliveries = async () => (await console.get('/api/deliveries', asOperator)).json<{ deliveries: { id: string }[] }>().deliveries;
  await until('the delivery is recorded', async () => (await deliveries()).length === 1);
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE' });
  await page.setViewportSize({ width: 320, height: 900 });
  await signIn(page, console.url, '#deliveries');
  for (const part of ['.event-name', 'td.reply > *']) {
    const shown = page.locator(`.listed ${part}`).first();
    await shown.waitFor();
    assert.ok(await shown.evaluate((element) => element.scrollWidth <= element.clientWidth), `${part} is not cut`);
  }
  const [box, outcome] = await boxesOf(page.locator('.listed td input'), page.locator('.listed td .badge').first());
  assert.ok(box && outcome && box.bottom <= outcome.top, 'the badge stands in the line below the check box');
  await page.goto(`${console.url}/#deliveries/${(await deliveries())[0]?.id}`);
  const badge = page.locator('.facts .badge').first();
  await badge.waitFor();
  assert.ok(((await badge.boundingBox())?.height ?? 99) < 32, 'the badge has one line');
  await page.locator('.message > h3 + :not(dl)').first().waitFor();
  await page.locator('.message > dl.headers:last-child').first().waitFor();
  await page.locator('button.primary', { hasText: 'Erneut senden' }).waitFor();
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= 320'), 'the page does not scroll sideways');
});

browserTest(
  'deliveries of many events, and failing handlers, leave room for the other columns; options are shown as in the file',
  async (t) => {
    const receiver = await startReceiver(t, { otherwise: { status: 500 } });
    const options = { url: receiver.url, fail_after_errors: 0, retry_count: 0 };
    const { server, console } = await startConsole(t, {
      event_handlers: {
        crm: { type: 'http', name: 'Invoices of the ERP system', target: '40017,!40022', headers: 'X-Key: secret', ...options },
        audit: { type: 'http', batch_size: 20, ...options },
      },
    });
    const offices = [7, 8, 9].map(
      (number) => `Quarterly report of the regional office ${number} – final version (reviewed by finance).docx`,
    );
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'orders-2026.csv', ...offices.map(encodeURIComponent)];
    await Promise.all(names.map((name) => server.put(`/home/${name}`, name)));
    const page = await openBrowser(t, { expectedErrors: /401/ });
    const fits = () => page.locator('.of-deliveries').evaluate((element) => element.scrollWidth <= element.clientWidth);
    await until('the batch is recorded', async () => {
      const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: { events: unknown[] }[] }>();
      return deliveries.some(({ events }) => events.length > 1);
    });
    await signIn(page, console.url, '#deliveries?outcome=failed');
    const batch = page.locator('.of-deliveries tbody tr', { has: page.getByTitle(/^\d+ events: /) }).first();
    await batch.waitFor();
    for (const width of [320, 768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      assert.ok(await fits(), `no column is cut at ${width} px`);
      assert.ok(await batch.locator('td.reply').isVisible(), `the reply is shown at ${width} px`);
    }
    const isWhole = (selector: string, hasText: string) =>
      page
        .locator(`.of-deliveries ${selector}`, { hasText })
        .first()
        .evaluate((element) => element.scrollWidth <= element.clientWidth && element.scrollHeight <= element.clientHeight);
    for (const hash of ['#deliveries', '#deliveries?outcome=failed'])
      for (const width of [1024, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${console.url}/${hash}`);
        await batch.waitFor();
        assert.ok(await isWhole('.row-link', 'Invoices of the ERP system'), `${hash}: the name of the handler is whole at ${width} px`);
        assert.ok(await isWhole('.second-line .two-lines', 'orders-2026.csv'), `${hash}: the name of the file is whole at ${width} px`);
      }
    for (const hash of ['#deliveries', '#deliveries?outcome=failed'])
      for (const width of [768, 900, 1024, 1100, 1152, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${console.url}/${hash}`);
        await batch.waitFor();
        await page.locator('.of-one-outcome').waitFor({ state: hash.includes('=') ? 'attached' : 'detached' });
        for (const part of ['.event-name', '.event-account > *', '.reply > *']) {
          const cut = await page
            .locator(`.of-deliveries td ${part}`)
            .evaluateAll((all) =>
              all.filter((one) => one.clientWidth === 0 || one.scrollWidth > one.clientWidth).map((one) => one.textContent),
            );
          assert.deepEqual(cut, [], `${hash}: ${part} is shown and whole at ${width} px`);
        }
        const [all, one] = await boxesOf(page.locator('.bulk input'), batch.locator('td.chooses input'));
        assert.equal(all?.left, one?.left, 'the check box for all rows stands above those of the rows');
      }
    // On another day, times have a date.
    for (const days of [0, 3])
      for (const width of [320, 375]) {
        await page.clock.setFixedTime(Date.now() + days * 86_400_000);
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${console.url}/#deliveries?outcome=failed`);
        await page.reload();
        await batch.waitFor();
        const heights = await page
          .locator('.of-deliveries tbody tr')
          .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
        assert.ok(Math.max(...heights) < 100, `after ${days} days, rows have at most three lines at ${width} px: ${heights}`);
        const long = page.getByTitle(offices[0] ?? '').first();
        await until(`the number of a long name is in sight at ${width} px`, () =>
          long.evaluate((one) => {
            const parts = [...(one.firstElementChild?.childNodes ?? [])].map(({ nodeType, textContent }) => nodeType === 3 && textContent);
            return one.scrollWidth <= one.clientWidth && parts.some((part) => (part ? part.startsWith('7') : false));
          }),
        );
      }
    await page.clock.setFixedTime(Date.now());
    for (const hash of ['#deliveries', '#deliveries?outcome=failed'])
      for (const width of [768, 1024, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${console.url}/${hash}`);
        await batch.waitFor();
        for (const number of [7, 8, 9]) {
          const name = page.getByTitle(offices[number - 7] ?? '').first();
          // In one line, and beside all columns, there is room only for the beginning, the number and the extension.
          const oneGap = `^Quarte[^…]*(… ?${number}[^…]*|${number}[^…]*…[^…]*)\\.docx`;
          const shortened = width > 1216 && hash.includes('=') ? oneGap : `^Q[^…]*… ?${number}[^…]*….*docx`;
          await until(`${hash}: a long name keeps its number, at ${width} px`, () =>
            name.evaluate((element, shown) => {
              const copy = element.cloneNode(true) as typeof element;
              for (const gap of copy.querySelectorAll('.gap')) gap.replaceWith('…');
              const isClamped = element.scrollHeight > element.clientHeight;
              return !isClamped && new RegExp(shown).test(copy.textContent ?? '');
            }, shortened),
          );
          assert.ok(((await name.boundingBox())?.width ?? 0) >= 110, `${hash}: the column of files has room at ${width} px`);
        }
      }
    await page.setViewportSize({ width: 1280, height: 900 });
    // A check scrolls the page, so the place within the panel is compared.
    const firstTop = () =>
      batch.evaluate((row) => row.getBoundingClientRect().top - (row.closest('.panel')?.getBoundingClientRect().top ?? 0));
    const top = await firstTop();
    await batch.locator('td.chooses input').check();
    await page.getByRole('button', { name: 'Replay one' }).waitFor();
    assert.equal(await firstTop(), top, 'the list does not move when a row is selected');
    await page.getByRole('button', { name: 'Clear the selection' }).click();
    await page.getByRole('button', { name: 'Replay one' }).waitFor({ state: 'hidden' });
    assert.equal(await batch.locator('td.chooses input').isChecked(), false);
    await page.getByLabel('Handler').selectOption('Invoices of the ERP system');
    await page.waitForURL(/handler=crm/);
    const list = page.getByLabel('Handler');
    await until('a list of the filter does not cut its choice', async () => ((await list.boundingBox())?.width ?? 0) > 200);
    await page.setViewportSize({ width: 768, height: 900 });
    await page.goto(`${console.url}/#overview`);
    const handlers = page.locator('.table:not(.errors)', { hasText: 'Invoices of the ERP system' }).first();
    await handlers
      .getByText(/^failing/)
      .first()
      .waitFor();
    assert.ok(await handlers.evaluate((element) => element.scrollWidth <= element.clientWidth), 'the handlers of the overview fit');

    await page.goto(`${console.url}/#configuration`);
    await page.getByRole('searchbox').fill('handlers.crm');
    for (const value of ['40017, !40022', 'X-Key: ***']) await page.locator('.tree').getByText(value, { exact: true }).waitFor();
  },
);

browserTest('in a list of events, the cause at the end of a message is not cut, although older times have a date', async (t) => {
  const name = 'audit-with-a-very-long-identifier-for-the-central-compliance-archive';
  const receiver = await startReceiver(t, { otherwise: { status: 500, reason: 'The archive is read-only until tomorrow' } });
  const { server, console } = await startConsole(t, {
    event_handlers: { hook: { type: 'http', name, url: receiver.url, target: '40017', retry_count: 0 } },
  });
  await server.put('/home/a.txt', 'a');
  const page = await openBrowser(t, { expectedErrors: /401/, viewport: { width: 1280, height: 900 } });
  await page.route(/\/api\/events\?/, async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, body: (await reply.text()).replaceAll(/("timestamp":")\d+/g, '$11700000000') });
  });
  await until('the failure is reported', async () => (await console.get('/api/events?id=20174', asOperator)).text.includes('read-only'));
  await signIn(page, console.url, '#events?id=20174');
  await page.locator('.of-events tbody tr').first().waitFor();
  for (const width of [1280, 1100, 1024, 768]) {
    await page.setViewportSize({ width, height: 900 });
    const { tall, shown, account, time } = await page
      .locator('.of-events tbody tr')
      .first()
      .evaluate((row) => {
        const message = row.querySelector('.two-lines');
        const [first, account] = ['td', '.of-account'].map((cell) => row.querySelector(cell)?.getBoundingClientRect().width ?? 0);
        return { tall: message?.scrollHeight ?? 0, shown: message?.clientHeight ?? 0, account: account ?? 0, time: first ?? 0 };
      });
    assert.ok(shown > 0 && tall <= shown + 1, `the cause is visible at ${width} px`);
    assert.ok(time < 125 && account < 115, `${time} and ${account} px at ${width} px`);
  }
});

browserTest('a message covers nothing, and the buttons of a handler have one line or two columns', async (t) => {
  const receiver = await startReceiver(t);
  const { console } = await startConsole(t, {
    event_handlers: Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { type: 'http', url: receiver.url, target: '40017' }])),
  });
  const page = await openBrowser(t, { expectedErrors: /401/, locale: 'de-DE', viewport: { width: 375, height: 700 } });
  await signIn(page, console.url, '#handlers');
  const buttons = page.locator('.handler').last().locator('.row > *');
  await buttons.getByText('Testen').waitFor();
  for (const width of [375, 768, 1280]) {
    await page.setViewportSize({ width, height: 700 });
    const boxes = await buttons.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    for (const { height } of boxes) assert.ok(height > 0 && height < 40, `no label is wrapped at ${width} px`);
    const lefts = new Set(boxes.map(({ left }) => Math.round(left)));
    const tops = new Set(boxes.map(({ top }) => Math.round(top)));
    assert.ok(tops.size === 1 || lefts.size <= 2, `one line or columns at ${width} px`);
  }
  await page.locator('.handler').first().getByRole('button', { name: 'Testen' }).click();
  const message = page.locator('#notices .notice');
  await message.waitFor();
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  const [card, main, wide, close] = await boxesOf(
    page.locator('.handler').last(),
    page.locator('main'),
    message,
    message.locator('button'),
  );
  assert.ok(card && main && wide && close && wide.left > main.left && wide.top >= card.bottom, 'a message below the content');
  assert.ok(wide.width >= 320 && wide.width <= 420 && wide.right - close.right < 12, JSON.stringify({ wide, close }));
  await page.setViewportSize({ width: 375, height: 700 });
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  const [last, told] = await boxesOf(page.locator('.handler').last(), message);
  assert.ok(last && told && last.bottom <= told.top && told.bottom <= 700, JSON.stringify({ last, told }));
  // This position was the end of the page before the message appeared.
  await page.evaluate("scrollBy(0, -document.getElementById('notices').offsetHeight)");
  const [row, covering] = await boxesOf(page.locator('.handler').last(), message);
  assert.ok(row && covering && row.bottom <= covering.top, JSON.stringify({ row, covering }));
  await page.setViewportSize({ width: 1280, height: 900 });
  await answerHostile(page);
  await page.reload();
  const stopped = page.locator('.handler', { has: page.getByRole('button', { name: 'Starten' }) }).locator('.row > *');
  await stopped.first().waitFor();
  const tops = await stopped.evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
  assert.deepEqual([tops.length, new Set(tops).size], [4, 1], 'the four buttons of a stopped handler have one line');
  const gaps = await page.locator('.handler').evaluateAll((all) =>
    all.map((one) => {
      const [figures, row] = [one.querySelector('.facts'), one.querySelector('.row')].map((part) => part?.getBoundingClientRect());
      return figures && row ? row.top - figures.bottom : 999;
    }),
  );
  assert.ok(Math.max(...gaps) < 80, `figures and buttons are together, also in a high card: ${gaps}`);
});

browserTest(
  'in every language, tabs and buttons have one line, rows of failures two on tablets, and at most three on desktops',
  async (t) => {
    const { server, console } = await startConsole(t, {
      event_handlers: { crm: { type: 'http', target: '40017', url: 'http://127.0.0.1:9/', fail_after_errors: 1, retry_count: 0 } },
    });
    await server.put('/home/Quarterly%20report%20of%20the%20regional%20office%20%E2%80%93%20final%20version.docx', 'a');
    await until('the delivery failed', async () => (await console.get('/api/deliveries', asOperator)).text.includes('failed'));
    for (const locale of ['de-DE', 'fr-FR', 'es-ES']) {
      const page = await openBrowser(t, { expectedErrors: /401/, locale });
      /** Returns the elements whose text has more than one line, with their heights. */
      const broken = (selector: string, maxPx: number) =>
        page
          .locator(selector)
          .evaluateAll(
            (all, max) =>
              all.map((one) => [one.textContent, one.getBoundingClientRect().height] as const).filter(([, height]) => height > max),
            maxPx,
          );
      await signIn(page, console.url, '#deliveries?outcome=failed');
      await page.locator('td.reply .two-lines').first().waitFor();
      for (const width of [560, 704, 706, 720, 768, 900, 1023, 1024, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await broken('#sections a span', 24), [], `${locale}: the tabs at ${width} px`);
        if (width > 704)
          assert.deepEqual(await broken('.of-files tbody tr', width > 1216 ? 80 : 56), [], `${locale}: the failures at ${width} px`);
      }
      await page.goto(`${console.url}/#handlers`);
      await page.locator('.handler .row button.primary').waitFor();
      const tops = await page.locator('.handler .row > *').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
      assert.deepEqual([tops.length, new Set(tops).size], [4, 1], `${locale}: the buttons of a stopped handler`);
    }
  },
);
