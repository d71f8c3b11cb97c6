import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page, Response } from 'playwright-core';
import { assertAccessible, login, openBrowser, openMenu } from './browser.ts';
import { startServer } from './server.ts';

/** A configuration with everything that a page can show. */
const config = {
  group: { allow_own_password_change: true, show_recent: true, show_expectations: true, trash: { days: 30 } },
  expectations: { daily: { account: 'alice', path: '/*', every: '1d', opens: '2d' } },
  service: {
    triggers: ['One', 'Two, primary', 'Three, success', 'Four, info', 'Five, warning', 'Six, danger'],
    show_api_link: true,
    appearance: { title: 'Example', footer: 'Example Ltd', footer_links: { Imprint: 'https://example.com/' }, accent_color: '#7a2048' },
  },
};

export type ColorScheme = 'light' | 'dark';

/** Opens the pages and dialogs of an account, and checks each of them with axe-core. @param width of the window, in CSS pixels */
export async function assertPagesAccessible(t: TestContext, colorScheme: ColorScheme, width: number): Promise<void> {
  const server = await startServer(t, config);
  mkdirSync(join(server.home, 'A folder'));
  for (const name of ['a.txt', 'b.png', 'c.zip', 'd.mp4', `${'long '.repeat(30)}.txt`, `${'x'.repeat(200)}.bin`])
    writeFileSync(join(server.home, name), 'some text');
  const page = await openBrowser(t, { colorScheme, viewport: { width, height: 720 }, expectedErrors: /40[1349]|412|422/ });
  const look = async (what: string) => {
    await assertAccessible(page, what);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    if (overflow > 0) throw new Error(`${what} is ${overflow} px too wide`);
  };
  await page.goto(`${server.url}/__svc__/login`);
  await look('login');
  await page.locator('input[name=username]').fill('alice');
  await page.locator('input[name=password]').fill('wrong');
  await page.locator('form[action$=login] button').click();
  await page.getByRole('alert').waitFor();
  await look('failed login');
  await login(page, server.url);
  await look('listing');
  await page.getByLabel('Select a.txt').check();
  await look('selection');
  await page.getByRole('button', { name: 'Actions for a.txt' }).click();
  await page.getByRole('menu').waitFor();
  await look('menu of a row');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Moved a.txt to the trash').waitFor();
  await look('deletion');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored a.txt').waitFor();
  await page.getByLabel('Select a.txt').check();
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.locator('dialog pre').waitFor();
  await look('preview');
  await page.keyboard.press('Escape');
  await openMenu(page);
  // An open menu always covers a part of the page, so only the menu is checked.
  await assertAccessible(page, 'menu', `'#menu'`);
  await page.getByRole('button', { name: 'Keyboard' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await look('help');
  await page.keyboard.press('Escape');
  await page.keyboard.press('F2');
  await dialog.waitFor();
  await look('renaming');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('button', { name: 'A folder' }).waitFor();
  await look('moving');
  await page.keyboard.press('Escape');
  const upload = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('new') };
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([upload, { ...upload, name: 'new.txt' }]);
  await dialog.getByRole('heading', { name: 'a.txt' }).waitFor();
  await look('a taken name');
  await dialog.getByRole('button', { name: 'Skip' }).click();
  await page.locator('.queue li.done', { hasText: 'new.txt' }).waitFor({ state: 'attached' });
  await look('uploads');
  await page.goto(`${server.url}/home/A%20folder/`);
  await look('empty folder');
  await page.goto(`${server.url}/home/__svc__/recent`);
  await page.getByText('Uploaded').waitFor();
  await look('recent changes');
  await page.goto(`${server.url}/home/__svc__/expectations`);
  await page.getByText('Next due:').waitFor();
  await look('due files');
  await page.goto(`${server.url}/home/__svc__/trash`);
  await look('empty trash');
  for (const name of ['d.mp4', 'new.txt']) assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  writeFileSync(join(server.home, 'd.mp4'), 'another');
  await page.reload();
  await page.getByLabel('Select d.mp4').check();
  await look('trash');
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('heading', { name: 'Delete “d.mp4” for good?' }).waitFor();
  await look('question of the trash');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByLabel('New name').waitFor();
  await look('restoring an item whose name is taken');
  await page.goto(`${server.url}/home/__svc__/password-update`);
  await look('password');
  await page.goto(`${server.url}/home/missing/`);
  await look('not found');
}

/** Checks the page that asks before a form without scripts deletes something. */
export async function assertQuestionAccessible(t: TestContext, colorScheme: ColorScheme): Promise<void> {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openBrowser(t, { colorScheme });
  await login(page, server.url);
  await submit(page, { action: 'confirm-delete', 'selected-members': 'a.txt' });
  await page.getByRole('heading', { name: 'Delete “a.txt”?' }).waitFor();
  await assertAccessible(page, 'question');
}

/** Checks the pages in one of their languages. */
export async function assertLanguageAccessible(t: TestContext, language: string): Promise<void> {
  const server = await startServer(t, config);
  writeFileSync(join(server.home, 'a.txt'), 'some text');
  const page = await openBrowser(t, { locale: language, expectedErrors: /40[14]/ });
  const look = async (what: string) => {
    assert.equal(await page.locator('html').getAttribute('lang'), language, what);
    await assertAccessible(page, what);
  };
  await page.goto(`${server.url}/__svc__/login`);
  await look('login');
  await login(page, server.url);
  await look('listing');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await look('help');
  await page.goto(`${server.url}/home/__svc__/password-update`);
  await look('password');
  await page.goto(`${server.url}/home/missing/`);
  await look('not found');
}

/** Checks the pages of refused requests, and of forms that failed in part. */
export async function assertErrorPagesAccessible(t: TestContext, colorScheme: ColorScheme, width: number): Promise<void> {
  const server = await startServer(t, { account: { permissions: [['allow-read', 'allow-list', 'allow-delete-file']] } });
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openBrowser(t, { colorScheme, viewport: { width, height: 720 }, expectedErrors: /40[0-9]|422/ });
  await login(page, server.url);
  const cases = [
    { status: 404, path: '/home/missing/', fields: undefined },
    { status: 400, path: '/home/%ff/', fields: undefined },
    { status: 400, path: '/home/', fields: { action: 'explode' } },
    { status: 403, path: '/home/', fields: { action: 'create-folder', 'new-folder': 'x' } },
    { status: 404, path: '/home/', fields: { action: 'delete-members', 'selected-members': 'gone.txt' } },
  ];
  for (const { status, path, fields } of cases) {
    await page.goto(`${server.url}/home/`);
    const reply: Response | null = fields === undefined ? await page.goto(server.url + path) : await submit(page, fields);
    assert.equal(reply?.status(), status, path);
    assert.equal(await page.locator('h1').count(), 1);
    await assertAccessible(page, `${status} of ${path}`);
  }
}

/** Sends a form as the browser would without scripts. */
async function submit(page: Page, fields: Record<string, string>) {
  const replied = page.waitForResponse((reply) => reply.request().method() === 'POST');
  await page.evaluate(`((fields) => {
    const form = document.createElement('form');
    form.method = 'post';
    for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }));
    document.body.append(form);
    form.submit();
  })(${JSON.stringify(fields)})`);
  const reply: Response = await replied;
  await page.locator('main.card').waitFor();
  return reply;
}
