import assert from 'node:assert/strict';
import { browserTest, openFolder } from '../support/browser.ts';
import { heldOf, inspecting } from '../support/inspecting.ts';
import { until } from '../support/receiver.ts';

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

browserTest(
  'the row of an upload says that the file is being checked, refused (with the reason) or held, and links to the held uploads',
  async (t) => {
    const server = await inspecting(t, { answer_within: 60 }, { service: { public_error: true } });
    const page = await openFolder(t, server, { expectedErrors: /422/ }, '/home/d/');
    const field = page.locator('#tools input[type=file]').first();
    const line = (name: string) => page.locator('.queue li', { hasText: name });
    await field.setInputFiles([file('slow.txt', 'wait')]);
    await line('slow.txt').getByText('being checked').waitFor();
    await page.locator('.queue header', { hasText: '1 being checked' }).waitFor();
    await until('the inspection is requested', () => server.inspector.requests.length === 1);
    server.inspector.answerWaiting(202);
    await line('slow.txt').getByText('held for review').waitFor();
    await page.getByText('One file is held for review.').waitFor({ state: 'attached' });
    const summary = page.locator('.queue header p');
    assert.equal(await summary.textContent(), '4 bytes of 4 bytes', 'the line of a single upload says that it is held');
    await page.setViewportSize({ width: 375, height: 667 });
    await page.locator('.queue').getByRole('button', { name: 'Show less' }).click();
    await page.locator('.queue.folded header', { hasText: '1 of 1 · 1 held for review' }).waitFor();
    const link = page.locator('.queue header').getByRole('link', { name: '1 held for review' });
    assert.equal(await link.getAttribute('href'), '/home/__svc__/held/');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator('.queue').getByRole('button', { name: 'Show all uploads' }).click();
    await field.setInputFiles([file('bad.txt', 'bad'), file('fine.txt', 'fine')]);
    await line('bad.txt').getByText('failed: Not this file.').waitFor();
    await page.getByRole('link', { name: 'fine.txt' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'slow.txt' }).count(), 0);
    await line('slow.txt').getByRole('link', { name: 'held for review' }).click();
    await page.getByRole('heading', { name: 'Waiting for review' }).waitFor({ state: 'attached' });
    await page.getByLabel('Select slow.txt').waitFor();
  },
);

browserTest('an upload whose inspection is late is “being checked” until the verdict, and then done or failed', async (t) => {
  const server = await inspecting(t, { answer_within: 1 });
  const page = await openFolder(t, server, { expectedErrors: /404/ }, '/home/d/');
  const line = (name: string) => page.locator('.queue li', { hasText: name });
  for (const [name, status, result] of [
    ['good.txt', 204, 'done'],
    ['refused.txt', 422, 'failed: it was refused or withdrawn'],
  ] as const) {
    await page
      .locator('#tools input[type=file]')
      .first()
      .setInputFiles([file(name, 'wait')]);
    await until('the upload is held', async () => (await heldOf(server)).length === 1);
    await line(name).getByText('being checked', { exact: true }).waitFor();
    await page.locator('.queue header', { hasText: '1 being checked' }).waitFor();
    assert.equal(await line(name).getByRole('link').count(), 0, 'nobody has to review it yet');
    server.inspector.answerWaiting(status);
    await line(name).getByText(result).waitFor();
  }
  await page.locator('#list').getByRole('link', { name: 'good.txt' }).waitFor();
});
