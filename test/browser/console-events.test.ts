import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page, Route } from 'playwright-core';
import type { ServiceEvent } from '../../src/events/event.ts';
import { boxesOf, browserTest, openBrowser } from '../support/browser.ts';
import type { Client } from '../support/client.ts';
import { asOperator, type ConsoleClient, signIn, startConsole } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';

/** Sends `count` requests, a hundred at a time. Each causes two events. */
async function request(server: Client, count: number): Promise<void> {
  for (let done = 0; done < count; done += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - done) }, () => server.get('/home/nothing')));
}

async function openEvents(t: TestContext): Promise<{ page: Page; server: Client; console: ConsoleClient } | undefined> {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401|INCOMPLETE_CHUNKED/ });
  if (!page) return undefined;
  await signIn(page, console.url, '#events');
  await page.locator('.heading .badge.good').waitFor();
  return { page, server, console };
}

const sessions = new WeakMap<ConsoleClient, Promise<Record<string, string>>>();

/** Returns the headers of a session that the test began. With a password instead, each request would cause another event. */
function ownSession(console: ConsoleClient): Promise<Record<string, string>> {
  const session = sessions.get(console) ?? console.session();
  sessions.set(console, session);
  return session;
}

/** Returns all events, the newest first. */
async function journalled(console: ConsoleClient): Promise<string[]> {
  const headers = { ...(await ownSession(console)), accept: 'application/x-ndjson' };
  const { text } = await console.get('/api/events', { headers });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as ServiceEvent).uuid);
}

async function eventOf(console: ConsoleClient, uuid: string | undefined): Promise<ServiceEvent> {
  return (await console.get(`/api/events/${uuid}`, { headers: await ownSession(console) })).json<{ event: ServiceEvent }>().event;
}

const rows = (page: Page) =>
  page.locator('main tbody tr').evaluateAll((all) => all.map((row) => row.getAttribute('data-key') ?? `note: ${row.textContent}`));

async function shows(page: Page, uuid: string | undefined): Promise<void> {
  await page
    .locator(`main tbody tr[data-key="${uuid}"]`)
    .first()
    .waitFor()
    .catch(async (error) => {
      throw new Error(`${uuid} is not shown:\n${await page.locator('main').innerText()}`, { cause: error });
    });
}

/** The section's own stream, in contrast to that of the number of held uploads in the navigation. */
const isTail = ({ pathname, searchParams }: URL) => pathname === '/api/events/live' && searchParams.get('id') !== '40072,40073,40074';

browserTest('rows that the page removed because of newer events are loaded again on demand; each event is shown once', async (t) => {
  const opened = await openEvents(t);
  if (!opened) return;
  const { page, server, console } = opened;
  for (let turn = 0; turn < 5; turn++) {
    await request(server, 80);
    await shows(page, (await journalled(console))[0]);
  }
  assert.equal((await rows(page)).length, 500);
  const all = await journalled(console);
  assert.ok(all.length > 700);
  const more = page.getByRole('button', { name: 'Show more' });
  // After the first press, more rows are loaded when the end of the table comes into view.
  await until('all events are shown', async () => {
    await more.evaluateAll((buttons) => {
      for (const button of buttons as { click?(): void }[]) button.click?.();
    });
    return (await rows(page)).length >= all.length && (await more.count()) === 0;
  });
  const shown = await rows(page);
  // The page's own requests have added newer events at the top.
  assert.deepEqual(shown.slice(shown.indexOf(all[0] as string)), all);
});

browserTest('after a pause, a live tail shows the events of the pause', async (t) => {
  const opened = await openEvents(t);
  if (!opened) return;
  const { page, server, console } = opened;
  const [last] = await journalled(console);
  await shows(page, last);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  await request(server, 20);
  const all = await journalled(console);
  assert.equal((await rows(page))[0], last);
  await page.getByRole('button', { name: 'Continue' }).click();
  await shows(page, all[0]);
  assert.deepEqual(await rows(page), all);
});

