import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { Route } from 'playwright-core';
import { eventIds } from '../../src/events/event-ids.ts';
import { browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';
import { watchBegins, watchedForDays } from '../support/expectations.ts';
import { until } from '../support/receiver.ts';

// A file is due at midnight of today by the browser's clock, so the time of the test run does not matter.
const daily = { every: '1d', from: '00:00', opens: '2d', account: 'alice' };

browserTest('an operator sees what is due today, excuses a missing file and revokes the excuse; a viewer only reads', async (t) => {
  const { server, console } = await startConsole(t, {
    expectations: {
      orders: { ...daily, name: 'Orders', path: '/orders*', grace: '1d' },
      bills: { ...daily, name: 'Bills', path: '/bills*' },
    },
  });
  await server.put('/home/orders.csv', 'x');
  await watchedForDays(server, ['bills']);
  const page = await openBrowser(t, { expectedErrors: /401/, timezoneId: 'UTC' });
  await signIn(page, console.url, '#expectations');
  const today = page.locator('.panel', { has: page.getByRole('heading', { name: 'Today' }) });
  const row = (name: string) => today.locator('tbody tr', { hasText: name });
  // The states change a moment after the events that cause them.
  await row('Orders').getByText('in time', { exact: true }).waitFor();
  await row('Bills').getByText('missing', { exact: true }).waitFor();
  assert.match(await row('Orders').innerText(), /alice[\s\S]*in time[\s\S]*\/orders\.csv/);
  assert.equal(await row('Orders').getByRole('button', { name: 'Excuse' }).count(), 0);
  const again = row('Orders').getByRole('button', { name: 'Expect once more' });
  assert.equal(await again.innerText(), '', 'a file that came in time has only an icon');

  await row('Bills').getByRole('button', { name: 'Excuse' }).click();
  const dialog = page.locator('dialog');
  await dialog.getByRole('button', { name: 'Excuse' }).click();
  assert.equal(await dialog.locator('input:invalid').count(), 1, 'a reason is needed');
  await dialog.getByLabel('Reason').fill('None to pay.');
  await dialog.getByRole('button', { name: 'Excuse' }).click();
  await page.getByText(/^The file of .+, .+, was excused\.$/).waitFor();
  await row('Bills').getByText('excused', { exact: true }).waitFor();
  assert.match(await row('Bills').innerText(), /Reason: None to pay\./);
  await page.setViewportSize({ width: 375, height: 800 });
  for (const link of [row('Bills').getByRole('link').first(), row('Orders').getByRole('link', { name: '/orders.csv' })])
    assert.ok(((await link.boundingBox())?.height ?? 0) >= 24, 'a link is high enough for a finger');
  await page.setViewportSize({ width: 1280, height: 720 });

  await row('Bills').getByRole('button', { name: 'Expect once more' }).click();
  await dialog.getByRole('button', { name: 'Expect once more' }).click();
  await page.getByText(/^The file of .+, is expected once more\.$/).waitFor();
  await row('Bills').getByText('waiting', { exact: true }).waitFor();
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
  const facts = await page.locator('dl.facts').last().innerText();
  assert.match(facts, /Median\s+\d\d:\d\d \((\d+ hrs? ?)?(\d+ mins?)? after due\)/);
  assert.match(facts, /Half of them\s+\d\d:\d\d \([^)]+ after due\)\n/, 'equal ends are one value');
  assert.match(await page.locator('.days li.good').first().innerText(), /: in time$/);
  const months = await page.locator('.month h3').allInnerTexts();
  const monthsMs = months.map((month) => Date.parse(`1 ${month}`));
  assert.deepEqual(
    monthsMs,
    monthsMs.toSorted((one, other) => other - one),
    'the calendar begins with the current month',
  );
  assert.match(await page.locator('.signs').innerText(), /✓\s*in time\s*not watched yet\s*7\s*nothing due$/);
  assert.ok((await page.locator('.days li').count()) <= 93, 'the calendar has only its 90 days');
  assert.match(await page.locator('.days li.before').last().innerText(), /: not watched yet$/);
  assert.equal(await page.locator('.days li.bad').count(), 0, 'due times before the expectation was configured are not shown as missing');
  const history = page.locator('.panel', { has: page.getByRole('heading', { name: 'History' }) });
  assert.deepEqual(
    await history.locator('.badge').allTextContents(),
    ['in time', 'in time'],
    'the history has only the last and the next due time',
  );

  const viewer = await openBrowser(t, { expectedErrors: /401/, timezoneId: 'UTC' });
  await signIn(viewer, console.url, '#expectations', 'viewer');
  await viewer.getByText('/bills.csv').waitFor();
  assert.equal(await viewer.locator('main tbody button:not([aria-expanded])').count(), 0);
});

