import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder, openMenu } from '../support/browser.ts';
import { heldOf, inspecting } from '../support/inspecting.ts';
import { until } from '../support/receiver.ts';

const file = (name: string, text: string, size = text.length) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.concat([Buffer.from(text), Buffer.alloc(size - text.length, ' ')]),
});

browserTest('the line of an upload says that it is checked, refused with the message, or held, and leads to what waits', async (t) => {
  const server = await inspecting(t, { answer_within: 60 }, { service: { public_error: true } });
  const page = await openFolder(t, server, { expectedErrors: /422/ }, '/home/d/');
  const field = page.locator('#tools input[type=file]').first();
  const line = (name: string) => page.locator('.queue li', { hasText: name });
  // A small one and one that is sent in parts.
  for (const size of [20, 9_000_000]) {
    server.inspector.decide = ({ body }) => (body.includes('wait') ? undefined : { status: 204 });
    await field.setInputFiles([file(`slow-${size}.txt`, 'wait', size)]);
    await line(`slow-${size}.txt`).getByText('being checked').waitFor();
    await until('the question', () => server.inspector.requests.some(({ facts }) => facts.file.name === `slow-${size}.txt`));
    server.inspector.answerWaiting(202);
    await line(`slow-${size}.txt`).getByText('held for review').waitFor();
  }
  await page.getByText('One file is held for review.').waitFor({ state: 'attached' });
  server.inspector.decide = undefined;
  await field.setInputFiles([file('bad.txt', 'bad'), file('fine.txt', 'fine')]);
  await line('bad.txt').getByText('failed: Not this file.').waitFor();
  await page.getByRole('link', { name: 'fine.txt' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'slow-20.txt' }).count(), 0);
  await line('slow-20.txt').getByRole('link', { name: 'held for review' }).click();
  await page.getByRole('heading', { name: 'Waiting for review' }).waitFor({ state: 'attached' });
  await page.getByLabel('slow-20.txt').waitFor();
});

browserTest('the page of what waits: found by the menu, it works with scripts and without them', async (t) => {
  const server = await inspecting(t);
  mkdirSync(join(server.home, 'e'));
  for (const javaScriptEnabled of [true, false]) {
    for (const name of ['kept', 'withdrawn']) await server.put(`/home/d/${name}`, 'odd');
    const page = await openFolder(t, server, { javaScriptEnabled });
    if (javaScriptEnabled) {
      await openMenu(page);
      await page.getByRole('link', { name: 'Waiting for review' }).click();
      await page.getByLabel('kept').waitFor();
      await assertAccessible(page, 'held uploads');
    } else await page.goto(`${server.url}/home/__svc__/held/`);
    await page.getByLabel('withdrawn').check();
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('heading', { name: 'Withdraw this upload?' }).waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'the question');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('One upload was withdrawn.').waitFor();
    await until('one is left', async () => (await heldOf(server)).map(({ path }) => path).join() === '/d/kept');
  }
});
