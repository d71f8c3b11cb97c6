import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

const service = { metadata_fields: ['x-labels, required', 'project, required', 'customer-*, optional'] };
const file = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') };
const viewport = { width: 320, height: 640 };

browserTest('without scripts the upload form has fields for metadata, and undeclared metadata is refused', async (t) => {
  const server = await startServer(t, { service });
  const page = await openFolder(t, server, { javaScriptEnabled: false, expectedErrors: /400/, viewport });
  const upload = async () => {
    await page.getByLabel('Upload files').setInputFiles(file);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
  };
  await upload();
  await page.locator('input[name=metadata-value]:invalid:focus').waitFor();
  await page.getByLabel('project (required)').fill('Frühling 🌱');
  await page.getByLabel('Name, like customer-*').fill('color');
  await page.getByLabel('Value').fill('red');
  await upload();
  await page.getByText('has the key "color", which metadata_fields does not list').first().waitFor();
  assert.deepEqual(readdirSync(server.home), [], 'nothing is stored with undeclared metadata');
  await page.getByRole('link', { name: 'Back to the folder' }).click();
  await page.getByLabel('project (required)').fill('Frühling 🌱');
  await page.getByLabel('Name, like customer-*').fill('customer-1');
  await page.getByLabel('Value').fill('Müller, x="Anna"');
  await upload();
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  const stored = (await server.events()).findLast((event) => event.id === '40017');
  assert.deepEqual(stored?.data.metadata, { project: ['Frühling 🌱'], 'customer-1': ['Müller, x="Anna"'] });
});

browserTest('with scripts a dialog asks for the metadata of each batch of files', async (t) => {
  const server = await startServer(t, { service });
  const page = await openFolder(t, server, { viewport });
  assert.equal(await page.locator('#metadata').isVisible(), false, 'no metadata is requested before files are chosen');
  const choose = (...names: string[]) =>
    page
      .locator('#tools input[type=file]:not([name])')
      .first()
      .setInputFiles(names.map((name) => ({ ...file, name })));
  const dialog = page.getByRole('dialog');
  await choose('a.txt');
  await dialog.getByRole('heading', { name: 'Upload one file' }).waitFor();
  await assertAccessible(page, 'the dialog');
  const project = dialog.getByLabel('project (required)');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await dialog.locator('input[name=metadata-value]:invalid:focus').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await choose('a.txt', 'b.txt');
  await dialog.getByRole('heading', { name: 'Upload 2 files' }).waitFor();
  await project.fill('one');
  await dialog.getByRole('button', { name: 'Another detail' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('project');
  await dialog.getByLabel('Value').last().fill('two');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  for (const name of ['a.txt', 'b.txt']) await page.getByRole('link', { name }).waitFor();
  assert.deepEqual(
    readdirSync(server.home),
    ['a.txt', 'b.txt'],
    'nothing was sent after the dialog was cancelled; both files were sent after it was answered',
  );
  await choose('c.txt');
  assert.equal(await project.inputValue(), 'one', 'the previous answer is shown');
  await dialog.getByLabel('Value').last().fill('');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('link', { name: 'c.txt' }).waitFor();
  const stored = (await server.events()).filter((event) => event.id === '40017').map(({ data }) => data.metadata);
  const both = { project: ['one', 'two'] };
  assert.deepEqual(stored, [both, both, { project: ['one'] }]);
});

browserTest('if the metadata header is optional, required values are demanded only if another value is given', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: ['x-labels', 'project, required', 'note, optional'] } });
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  const fields = page.locator('#tools input[type=file]:not([name])').first();
  await fields.setInputFiles(file);
  await dialog.getByLabel('note').fill('x');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await dialog.locator('input:invalid:focus').waitFor();
  await dialog.getByLabel('note').fill('');
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  assert.equal((await server.events()).findLast((event) => event.id === '40017')?.data.metadata, undefined);
});

browserTest('without metadata_fields, the page asks for no metadata', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  assert.equal(await page.locator('#metadata').count(), 0);
});
