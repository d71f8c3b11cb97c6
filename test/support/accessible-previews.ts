import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { strToU8, zipSync } from 'fflate';
import { silence } from '../../scripts/films.mjs';
import type { ColorScheme } from './accessible-pages.ts';
import { assertAccessible, login, openBrowser } from './browser.ts';
import { plainPng } from './pictures.ts';
import { startServer } from './server.ts';

const files: Record<string, string | Buffer> = {
  'a.txt': 'some text\n'.repeat(200),
  'b.md': '# Title\n\nText with [a link](a.txt).\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- [x] done\n\n```js\nconst a = 1; // so\n```\n',
  'c.csv': `name;price\n${'one;1\n'.repeat(1500)}`,
  'd.json': JSON.stringify({ list: Array.from({ length: 150 }, (_, index) => index), text: 'x', none: null }),
  'e.ts': '/** Says why. */\nexport const answer: number = 42; // "so"\n'.repeat(100),
  'f.zip': Buffer.from(zipSync({ 'in/read me.txt': strToU8('inside'), 'in/data.bin': strToU8('x') })),
  'g.zip': 'no archive',
  'h.pdf': '%PDF-1.4',
  'h2.pdf': 'no document',
  'i.png': plainPng(300, 200, [90, 120, 200]),
  'j.svg': '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>',
  'k.png': 'no picture',
  'l.mp4': 'no film',
  'm.wav': silence(60),
};

/** For each file, a selector that matches when the file is shown. */
const shown: readonly { name: string; ready: string }[] = [
  { name: 'a.txt', ready: 'pre' },
  { name: 'b.md', ready: '.markdown table' },
  { name: 'c.csv', ready: 'table' },
  { name: 'd.json', ready: 'details' },
  { name: 'e.ts', ready: '.c-keyword' },
  { name: 'f.zip', ready: '.members' },
  { name: 'g.zip', ready: '[role=alert]' },
  { name: 'h.pdf', ready: 'iframe' },
  { name: 'h2.pdf', ready: '.trouble:has-text("This PDF cannot be shown")' },
  { name: 'i.png', ready: 'img' },
  { name: 'j.svg', ready: 'img' },
  { name: 'k.png', ready: '.trouble' },
  { name: 'l.mp4', ready: '.trouble' },
];

/**
 * Checks all previews, the grid, the player, a search page and a drop box with axe-core.
 */
export async function assertPreviewsAccessible(
  t: TestContext,
  { colorScheme, width }: { colorScheme: ColorScheme; width: number },
): Promise<void> {
  const permissions = [['allow-full-control'], ['/drop', 'allow-write']];
  const server = await startServer(t, {
    account: { permissions },
    service: { metadata_fields: ['x-labels', 'project, required', 'note', 'customer-*'] },
  });
  for (const folder of ['drop', 'files']) mkdirSync(join(server.home, folder));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(server.home, 'files', name), content);
  const page = await openBrowser(t, { colorScheme, viewport: { width, height: 720 }, expectedErrors: /403/ });
  const look = async (what: string) => {
    await assertAccessible(page, what);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    if (overflow > 0) throw new Error(`${what} is ${overflow} px too wide`);
  };
  await login(page, server.url, '/home/files/');
  const dialog = page.getByRole('dialog');
  for (const { name, ready } of shown) {
    await page.getByRole('link', { name, exact: true }).click();
    await page.locator(`.stage ${ready}`).first().waitFor();
    await look(name);
    if (name === 'f.zip') {
      await dialog.getByRole('button', { name: 'read me.txt', exact: true }).click();
      await dialog.getByText('inside').waitFor();
      await look('a member of an archive');
    }
    // Escape may have no effect here, because the frame of a PDF may have the keyboard focus.
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
  }
  await page.getByRole('link', { name: 'm.wav' }).click();
  await page.getByRole('region', { name: 'Player' }).waitFor();
  await page.getByRole('link', { name: 'Show as a grid' }).click();
  await page.getByRole('link', { name: 'i.png' }).scrollIntoViewIfNeeded();
  await page.locator('canvas.thumbnail').waitFor();
  await look('the grid and the player');
  await page.getByRole('link', { name: 'Show as a list' }).click();
  await page.keyboard.press('/');
  await page.getByRole('searchbox').fill('nothing like it');
  await page.getByText('No name here contains this text.').waitFor();
  await look('a filter without matches');
  await page.getByRole('searchbox').fill('m.wav');
  await page.keyboard.press('Enter');
  await page.getByText('One item was found.').waitFor();
  await look('what was found');
  await page.goto(`${server.url}/home/?search=nothing`);
  await page.getByText('Nothing found for “nothing”').waitFor();
  await look('a search that found nothing');
  await page.goto(`${server.url}/home/files/`);
  const upload = { name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('new') };
  await page.locator('#tools input[type=file]').first().setInputFiles(upload);
  await dialog.getByLabel('project').waitFor();
  await look('details of an upload');
  await page.keyboard.press('Escape');
  await page.goto(`${server.url}/home/drop/`);
  await page.getByText('You cannot see what is already here.').waitFor();
  await look('a drop box');
  await page.context().clearCookies({ name: 'SVC_HTTP_SESSION' });
  await page.locator('.crumbs').getByRole('link', { name: 'Files' }).click();
  await dialog.getByLabel('Password').waitFor();
  await look('a session that is over');
}
