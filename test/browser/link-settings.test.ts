import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { makeLink } from '../support/links.ts';
import { startServer } from '../support/server.ts';

browserTest(
  'a link can be changed, and its address stays; before a further link to an item, the dialog says how many there are',
  async (t) => {
    const server = await startServer(t);
    writeFileSync(join(server.home, 'plan.txt'), 'the plan');
    const link = await makeLink(server, { path: '/plan.txt', note: 'For Bob', expires: 3600, password: 'a word' });
    const page = await openFolder(t, server, { expectedErrors: /ERR_FAILED/ }, '/home/__svc__/links');
    assert.equal(await page.getByText(link.id).count(), 0, 'a note is enough to tell links apart');
    await page.getByRole('button', { name: 'Actions for plan.txt' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note for the reader').fill('');
    await assertAccessible(page, 'the dialog that changes a link');
    assert.equal(await dialog.getByLabel('Valid until').inputValue(), 'keep');
    await page.route('**/links/*', (route) => route.abort(), { times: 1 });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('no connection').waitFor();
    await dialog.getByLabel('No password any more').check();
    assert.equal(await dialog.getByLabel('New password').isDisabled(), true);
    await dialog.getByLabel('Maximum number of downloads').fill('5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The link to plan.txt was changed.').waitFor();
    await page.getByText('0 of 5 downloads').waitFor();
    assert.equal(await (await fetch(link.url)).text(), 'the plan');
    const [listed] = (await server.get('/home/__svc__/links', { headers: { accept: 'application/json' } })).json<{
      links: { expires: string; note: string }[];
    }>().links;
    assert.deepEqual([listed?.expires, listed?.note], [link.expires, '']);
    await page.goto(`${server.url}/home/`);
    await page.getByRole('button', { name: 'Actions for plan.txt' }).click();
    await page.getByRole('menuitem', { name: 'Share' }).click();
    await dialog.getByText('There is already 1 link to this.').waitFor();
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await dialog.getByText('The link is ready').waitFor();
    await dialog.getByRole('link', { name: 'Show all links' }).click();
    await page.getByText(`ID ${link.id}`).waitFor();
  },
);

browserTest(
  'the page of links creates another address for a link, with the same settings, because the address of a link is not stored',
  async (t) => {
    const server = await startServer(t);
    writeFileSync(join(server.home, 'plan.txt'), 'the plan');
    const old = await makeLink(server, {
      path: '/plan.txt',
      note: 'For Bob',
      maximum_downloads: 3,
      expires: 3 * 86_400,
      password: 'a word',
    });
    const page = await openFolder(t, server, {}, '/home/__svc__/links');
    await page.getByRole('button', { name: 'Actions for plan.txt' }).click();
    await page.getByRole('menuitem', { name: 'New address' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note for the reader').waitFor();
    assert.equal(await dialog.getByLabel('Note for the reader').inputValue(), 'For Bob');
    assert.equal(await dialog.getByLabel('Maximum number of downloads').inputValue(), '3');
    assert.equal(await dialog.getByLabel('Valid for').inputValue(), '3');
    await assertAccessible(page, 'the dialog for a new address');
    assert.equal(await dialog.getByLabel('Last day').isVisible(), false);
    await dialog.getByLabel('Valid for').selectOption('date');
    const inTenDays = new Date(Date.now() + 10 * 86_400_000).toLocaleDateString('sv');
    await dialog.getByLabel('Last day').fill(inTenDays);
    await assertAccessible(page, 'the dialog with a date');
    await dialog.getByLabel('Password', { exact: true }).fill('another word');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await dialog.getByText('The link is ready').waitFor();
    const listed = await server.send('GET', '/home/__svc__/links', { headers: { accept: 'application/json' } });
    const end = new Date(`${inTenDays}T00:00`);
    end.setDate(end.getDate() + 1);
    const until = Date.parse(JSON.parse(listed.text).links[0].expires);
    assert.ok(Math.abs(until - end.getTime()) < 5000, `the link ends with that day, not at ${new Date(until).toISOString()}`);
    const url = await dialog.getByLabel('Address of the link').inputValue();
    assert.notEqual(url, old.url);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('0 of 3 downloads').nth(1).waitFor();
    const authorization = `Basic ${btoa('x:another word')}`;
    const read = await fetch(`${url}plan.txt`, { headers: { authorization } });
    assert.equal(await read.text(), 'the plan');
    await page.getByLabel('Select plan.txt').last().check();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('One link was revoked.').waitFor();
    await page.locator('tbody tr:only-child', { hasText: /created (now|\d+ minutes? ago)/ }).waitFor();
  },
);