browserTest('an expectation that fails again and again has one row, which unfolds its due times; one reason excuses all', async (t) => {
  const { server, console } = await startConsole(t, {
    expectations: {
      feed: { name: 'Feed', schedule: '*/10 0 * * *', path: '/feed*', account: 'alice' },
      bills: { ...daily, path: '/bills*', grace: '1d' },
    },
  });
  await watchedForDays(server, ['feed']);
  const page = await openBrowser(t, { expectedErrors: /401/, timezoneId: 'UTC' });
  await signIn(page, console.url, '#expectations');
  const panel = (name: string) => page.locator('.panel', { has: page.getByRole('heading', { level: 2, name }) });
  const open = panel('Still missing from earlier days');
  const rows = open.locator('tbody tr');
  await rows.first().waitFor();
  assert.equal(await rows.count(), 1);
  const [, told = ''] = /(\d+) × missing/.exec(await rows.first().innerText()) ?? [];
  const count = Number(told);
  assert.equal(count, 42, 'the page counts the due times of seven days, without today');
  assert.match(await rows.first().innerText(), /\d, 00:00 – .+, 00:50/);
  assert.equal(await panel('Today').locator('tbody tr', { hasText: 'Feed' }).count(), 1);
  const schedules = panel('All schedules').locator('tbody tr');
  assert.match(
    await schedules.filter({ hasText: 'bills' }).innerText(),
    /waiting/,
    'a file whose grace has not ended is not said to be there',
  );
  assert.match(await schedules.filter({ hasText: 'Feed' }).innerText(), /missing/);
  const counted = page.locator('#sections [data-section="expectations"] .count');
  await until(
    'the link to the section has the number, with the due times of today',
    async () => Number(await counted.textContent()) >= count,
  );
  await page.setViewportSize({ width: 375, height: 800 });
  const lefts = await open
    .locator('tbody tr')
    .first()
    .locator('.due-name a, .due-name .hint, .due-times time, .badge, button:not(.opens)')
    .evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => Math.round(one.getBoundingClientRect().left)));
  const [name, sender, time, state] = lefts;
  assert.deepEqual([sender, time, state], [name, name, name], `the lines of a row begin below its name: ${lefts}`);
  await page.setViewportSize({ width: 1280, height: 800 });

  const unfold = open.getByRole('button', { name: `Show the ${count} due times` });
  await unfold.focus();
  await page.keyboard.press('Enter');
  await rows.nth(7).waitFor();
  assert.equal(await rows.count(), 1 + 7, 'each day is one row');
  assert.equal(await unfold.getAttribute('aria-expanded'), 'true');
  assert.match(await rows.nth(1).innerText(), /Yesterday, 00:00 – 00:50[\s\S]*6 × missing/);
  await rows.nth(1).getByRole('button', { name: 'Show the 6 due times' }).click();
  await rows.nth(7 + 6).waitFor();
  const times = await rows.locator('.inner').allInnerTexts();
  assert.deepEqual(times, ['00:00', '00:10', '00:20', '00:30', '00:40', '00:50'], 'from morning to evening, without the day');
  await rows.nth(2).getByRole('button', { name: 'Excuse', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('One alone');
  await dialog.getByRole('button', { name: 'Excuse' }).click();
  await open.getByText(`${count - 1} × missing`).waitFor();
  await rows.nth(7 + 6).waitFor({ state: 'hidden' });
  await rows.nth(7 + 5).waitFor();

  await rows.first().getByRole('button', { name: 'Excuse all' }).click();
  await dialog.getByLabel('Reason').fill('The sender moved.');
  await dialog.getByRole('heading', { name: `Excuse ${count - 1} missing files?` }).waitFor();
  await dialog.getByRole('button', { name: 'Excuse all' }).click();
  await page.getByText(`${count - 1} files of Feed were excused.`).waitFor();
  await open.waitFor({ state: 'hidden' });
  await until('the number of missing files is shown', async () => Number(await counted.textContent()) <= 6);
  const held: Route[] = [];
  await page.route('**/api/expectations/feed/occurrences**', (route) => void held.push(route));
  await panel('Today').getByRole('link', { name: 'Feed' }).click();
  await until('the page of the expectation is requested', () => held.length === 1);
  assert.equal(await page.locator('h1').textContent(), 'Feed', 'the name is shown before the reply');
  const excused = (await server.events()).filter(({ id }) => Number(id) === eventIds.expectationExcused);
  assert.equal(new Set(excused.map(({ data }) => data.due)).size, count, 'each due time has its event');
  assert.equal(excused.filter(({ data }) => data.reason === 'The sender moved.').length, count - 1);
});

