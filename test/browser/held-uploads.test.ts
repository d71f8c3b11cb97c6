import assert from 'node:assert/strict';
import { browserTest, openFolder } from '../support/browser.ts';
import { inspecting } from '../support/inspecting.ts';
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
    await until('the inspection is requested', () => server.inspector.requests.length === 1);
    server.inspector.answerWaiting(202);
    await line('slow.txt').getByText('held for review').waitFor();
    await page.getByText('One file is held for review.').waitFor({ state: 'attached' });
    await field.setInputFiles([file('bad.txt', 'bad'), file('fine.txt', 'fine')]);
    await line('bad.txt').getByText('failed: Not this file.').waitFor();
    await page.getByRole('link', { name: 'fine.txt' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'slow.txt' }).count(), 0);
    await line('slow.txt').getByRole('link', { name: 'held for review' }).click();
    await page.getByRole('heading', { name: 'Waiting for review' }).waitFor({ state: 'attached' });
    await page.getByLabel('Select slow.txt').waitFor();
  },
);
