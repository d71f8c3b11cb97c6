import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Download } from 'playwright-core';
import { centralHeader, endRecords } from '../../src/lib/zip/zip-records.ts';
import { assertAccessible, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { makeZip } from '../support/zips.ts';

browserTest('members of an archive are listed, previewed (also by keyboard) and saved; unreadable members are reported', async (t) => {
  const server = await startServer(t);
  const folder = temporaryFolder(t);
  const picture = Buffer.from([0x89, 1, 2, 3, 0, 255]);
  const members = [
    { name: 'inner/read.md', content: Buffer.from('# Inside\n\n[relative](x.md) ![p](p.png)\n') },
    { name: 'inner/', content: Buffer.alloc(0), method: 0 },
    { name: 'big.txt', content: Buffer.alloc(3_000_000, 'line of a long text\n') },
    { name: 'picture.png', content: picture },
    { name: '<img src=x onerror=owned()>\u202egnp.txt', content: Buffer.from('harmless') },
    { name: '../../up.txt', content: Buffer.from('up') },
    { name: 'secret.txt', content: Buffer.from('x'), flags: 0x0801 },
    { name: 'bomb.txt', content: Buffer.alloc(20_000_000), sizeBytes: 1000 },
  ];
  writeFileSync(join(server.home, 'some.zip'), makeZip(members, { isLarge: true, comment: 'made by a test' }));
  const page = await openFolder(t, server);
  await page.getByRole('link', { name: 'some.zip' }).click();
  const stage = page.locator('dialog .stage');
  await stage.getByText('8 items in this archive.').waitFor();
  assert.equal(await stage.locator('li').count(), 9, 'a folder that is no member of its own has a line, too');
  assert.equal(await stage.locator('img, script').count(), 0);
  const names = await stage.locator('li bdi').allInnerTexts();
  assert.equal(names.indexOf('inner/'), names.indexOf('read.md') - 1, 'a folder comes before its members');
  await stage.getByText('<img src=x onerror=owned()>[U+202E]gnp.txt').waitFor();
  assert.match((await stage.locator('li', { hasText: 'big.txt' }).textContent()) ?? '', /3\sMB.*2024/);
  await assertAccessible(page, 'an archive');

  await stage.getByRole('button', { name: 'read.md', exact: true }).press('Enter');
  await stage.getByRole('heading', { name: 'Inside' }).waitFor();
  assert.equal(await stage.locator('a, img').count(), 0, 'relative URLs become neither links nor pictures');
  await assertAccessible(page, 'a member');
  await page.keyboard.press('Enter');
  await stage.locator('li').first().waitFor();
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'read.md', 'the focus is back on the member');

  await stage.getByRole('button', { name: 'big.txt', exact: true }).click();
  await stage.getByText('Only the first 1,000 lines are shown.').waitFor();
  await page.goBack();
  await stage.locator('li').first().waitFor();
  for (const [name, problem] of [
    ['secret.txt', 'it is encrypted'],
    ['bomb.txt', 'it is damaged'],
  ] as const) {
    await stage.getByRole('button', { name, exact: true }).click();
    await stage.getByText(problem).waitFor();
    await stage.getByRole('button', { name: 'Back to the archive' }).click();
  }
  for (const [name, content, fileName] of [
    ['big.txt', members[2]?.content, 'big.txt'],
    ['picture.png', picture, 'picture.png'],
    ['../../up.txt', Buffer.from('up'), 'up.txt'],
  ] as const) {
    const saving: Promise<Download> = page.waitForEvent('download');
    await stage.getByRole('button', { name: `Download ${name}` }).click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), fileName);
    const path = join(folder, fileName);
    await saved.saveAs(path);
    assert.ok(readFileSync(path).equals(content as Buffer), name);
  }
  await stage.getByRole('button', { name: 'read.md', exact: true }).click();
  await stage.getByRole('heading', { name: 'Inside' }).waitFor();
  await page.keyboard.press('Escape');
  await stage.waitFor({ state: 'detached' });
  await page.waitForURL(`${server.url}/home/`);
  // Forward leads to the archive, and then to its member. There, one press of Close also leads back to the folder.
  await page.goForward();
  await stage.locator('li').first().waitFor();
  await page.goForward();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await stage.waitFor({ state: 'detached' });
  await page.waitForURL(`${server.url}/home/`);
});

browserTest('if the connection breaks while a member of an archive is downloaded, the preview reports it', async (t) => {
  const server = await startServer(t);
  const member = { name: 'noise.bin', content: randomBytes(300_000), method: 0 };
  writeFileSync(join(server.home, 'some.zip'), makeZip([member]));
  const page = await openBrowser(t);
  await page.addInitScript(`(() => {
    const real = fetch;
    globalThis.fetch = async (...request) => {
      const reply = await real(...request);
      if (!globalThis.isBroken) return reply;
      let count = 0;
      const pull = (body) => (count++ === 0 ? body.enqueue(new Uint8Array(10)) : body.error(new TypeError('network error')));
      return new Response(new ReadableStream({ pull }), reply);
    };
  })()`);
  await login(page, server.url);
  await page.getByRole('link', { name: 'some.zip' }).click();
  const stage = page.locator('dialog .stage');
  await stage.getByText('noise.bin').waitFor();
  await page.evaluate('globalThis.isBroken = true');
  await stage.getByRole('button', { name: 'Download noise.bin' }).click();
  await stage.getByRole('alert').getByText('no connection').waitFor();
});

browserTest(
  'of a million members of an archive, 500 are shown, and more on demand; a file that is not an archive is reported',
  async (t) => {
    const server = await startServer(t);
    const count = 1_000_000;
    const record = centralHeader({ name: 'member.txt', isFolder: false, sizeBytes: 5, modifiedMs: 1_700_000_000_000 }, 0, 0);
    const directory = Buffer.alloc(record.length * count, record);
    writeFileSync(join(server.home, 'million.zip'), Buffer.concat([directory, endRecords(count, directory.length, 0)]));
    writeFileSync(join(server.home, 'none.zip'), 'nothing of the kind');
    const page = await openBrowser(t);
    let readBytes = 0;
    page.on('response', (reply) => {
      if (reply.status() === 206) readBytes += Number(reply.headers()['content-length']);
    });
    await login(page, server.url);
    await page.getByRole('link', { name: 'million.zip' }).click();
    const stage = page.locator('dialog .stage');
    await stage.getByText('1,000,000 items in this archive. The first 500 are shown.').waitFor();
    await stage.getByRole('button', { name: 'Show more' }).press('Enter');
    await stage.getByText('The first 1,000 are shown.').waitFor();
    assert.ok(readBytes < 1_000_000, `${readBytes} bytes of the archive were read`);
    await page.keyboard.press('Escape');
    await stage.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'none.zip' }).click();
    await stage.getByText('This is not a ZIP archive, or it is damaged.').waitFor();
    await stage.getByRole('link', { name: 'Download' }).waitFor();
  },
);