browserTest('an opened row shows what is missing, and folds the many due times that are not watched yet', async (t) => {
  const { server, console } = await startConsole(t, {
    expectations: { feed: { name: 'Feed', schedule: '*/30 * * * *', path: '/feed*', account: 'alice', time_zone: 'Asia/Tokyo' } },
  });
  const path = await watchBegins(server);
  // The expectation is active for the last two due times of the day that the reader's zone has now.
  const now = new Date();
  const zone = `Etc/GMT${now.getUTCHours() < 12 ? '-12' : '+0'}`;
  const sinceMs = Math.floor(Date.now() / 1_800_000 - 1) * 1_800_000;
  writeFileSync(path, JSON.stringify({ feed: sinceMs }));
  const page = await openBrowser(t, { expectedErrors: /401/, timezoneId: zone });
  await signIn(page, console.url, '#expectations');
  const rows = page.locator('.panel', { has: page.getByRole('heading', { level: 2, name: 'Today' }) }).locator('tbody tr');
  await rows.first().getByText('2 × missing').waitFor();
  const columns = () => rows.first().evaluate((row) => [...row.children].map((cell) => Math.round(cell.getBoundingClientRect().left)));
  const before = await columns();
  await rows.first().locator('button.opens').click();
  await rows.nth(3).waitFor();
  const told = (await rows.allInnerTexts()).map((row) => row.replaceAll(/\s+/g, ' '));
  const folded = told.filter((row) => /\d+ × not watched yet/.test(row));
  assert.equal(folded.length, 2, 'one row besides that of the expectation');
  assert.equal(told.filter((row) => /\d\d:\d\d missing Excuse/.test(row)).length, 2);
  assert.match(told[1] ?? '', /00:00 – \d\d:\d\d \d+ × not watched yet/, 'the times of today begin with the earliest');
  assert.deepEqual(await columns(), before, 'the columns do not move');
  const [count, unwatched] = [told.length, Number(/(\d+) × not/.exec(told[1] ?? '')?.[1])];
  await rows.nth(1).locator('button.opens').click();
  await rows.nth(count - 1 + unwatched).waitFor();
});

