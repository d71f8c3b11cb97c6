import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { asOperator, signIn, startConsole } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';

browserTest('a handler that is started and stops again at once is reported in one message, with the reason', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500, reason: 'Still broken' } });
  const { server, console } = await startConsole(t, {
    event_handlers: { hook: { type: 'http', name: 'archive', url: receiver.url, target: '40017', fail_after_errors: 1 } },
  });
  for (const name of ['a', 'b']) await server.put(`/home/${name}`, name);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#handlers');
  const handler = page.locator('.handler');
  await handler.getByText('stopped', { exact: true }).waitFor();
  const told: string[] = [];
  await page.exposeFunction('told', (text: string) => told.push(text));
  await page.evaluate(`new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (/archive/.test(node.textContent)) told(node.textContent);
  }).observe(document.getElementById('notices'), { childList: true })`);
  await handler.getByRole('button', { name: 'Start' }).click();
  await page.getByText(/archive was started, but has stopped again: 500 Still broken/).waitFor();
  assert.equal(await page.getByText('archive was started.').count(), 0);
  assert.equal(told.filter((text) => text.includes('was started.')).length, 0);
});

browserTest('the request of a delivery is copied as a curl command with masked secrets and quoted arguments', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const secret = 'marker-C0pied-8zQ';
  const { server, console } = await startConsole(t, {
    event_handlers: {
      hook: { type: 'http', url: receiver.url, target: '40017', username: 'hook', password: secret, headers: { 'X-Api-Key': secret } },
    },
  });
  await server.put("/home/it's.txt", 'x');
  await until('the delivery is recorded', async () => {
    const { deliveries } = (await console.get('/api/deliveries', asOperator)).json<{ deliveries: unknown[] }>();
    return deliveries.length > 0;
  });
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn(page, console.url, '#deliveries');
  await page.locator('main tbody .row-link').first().click();
  await page.getByRole('button', { name: 'Copy as cURL' }).click();
  await page.getByText('Copied. Secrets are masked').waitFor();
  const command = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.match(command, /^curl -X 'POST' 'http:\/\/127\.0\.0\.1:\d+\/hook'/);
  assert.match(command, /-H 'authorization: (?:Basic )?\*\*\*'/i);
  assert.match(command, /-H 'x-api-key: \*\*\*'/i);
  // A quotation mark in the body does not end the argument.
  assert.match(command, /--data-raw '.*it'\\''s\.txt.*'$/s);
  assert.equal(command.includes(secret) || command.includes(btoa(`hook:${secret}`)), false);
});
