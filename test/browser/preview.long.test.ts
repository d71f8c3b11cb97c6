import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest, login, openBrowser, openFolder, openMenu } from '../support/browser.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64');

async function endSession(page: Page, server: TestServer): Promise<void> {
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie } });
}

async function signIn(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Your session has ended.').waitFor();
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
}

browserTest('after the session has ended and too many passwords were wrong, the page says until when logins are refused', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 1, ban_seconds: 600 } } });
  writeFileSync(join(server.home, 'a.png'), pixel);
  const page = await openFolder(t, server, { expectedErrors: /401|429/ });
  await endSession(page, server);
  await page.getByRole('link', { name: 'a.png' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Password').fill('wrong');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByText('The name or the password is not correct.').waitFor();
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  const words = await dialog.getByText('Too many attempts.').textContent();
  const [, hours, minutes] = /^Too many attempts\. You can try again at (?:.*, )?(\d\d):(\d\d)\.$/.exec(words ?? '') ?? [];
  const until = new Date();
  until.setUTCHours(Number(hours), Number(minutes), 0, 0);
  const inSeconds = (((until.getTime() - Date.now()) / 1000 + 86_400) % 86_400) - 600;
  assert.ok(inSeconds > -30 && inSeconds <= 60, `the end of the ban, rounded up to a full minute: ${words}`);
});

browserTest('without a session, a picture and a download ask for the password in the page; the selection stays', async (t) => {
  const server = await startServer(t);
  for (const name of ['a.png', 'b.png']) writeFileSync(join(server.home, name), pixel);
  const page = await openBrowser(t, { expectedErrors: /401/ });
  const challenged: string[] = [];
  page.on('response', (reply) => {
    if (/basic/i.test(reply.headers()['www-authenticate'] ?? '')) challenged.push(reply.url());
  });
  await login(page, server.url);
  challenged.splice(0);
  await endSession(page, server);
  await page.getByRole('link', { name: 'a.png' }).click();
  await signIn(page);
  const image = page.locator('dialog img');
  await image.waitFor();
  assert.equal(
    await page.evaluate("(async (image) => (await image.decode(), image.naturalWidth))(document.querySelector('dialog img'))"),
    1,
  );
  await page.keyboard.press('Escape');

  await page.getByLabel('Select b.png').check();
  await endSession(page, server);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  await signIn(page);
  assert.equal((await download).suggestedFilename(), 'b.png');
  assert.ok(await page.getByLabel('Select b.png').isChecked());
  assert.deepEqual(challenged, [], "the browser's own dialog never opens");
  await openMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

browserTest(
  'programs and texts of any name and encoding are shown as text; Back closes the preview and leaves the folder unchanged',
  async (t) => {
    const server = await startServer(t);
    mkdirSync(join(server.home, 'code'));
    const programs = ['a.js', 'b.py', 'c.go', 'd.rs', 'e.toml', 'Makefile', 'server.ts', 'f.tsx', '.gitignore', 'g.sh', 'h.css'];
    for (const name of programs) writeFileSync(join(server.home, 'code', name), `content of ${name}`);
    writeFileSync(join(server.home, 'code/latin1.txt'), Buffer.from('Gr\xfc\xdfe', 'latin1'));
    writeFileSync(join(server.home, 'code/windows.txt'), Buffer.from('\ufeffÄpfel', 'utf16le'));
    writeFileSync(join(server.home, 'code/film.ts'), Buffer.from([0x47, 0x40, 0x00, 0x10, 0xff]));
    const page = await openFolder(t, server);
    await page.getByRole('link', { name: 'code' }).click();
    await page.waitForURL('**/home/code/');
    await page.waitForLoadState();
    const content = page.locator('dialog .stage');
    const shows = async (name: string, expected: string) => {
      await page.getByRole('link', { name, exact: true }).click();
      await content.getByText(expected).waitFor();
      await page.keyboard.press('Escape');
      await content.waitFor({ state: 'detached' });
    };
    for (const name of programs) await shows(name, `content of ${name}`);
    await shows('latin1.txt', 'Grüße');
    await shows('windows.txt', 'Äpfel');
    await shows('film.ts', 'This file is not a text file.');

    assert.ok(!(await server.eventIds()).includes(40005), 'the page sends no HEAD before it reads a file');
    await page.getByRole('link', { name: 'a.js' }).click();
    await content.getByText('content of a.js').waitFor();
    await page.goBack();
    await content.waitFor({ state: 'detached' });
    assert.equal(page.url(), `${server.url}/home/code/`, 'Back closes the preview');
    await page.goForward();
    await content.getByText('content of a.js').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await content.getByText('content of b.py').waitFor();
    assert.equal(page.url(), `${server.url}/home/code/?preview=b.py`);
    await page.reload();
    await content.getByText('content of b.py').waitFor();
    await page.keyboard.press('Escape');
    await content.waitFor({ state: 'detached' });
    assert.equal(page.url(), `${server.url}/home/code/`, 'closing the preview goes back');
    await page.goto(`${server.url}/home/code/?preview=gone.js`);
    await page.getByText(/gone\.js.*: The file or folder no longer exists\./).waitFor();
    await page.waitForURL(`${server.url}/home/code/`);
    await page.goto(`${server.url}/home/code/?preview=a.js`);
    await content.getByText('content of a.js').waitFor();
    await page.keyboard.press('Escape');
    await content.waitFor({ state: 'detached' });
    assert.equal(page.url(), `${server.url}/home/code/`);
    await page.goto(`${server.url}/home/`);
    await page.getByRole('link', { name: 'code' }).click();
    await page.waitForURL('**/home/code/');
    await page.goBack();
    await page.waitForURL('**/home/');
  },
);

browserTest('a preview reports that its file was deleted meanwhile, or that it is not a picture', async (t) => {
  const server = await startServer(t);
  for (const name of ['broken.png', 'gone.txt']) writeFileSync(join(server.home, name), 'no picture');
  const page = await openFolder(t, server, { expectedErrors: /404/ });
  const preview = page.getByRole('dialog');
  await page.getByRole('link', { name: 'broken.png' }).click();
  await preview.getByText('This picture cannot be shown').waitFor();
  assert.equal(await preview.locator('img').count(), 0);
  await page.keyboard.press('Escape');
  await preview.waitFor({ state: 'detached' });
  // The file is deleted before its content is requested.
  await page.route('**/gone.txt?inline', async (route) => {
    rmSync(join(server.home, 'gone.txt'), { force: true });
    await route.continue();
  });
  await page.getByRole('link', { name: 'gone.txt' }).click();
  await preview.getByRole('alert').waitFor();
  assert.doesNotMatch((await preview.textContent()) ?? '', /errors|\{/);
});

browserTest('a part of the script that cannot be loaded is reported, and the rest of the page works', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'some text');
  const page = await openBrowser(t, { expectedErrors: /404/ });
  // As after an update: the page requests the old path of the script, but the service knows only the new one.
  const before = '**/assets/scripts.*/viewer.js';
  await page.route(before, (route) => route.fulfill({ status: 404 }));
  await login(page, server.url);
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.getByText('a.txt could not be opened: try again, or reload the page').waitFor();
  await page.getByLabel('Select a.txt').check();
  await page.unroute(before);
  await page.reload();
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.locator('dialog pre').getByText('some text').waitFor();
});