browserTest('the page of an expectation names the zone of its schedule, and shows all times in the zone of the reader', async (t) => {
  const { server, console } = await startConsole(t, {
    expectations: {
      tokyo: { name: 'Tokyo', schedule: '*/30 0 * * *', time_zone: 'Asia/Tokyo', path: '/feed*', account: 'alice', grace: '10m' },
    },
  });
  await watchedForDays(server, ['tokyo']);
  const look = { expectedErrors: /401/, timezoneId: 'America/New_York' };
  const page = await openBrowser(t, look);
  await signIn(page, console.url, '#expectations/tokyo');
  const panel = (name: string) => page.locator('.panel', { has: page.getByRole('heading', { level: 2, name }) });
  const summary = panel('Summary');
  await summary.getByText('All other times on this page are in your time zone (America/New_York).').waitFor();
  const facts = await summary.locator('dl').innerText();
  for (const part of ['/feed*', 'alice', '*/30 0 * * *', 'Asia/Tokyo', '10 min']) assert.ok(facts.includes(part), `${part}: ${facts}`);
  // Midnight in Tokyo is 10 or 11 in the morning in New York, on the day before.
  const rows = panel('History').locator('tbody tr');
  const day = rows.filter({ hasText: /1[01]:00 – 1[01]:30/ });
  await day.nth(20).waitFor();
  const first = day.nth(2);
  assert.match(await first.innerText(), /2 × missing/, 'the due times of a day are one row');
  for (const width of [1280, 1600]) {
    await page.setViewportSize({ width, height: 800 });
    const gaps = await rows.evaluateAll((all) =>
      all.map((row) => {
        const right = Math.max(...[...row.querySelectorAll('.due-times time')].map((time) => time.getBoundingClientRect().right));
        return (row.querySelector('.due-state .badge')?.getBoundingClientRect().left ?? 0) - right;
      }),
    );
    assert.ok(Math.min(...gaps) >= 8, `the times do not touch the badges at ${width} px: ${gaps}`);
  }
  const due = new Date(String(await first.locator('time').first().getAttribute('datetime')));
  const dayOfMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', timeZone: 'America/New_York' }).format(due);
  const month = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'America/New_York' }).format(due);
  const cell = page.locator('.month', { has: page.getByRole('heading', { name: month }) }).locator('.days > .bad');
  const shown = cell.filter({ hasText: /: 2 × missing$/ }).locator('> span:first-child');
  assert.ok((await shown.allTextContents()).includes(dayOfMonth), 'the calendar has the due times on the same day as the history');

  const count = await rows.count();
  await first.getByRole('button', { name: 'Show the 2 due times' }).click();
  await rows.nth(count + 1).waitFor();
  await first.getByRole('button', { name: 'Excuse all' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('A holiday.');
  await page.getByRole('dialog').getByRole('button', { name: 'Excuse all' }).click();
  await rows.filter({ hasText: '2 × excused' }).waitFor();
  await panel('History').locator('.heading').getByRole('button', { name: 'Excuse all' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('A long strike.');
  await page.getByRole('dialog').getByRole('button', { name: 'Excuse all' }).click();
  await panel('History').locator('.heading').getByRole('button').waitFor({ state: 'hidden' });
  assert.equal(await rows.filter({ hasText: 'missing' }).count(), 0, 'all days are excused at once');

  const local = await openBrowser(t, { ...look, timezoneId: 'Asia/Tokyo' });
  await signIn(local, console.url, '#expectations/tokyo');
  await local.locator('main').getByText('Asia/Tokyo').waitFor();
  await local.locator('.days').first().waitFor();
  assert.equal(await local.getByText('All other times on this page').isVisible(), false, 'there is only one zone');
});

browserTest('the page of an expectation describes a simple schedule in words', async (t) => {
  const schedules = {
    every_day: { every: '1d', from: '22:00' },
    cron: { schedule: '30 6 * * *' },
    weekdays: { schedule: '0 6 * * 1-5' },
    twice: { schedule: '0 6 * * 1,7' },
    hours: { schedule: '0 8,18 * * *' },
    minutes: { schedule: '*/10 * * * *' },
    hourly: { every: '1h' },
    other: { schedule: '0 6 1 * *' },
  };
  const expectations = Object.entries(schedules).map(([name, schedule]) => [name, { ...schedule, path: '/x', account: 'alice' }]);
  const { console } = await startConsole(t, { expectations: Object.fromEntries(expectations) });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#overview');
  const told: [name: string, schedule: string][] = [
    ['every_day', 'every day at 22:00 UTC'],
    ['cron', 'every day at 06:30 UTC'],
    ['weekdays', 'Monday to Friday at 06:00 UTC'],
    ['twice', 'every Monday and Sunday at 06:00 UTC'],
    ['hours', 'every day at 08:00 and 18:00 UTC'],
    ['minutes', 'every 10 minutes UTC'],
    ['hourly', 'every hour UTC'],
    ['other', '0 6 1 * * UTC'],
  ];
  for (const [name, words] of told) {
    await page.goto(`${console.url}/#expectations/${name}`);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    const schedule = page.locator('.facts > div', { has: page.getByText('Schedule', { exact: true }) }).locator('dd');
    await schedule.filter({ hasText: words }).waitFor();
    assert.equal((await schedule.innerText()).split('\n')[0], words);
  }
});

browserTest(
  'on the overview, errors show due times in the zone of the reader, and the number of missing files leads to the due files',
  async (t) => {
    const { console } = await startConsole(t, { expectations: { bills: { every: '1h', path: '/bills' } } });
    const page = await openBrowser(t, { expectedErrors: /401/ });
    await page.route('**/api/overview', async (route) => {
      const reply = await route.fetch();
      const due = '2026-11-29T02:00:00+09:00';
      const message = `The files of "Bills ${due}" that were due at ${due} are missing.`;
      const error = { kind: 'a', uuid: 'a', id: '40093', time: new Date(0).toISOString(), first: '', count: 324, node: 'a', message, due };
      await route.fulfill({ response: reply, json: { ...(await reply.json()), missing_files: 2, errors: [error] } });
    });
    await page.route('**/api/live', (route) => route.fulfill({ contentType: 'text/event-stream', body: ': nothing\n\n' }));
    await signIn(page, console.url, '#overview');
    await page.getByRole('link', { name: '"Bills 2026-11-29T02:00:00+09:00" that were due at 28 Nov 2026, 17:00 are missing' }).waitFor();
    await page.setViewportSize({ width: 375, height: 800 });
    const [event, count, told] = await page
      .locator('.errors tbody tr')
      .evaluate((row) => ['.kind', '.number', '.whole'].map((cell) => row.querySelector(cell)?.getBoundingClientRect().toJSON()));
    assert.ok(event && count && told);
    assert.ok(count.top < event.bottom && count.left >= event.right && count.bottom <= told.top, 'on phones, the count follows the event');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('link', { name: '2 due files missing' }).click();
    await page.getByRole('heading', { level: 1, name: 'Due files' }).waitFor();
    await until('the row of the expectation is shown', async () => (await page.getByRole('link', { name: 'bills' }).count()) > 0);
  },
);
