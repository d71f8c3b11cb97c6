import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';
import { bearer } from '../support/tokens.ts';

browserTest('an access token is created on the page of tokens, copied and replaced; the old and the new one are revoked', async (t) => {
  const server = await startServer(t, {
    services: { web: { type: 'http', port: 0, name: 'Files' }, inner: { type: 'http', port: 0 } },
  });
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const page = await openFolder(t, server, { expectedErrors: /422|400/ });
  await page.getByRole('link', { name: 'Access tokens' }).click();
  await page.getByText('You have no access tokens.').waitFor();
  await page.locator('summary .button', { hasText: 'New token' }).click();
  await page.getByText('You have no access tokens.').waitFor({ state: 'hidden' });
  assert.equal(await page.locator('summary .button').isVisible(), false, 'above its open form, the button is a title');
  await assertAccessible(page, 'the page of access tokens');
  await page.getByLabel('What it is for').fill('nightly build');
  await page.getByLabel(/^Addresses/).fill('127.0.0.0/8\n::1');
  await page.getByLabel(/^Folders and files/).fill('out');
  const create = page.getByRole('button', { name: 'Create token' });
  const rights = (kind: string) => page.getByRole('radio', { name: kind });
  assert.ok(await rights('Only read').isChecked(), 'a new token has the fewest rights');
  await page.getByLabel('What it is for').fill('');
  await create.click();
  await page.getByRole('alert').getByText('Fill in this field.').waitFor();
  assert.equal(await page.evaluate<string>('document.activeElement.name'), 'name');
  await assertAccessible(page, 'the form for a new token without a name');
  await page.getByLabel('What it is for').fill('nightly build');
  assert.equal(await page.getByRole('alert').count(), 0);
  await rights('Everything that you may do').check();
  await page.getByText(/^Read files, List folders, .*Make access tokens$/).waitFor();
  await rights('Only what you choose').check();
  await create.click();
  await page.getByRole('alert').getByText('Choose at least one right for the token.').waitFor();
  await page.getByLabel('Read files').check();
  await page.getByLabel('Files', { exact: true }).check();
  const sizes = await page.locator('.line input:visible').evaluateAll((all) => [...new Set(all.map((one) => one.offsetWidth))]);
  assert.equal(sizes.length, 1, 'radio buttons are as large as check boxes');
  await assertAccessible(page, 'the form for a new token');
  await create.click();
  await page.getByRole('alert').getByText('/').waitFor();
  assert.equal(await page.getByLabel('What it is for').inputValue(), 'nightly build', 'after a refusal the typed text stays');
  assert.equal(await page.getByLabel('Read files').isChecked(), true);
  await page.getByLabel(/^Folders and files/).fill('/a.txt');
  await create.click();

  await page.getByRole('heading', { name: 'The token is ready' }).waitFor();
  const secret = page.getByLabel(/^Token:/);
  const first = await secret.inputValue();
  assert.equal((await server.get('/home/a.txt', bearer(first))).text, 'a');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), first);
  await assertAccessible(page, 'a new token');
  await page.getByRole('link', { name: 'To your access tokens' }).click();
  await page.getByText('127.0.0.0/8, ::1').waitFor();
  assert.ok(!(await page.content()).includes(first), 'the token is shown only once');
  await assertAccessible(page, 'the list of access tokens');
  const newToken = page.locator('summary', { hasText: 'New token' });
  const above = await newToken.evaluate((button) => button.getBoundingClientRect().bottom);
  const below = await page.locator('#list').evaluate((list) => list.getBoundingClientRect().top);
  assert.ok(above < below, 'the button for a new token is above the list');
  const [row] = await page.locator('tbody tr').allInnerTexts();
  assert.match(row ?? '', /nightly build[\s\S]*Read files[\s\S]*at Files[\s\S]*created now/);
  assert.ok(!row?.includes('UTC'), 'times are local');
  await page.getByRole('button', { name: 'Actions for nightly build' }).click();
  await page.getByRole('menuitem', { name: 'Replace' }).click();
  await page.getByLabel('The old token stays valid').selectOption({ label: 'for one hour' });
  await assertAccessible(page, 'the question before a token is replaced');
  await page.getByRole('button', { name: 'Replace' }).click();
  const second = await secret.inputValue();
  for (const token of [first, second]) assert.equal((await server.get('/home/a.txt', bearer(token))).status, 200);
  await page.getByRole('link', { name: 'To your access tokens' }).click();
  await page.getByLabel('Select nightly build').nth(1).check();
  await page.getByRole('button', { name: 'Replace' }).waitFor();
  await page.getByLabel('Select nightly build').nth(0).check();
  await page.getByRole('button', { name: 'Replace' }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('heading', { name: 'Revoke these 2 tokens?' }).waitFor();
  await page.getByText(/^They stop working at once/).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('2 tokens and links were revoked.').waitFor();
  for (const token of [first, second]) assert.equal((await server.get('/home/a.txt', bearer(token))).status, 401);
});

browserTest('an access token can be created without scripts, in each language, on a small phone', async (t) => {
  const server = await startServer(t);
  for (const [locale, create, ready] of [
    ['en', 'Create token', 'The token is ready'],
    ['de', 'Token erstellen', 'Das Token ist fertig'],
    ['fr', 'Créer le jeton', 'Le jeton est prêt'],
    ['es', 'Crear token', 'El token está listo'],
  ] as const) {
    const page = await openFolder(
      t,
      server,
      { javaScriptEnabled: false, locale, viewport: { width: 320, height: 640 } },
      '/home/__svc__/tokens',
    );
    const details = page.locator('details');
    if ((await details.getAttribute('open')) === null) await details.locator('summary').click();
    const isWider = await page.locator('html').evaluate((html) => html.scrollWidth > html.clientWidth);
    assert.equal(isWider, false, `${locale}: nothing scrolls sideways`);
    await page.locator('#name').fill(`${locale} <b>`);
    await page.locator('[name=rights][value=read]').check();
    await page.getByRole('button', { name: create }).click();
    await page.getByRole('heading', { name: ready }).waitFor();
    assert.match(await page.locator('#secret').inputValue(), /^svc_t_[0-9A-Za-z]{49}$/);
  }
  const { tokens } = (await server.get('/home/__svc__/tokens', { headers: { accept: 'application/json' } })).json<{ tokens: object[] }>();
  assert.equal(tokens.length, 4);
  for (const token of tokens) assert.deepEqual(token, { ...token, permissions: ['allow-read', 'allow-list', 'allow-traverse'] });
});
