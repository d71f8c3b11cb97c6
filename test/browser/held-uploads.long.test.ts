import assert from 'node:assert/strict';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { heldOf, inspecting } from '../support/inspecting.ts';
import { until } from '../support/receiver.ts';

browserTest('the row of a resumable upload says that it is held', async (t) => {
  const server = await inspecting(t, { answer_within: 60 });
  server.inspector.decide = () => ({ status: 202 });
  const page = await openFolder(t, server, {}, '/home/d/');
  const large = { name: 'large.txt', mimeType: 'text/plain', buffer: Buffer.alloc(9_000_000) };
  await page.locator('#tools input[type=file]').first().setInputFiles([large]);
  await page.locator('.queue li', { hasText: 'large.txt' }).getByText('held for review').waitFor();
  assert.equal((await heldOf(server)).length, 1);
});

browserTest('on the page of held uploads an upload can be withdrawn, with and without scripts; the menu leads to the page', async (t) => {
  const server = await inspecting(t);
  for (const javaScriptEnabled of [true, false]) {
    for (const name of ['kept', 'withdrawn']) await server.put(`/home/d/${name}`, 'odd');
    const page = await openFolder(t, server, { javaScriptEnabled });
    if (javaScriptEnabled) {
      await page.getByRole('link', { name: 'Waiting for review' }).click();
      await page.getByLabel('Select kept').waitFor();
      await assertAccessible(page, 'held uploads');
    } else await page.goto(`${server.url}/home/__svc__/held/`);
    await page.getByLabel('Select withdrawn').check();
    await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
    await page.getByRole('heading', { name: 'Withdraw this upload?' }).waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'the question');
    await (javaScriptEnabled ? page.getByRole('dialog') : page).getByRole('button', { name: 'Withdraw', exact: true }).click();
    await page.getByText('One upload was withdrawn.').waitFor();
    await until('one held upload is left', async () => (await heldOf(server)).map(({ path }) => path).join() === '/d/kept');
  }
});
