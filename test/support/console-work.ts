import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { ServiceEvent } from '../../src/events/event.ts';
import type { Client } from './client.ts';
import { asOperator, type ConsoleClient } from './console.ts';
import { type Receiver, startReceiver, until } from './receiver.ts';
import type { TestConfig } from './server.ts';

/** Clients of an installation: one for the console of one node, and for each node one that transfers files. */
export interface Installation {
  console: ConsoleClient;
  files: readonly Client[];
}

/** Starts a receiver that fails once and then works. */
export function failingReceiver(t: TestContext): Promise<Receiver> {
  const headers = { 'content-type': 'application/json' };
  return startReceiver(t, {
    script: [{ status: 500, reason: 'Broken', body: '{"error":"no such table"}', headers }],
    otherwise: { status: 200 },
  });
}

/** Returns the configuration for the tasks below: a handler stops after one failure, and an address is banned after two failures. */
export function workConfig(receiver?: Receiver): TestConfig {
  return {
    server: { security_policy: { ban_after_failures: 2, ban_window_seconds: 600, ban_seconds: 600 } },
    service: { client_forwarded_header: 'X-Forwarded-For' },
    ...(receiver && {
      event_handlers: { hook: { type: 'http', name: 'invoices', url: [`${receiver.url}/in`], target: '40017', fail_after_errors: 1 } },
    }),
  };
}

/** Does an operator's work after a receiver failed: opens the failed delivery, starts the handler again, and replays the delivery. */
export async function mendAndReplay(page: Page, { console, files, receiver }: Installation & { receiver: Receiver }): Promise<void> {
  const at = (index: number) => files[index % files.length] as Client;
  await at(1).put('/home/first.txt', 'one');
  await receiver.received(1);
  await page.goto(`${console.url}/#handlers`);
  const handler = page.locator('.handler');
  await handler.getByText('stopped').waitFor();

  await page.goto(`${console.url}/#deliveries?outcome=failed`);
  await page.locator('main tbody .row-link').first().click();
  await page.getByRole('heading', { name: 'Delivery to invoices' }).waitFor();
  await page.getByText('no such table').waitFor();
  assert.match((await page.locator('main').textContent()) ?? '', /500.*Broken/);
  assert.match((await page.locator('main pre').last().textContent()) ?? '', /first\.txt/);

  await page.locator('#sections').getByText('Handlers').click();
  await handler.getByRole('button', { name: 'Start' }).click();
  await page.getByText('invoices was started.').waitFor();
  // The handler delivers again. It still counts as failing until a delivery succeeds.
  await handler.getByText('failing, 1 of 1').waitFor();
  await at(2).put('/home/second.txt', 'two');
  await until('the second event is delivered', () => receiver.events().some(({ data }) => data.path === '/second.txt'));

  const before = receiver.requests.length;
  await page.locator('#sections').getByText('Deliveries').click();
  await page.locator('main tbody tr', { hasText: 'failed' }).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Replay one' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Compare 1 request' }).click();
  await page.getByRole('heading', { name: 'Dry run' }).waitFor();
  // If a node replays a request that another node sent, the body names the replaying node.
  await page.getByText(files.length === 1 ? 'as it was sent' : /as it was sent|would differ/).waitFor();
  assert.equal(receiver.requests.length, before, 'a dry run sends nothing');
  await page.getByRole('button', { name: 'Send 1 request to 1 handler' }).click();
  await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
  await page.locator('.results').getByText('delivered').waitFor();
  const [sentAgain] = receiver.events((_, index) => index >= before);
  assert.equal(sentAgain?.data.path, '/first.txt');
  const { events } = (await console.get('/api/events?id=20191', asOperator)).json<{ events: ServiceEvent[] }>();
  assert.deepEqual(
    events.map(({ data }) => [data.action, data.administrator]),
    [
      ['replay', 'olga'],
      ['handler-start', 'olga'],
    ],
  );
}

/** Ends a session, whose client then gets 401, and lifts a ban. */
export async function endSessionAndLiftBan(page: Page, { console, files }: Installation): Promise<void> {
  const [first] = files as [Client];
  const session = { user: null, headers: { authorization: `session ${await first.login()}` } };
  for (const client of files) assert.equal((await client.get('/home/', session)).status, 200);
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  for (const [index, wrong] of ['one', 'two'].entries())
    await files[index % files.length]?.get('/home/', { user: `alice:${wrong}`, headers });
  for (const client of files) assert.equal((await client.get('/home/', { headers })).status, 429);

  await page.goto(`${console.url}/#overview`);
  await page.goto(`${console.url}/#accounts`);
  const panelOf = (name: string) => page.locator('.panel', { has: page.getByRole('heading', { name, exact: true }) });
  const remove = async (panel: string, name: string, done: string) => {
    await panelOf(panel).getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
    await page.getByText(done).waitFor();
  };
  await remove('Sessions', 'End', 'The session has ended:');
  await panelOf('Sessions').getByText('Nobody is logged in.').waitFor();
  for (const client of files) assert.equal((await client.get('/home/', session)).status, 401);
  await panelOf('Bans').getByText('203.0.113.9').waitFor();
  await remove('Bans', 'Lift', 'The ban was lifted:');
  for (const client of files) assert.equal((await client.get('/home/', { headers })).status, 200);
}
