import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { assertAccessible, login, openBrowser } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

const service = { metadata_fields: ['x-labels, required', 'project, required', 'customer-*, optional'] };
const file = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') };

for (const javaScriptEnabled of [false, true]) {
  test(`uploads with the metadata that the service requires, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async (t) => {
    const server = await startServer(t, { service });
    const page = await openBrowser(t, { javaScriptEnabled, expectedErrors: /400/, viewport: { width: 320, height: 640 } });
    if (!page) return;
    const upload = async () => {
      await page.locator('#tools input[type=file]').first().setInputFiles(file);
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Upload', exact: true }).click();
    };
    await login(page, server.url);
    const field = page.getByLabel('Details of the files');
    await page.getByText('project (required) · customer-*').waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'the field');

    await upload();
    await page.locator('#metadata:invalid:focus').waitFor();
    await field.fill('color=red');
    await upload();
    await page.getByText('has the key "color", which is not declared').first().waitFor();
    assert.deepEqual(readdirSync(server.home), [], 'nothing is stored without it');

    if (!javaScriptEnabled) await page.getByRole('link', { name: 'Back to the folder' }).click();
    await field.fill('project=Frühling 🌱, "customer-1=Müller, Anna"');
    await upload();
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    const stored = (await server.events()).findLast((event) => event.id === '40017');
    assert.deepEqual(stored?.data.metadata, { project: ['Frühling 🌱'], 'customer-1': ['Müller, Anna'] });
  });
}

test('a service without metadata shows no field for it', async (t) => {
  const server = await startServer(t);
  const page = await openBrowser(t);
  if (!page) return;
  await login(page, server.url);
  assert.equal(await page.locator('#metadata').count(), 0);
});
