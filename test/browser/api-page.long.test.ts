import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest, login, openBrowser } from '../support/browser.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

async function open(page: Page, id: string) {
  const operation = page.locator(`[id$="-${id}"]`).first();
  await operation.locator('.opblock-summary-control').click();
  return operation;
}

async function run(operation: Awaited<ReturnType<typeof open>>): Promise<string> {
  // Remove the previous reply, which could be mistaken for the new one.
  const clear = operation.getByRole('button', { name: 'Clear' });
  if ((await clear.count()) > 0) await clear.click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const live = operation.locator('.live-responses-table .response').first();
  await live.waitFor();
  return live.innerText();
}

browserTest('the API page works with an existing session, with one begun on the page, and with Basic', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'deep'));
  writeFileSync(join(server.home, 'deep/a.txt'), 'hello');
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.goto(`${server.url}/__svc__/openapi.html`);
  const listing = await open(page, 'getFolder');
  await listing.locator('input[placeholder^="folder"]').fill('deep');
  assert.match(await run(listing), /^401/, 'a request without credentials is refused');

  const signIn = await open(page, 'login');
  await signIn.locator('textarea').fill(`{"username": "alice", "password": "${testPassword}"}`);
  assert.match(await run(signIn), /^200/);
  assert.match(await run(listing), /^200[\s\S]*a\.txt/, 'the page sends its session');

  const file = await open(page, 'getFile');
  await file.locator('input[placeholder^="file"]').fill('deep/a.txt');
  assert.match(await run(file), /^200/, 'a path may contain a slash');

  await login(page, server.url);
  await page.goto(`${server.url}/__svc__/openapi.html`);
  const again = await open(page, 'getFolder');
  await again.locator('input[placeholder^="folder"]').fill('deep');
  assert.match(await run(again), /^200/, 'the browser sends its session cookie');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const basic = page.locator('.auth-container', { hasText: 'basic' }).first();
  await basic.locator('input[type=text]').fill('alice');
  await basic.locator('input[type=password]').fill(testPassword);
  await basic.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).first().click();
  assert.match(await run(again), /^200/, 'Basic credentials are sent');
});