browserTest('if events come too fast for a live tail, a row says how many were left out, and leads to them', async (t) => {
  const { server, console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const tail = new Promise<Route>((resolve) => void page.route(isTail, resolve));
  // The login of the test causes an event, too, so the test logs in before it opens the page.
  await ownSession(console);
  await signIn(page, console.url, '#events');
  const before = await journalled(console);
  await shows(page, before[0]);
  await request(server, 40);
  const all = await journalled(console);
  const between = all.slice(1, all.length - before.length - 1);
  const [newest, oldest] = [await eventOf(console, all[0]), await eventOf(console, all[between.length + 1])];
  const messages = [
    'retry: 1000000000',
    `data: ${JSON.stringify(oldest)}`,
    `event: lag\ndata: {"skipped":${between.length}}`,
    `data: ${JSON.stringify(newest)}`,
  ];
  await (await tail).fulfill({ contentType: 'text/event-stream', body: messages.map((message) => `${message}\n\n`).join('') });
  await shows(page, newest.uuid);
  assert.deepEqual(await rows(page), [newest.uuid, `note: ${between.length} events are not shown here`, oldest.uuid, ...before]);
  await page.locator('main tbody tr.note').getByRole('link').click();
  await page.getByRole('heading', { name: 'Found' }).waitFor();
  await until('all left-out events are shown', async () => {
    const found = await rows(page);
    return between.every((uuid) => found.includes(uuid));
  });
  const found = await rows(page);
  assert.deepEqual(
    found.filter((uuid) => between.includes(uuid)),
    between,
  );
});

/** Lets the test write the messages of the live tail, one reply after another. The browser asks for the next reply at once. */
async function tellTail(page: Page): Promise<(...messages: string[]) => Promise<void>> {
  const asked: Route[] = [];
  await page.route(isTail, (route) => void asked.push(route));
  return async (...messages) => {
    await until('the page requests the tail', () => asked.length > 0);
    const body = ['retry: 1', ...messages].map((message) => `${message}\n\n`).join('');
    await (asked.shift() as Route).fulfill({ contentType: 'text/event-stream', body });
  };
}

const uuidAt = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** Returns live-tail messages for `count` invented events with the numbers from `from` on, the oldest first. */
const messagesOf = (sample: ServiceEvent, from: number, count: number) =>
  Array.from(
    { length: count },
    (_, index) => `id: 00000001:${from + index}\ndata: ${JSON.stringify({ ...sample, uuid: uuidAt(from + index) })}`,
  );

async function openToldEvents(t: TestContext) {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  if (!page) return undefined;
  const tell = await tellTail(page);
  await ownSession(console);
  await signIn(page, console.url, '#events');
  const [first] = await journalled(console);
  await shows(page, first);
  const event = await eventOf(console, first);
  const messages = (from: number, count: number) => messagesOf(event, from, count);
  return { page, tell, messages };
}

browserTest(
  'when rows at the end are removed, the button below keeps its focus, and a removed row passes it to the last row',
  async (t) => {
    const opened = await openToldEvents(t);
    if (!opened) return;
    const { page, tell, messages } = opened;
    await tell(...messages(0, 500));
    await shows(page, uuidAt(499));
    const more = page.getByRole('button', { name: 'Show more' });
    await more.focus();
    await tell(...messages(500, 10));
    await shows(page, uuidAt(509));
    assert.ok(await more.evaluate((button) => button.matches(':focus')));
    await page.locator('main tbody tr').last().locator('.row-link').focus();
    await tell(...messages(510, 10));
    await shows(page, uuidAt(519));
    assert.ok(
      await page
        .locator('main tbody tr')
        .last()
        .locator('.row-link')
        .evaluate((link) => link.matches(':focus')),
    );
  },
);

browserTest('several reports of left-out events are shown as one row, centred on narrow screens, and never as the last row', async (t) => {
  const opened = await openToldEvents(t);
  if (!opened) return;
  const { page, tell, messages } = opened;
  const lag = (place: number, skipped: number | null) => `event: lag\nid: 00000001:${place}\ndata: {"skipped":${skipped}}`;
  await tell(...messages(0, 1), lag(5, 4), lag(9, 4));
  const note = page.locator('main tbody tr.note');
  await page.getByText('8 events are not shown here').waitFor();
  await tell(lag(12, 3));
  await page.getByText('11 events are not shown here').waitFor();
  assert.equal(await note.count(), 1);
  assert.match((await note.getByRole('link').getAttribute('href')) ?? '', /since=/);
  await tell(...messages(12, 1));
  await shows(page, uuidAt(12));
  assert.deepEqual((await rows(page)).slice(0, 3), [uuidAt(12), 'note: 11 events are not shown here', uuidAt(0)]);
  await page.setViewportSize({ width: 320, height: 640 });
  const [link, whole] = await boxesOf(note.getByRole('link'), note);
  assert.ok(link && whole && Math.abs(link.left + link.right - whole.left - whole.right) < 4, JSON.stringify({ link, whole }));
  await tell(...messages(13, 498));
  await shows(page, uuidAt(510));
  assert.equal((await rows(page)).at(-1), uuidAt(12));
});

browserTest('a live tail can be paused as soon as it has begun, and not before', async (t) => {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const asked = new Promise<Route>((resolve) => void page.route(/\/api\/events(\?|$)/, resolve));
  await signIn(page, console.url, '#events');
  const found = await asked;
  assert.ok(await page.getByRole('button', { name: 'Pause' }).isDisabled());
  await found.continue();
  await page.locator('.heading .badge.good').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Continue' }).waitFor();
});

browserTest('the page of an event names the handlers for which it waits, or says that no handler wants it', async (t) => {
  const receiver = await startReceiver(t);
  const handler = (name: string) => ({ type: 'http', name, url: receiver.url, target: '40017' });
  const { server, console } = await startConsole(t, { event_handlers: { crm: handler('CRM'), old: handler('Old system') } });
  await console.post('/api/handlers/old/pause', {}, asOperator);
  await server.put('/home/a.txt', 'x');
  await receiver.received(1);
  const events = await server.events();
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const uuidOf = (id: string) => events.find((event) => event.id === id)?.uuid;
  await signIn(page, console.url, `#events/${uuidOf('40017')}`);
  const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Deliveries of this event' }) });
  await panel.locator('tbody tr', { hasText: 'CRM' }).waitFor();
  assert.deepEqual(await panel.locator('li').allInnerTexts(), ['Old system\nwaiting, handler paused']);
  await page.getByRole('button', { name: 'Replay' }).waitFor();
  await page.goto(`${console.url}/#events/${uuidOf('40021')}`);
  await panel.getByText('No handler wants this event.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Replay' }).count(), 0, 'there is no handler to send it to');
});

browserTest('events whose client is unknown show no address', async (t) => {
  const { server, console } = await startConsole(t);
  await server.put('/home/a.txt', 'a');
  const page = await openBrowser(t, { expectedErrors: /401/, viewport: { width: 1920, height: 900 } });
  await page.route(/\/api\/events\?/, async (route) => {
    const reply = await route.fetch();
    await route.fulfill({ response: reply, body: (await reply.text()).replaceAll('"address":"127.0.0.1"', '"address":"0.0.0.0"') });
  });
  await signIn(page, console.url, '#events?id=40017');
  const row = page.locator('.listed tbody tr').first();
  await row.getByText('alice').waitFor();
  assert.equal(await row.locator('td').last().innerText(), '–');
});
