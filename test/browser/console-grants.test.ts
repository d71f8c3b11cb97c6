import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openBrowser } from '../support/browser.ts';
import { signIn, startConsole } from '../support/console.ts';
import { makeLink, visit } from '../support/links.ts';
import { bearer, makeToken } from '../support/tokens.ts';

browserTest('an operator sees the tokens and links of all accounts or of one, and revokes them; a viewer only reads', async (t) => {
  const { server, console } = await startConsole(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const { token } = await makeToken(server, { name: 'nightly <b>', path: ['/in', '/a.txt'], permissions: ['allow-read'] });
  const link = await makeLink(server, { path: '/a.txt', maximum_downloads: 3, password: 'a word' });
  await server.get('/home/a.txt', bearer(token));
  const viewer = await openBrowser(t, { expectedErrors: /401/, viewport: { width: 320, height: 640 } });
  await signIn(viewer, console.url, '#accounts', 'viewer');
  const row = (page: typeof viewer, words: string) => page.locator('main tbody tr', { hasText: words });
  const seen = await row(viewer, 'nightly <b>').innerText();
  for (const part of ['alice', '/in, /a.txt', 'allow-read', '127.0.0.1']) assert.ok(seen.includes(part), `${part}: ${seen}`);
  const shown = await row(viewer, 'download, with a password').innerText();
  for (const part of ['/a.txt', '0 of 3', 'never']) assert.ok(shown.includes(part), `${part}: ${shown}`);
  assert.equal(await viewer.getByRole('button', { name: 'Revoke' }).count(), 0);
  assert.ok(!(await viewer.content()).includes(token) && !(await viewer.content()).includes(link.secret));
  await assertAccessible(viewer, 'tokens and links in the console');
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#accounts');
  await page.getByRole('searchbox').fill('bob');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('Nothing matches “bob”.').first().waitFor();
  await row(page, 'nightly <b>').waitFor({ state: 'detached' });
  await page.getByRole('searchbox').fill('alice');
  await page.getByRole('button', { name: 'Search' }).click();
  for (const [words, question] of [
    ['nightly <b>', 'Revoke this token?'],
    ['download, with a password', 'Revoke this link?'],
  ] as const) {
    await row(page, words).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog', { name: question }).getByRole('button', { name: 'Revoke' }).click();
    await row(page, words).waitFor({ state: 'detached' });
  }
  assert.equal((await server.get('/home/a.txt', bearer(token))).status, 401);
  assert.equal((await visit(server, 'GET', link.at)).status, 410);
});
