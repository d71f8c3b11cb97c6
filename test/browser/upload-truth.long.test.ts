import assert from 'node:assert/strict';
import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder, openMenu } from '../support/browser.ts';
import { plainPng } from '../support/pictures.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

const file = (name: string, size = 1) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') });

browserTest('a file appears when it has arrived, highlighted for a moment, while other files are being uploaded', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/held.txt', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByText('This folder is empty.').waitFor();
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([file('held.txt'), file('small.txt')]);
  await page.locator('tr.fresh', { hasText: 'small.txt' }).waitFor();
  assert.equal(await page.getByText('This folder is empty.').count(), 0);
  await page.locator('.queue li.running', { hasText: 'held.txt' }).waitFor();
  await page.locator('tr:not(.fresh)', { hasText: 'small.txt' }).waitFor();
  letGo();
  await page.locator('tr.fresh', { hasText: 'held.txt' }).waitFor();
  const coloured = await page.evaluate<string[]>(`(() => {
    const row = document.querySelector('tbody tr');
    row.classList.add('fresh');
    return [row, ...row.cells].filter((element) => getComputedStyle(element).backgroundColor !== 'rgba(0, 0, 0, 0)').map(({ tagName }) => tagName);
  })()`);
  assert.deepEqual(coloured, ['TR'], 'cells of different heights have no colour of their own');
});

browserTest('a file that exceeds the quota is not sent; once 90 % are used, the page shows the used part', async (t) => {
  const server = await startServer(t, { group: { quota_size: 2_000_000 } });
  writeFileSync(join(server.home, 'old.bin'), Buffer.alloc(1_700_000));
  const page = await openFolder(t, server, { expectedErrors: /404/ });
  const puts: string[] = [];
  page.on('request', (request) => void (request.method() === 'PUT' && puts.push(new URL(request.url()).pathname)));
  const choose = (...files: ReturnType<typeof file>[]) => page.locator('#tools input[type=file]').first().setInputFiles(files);
  assert.equal(await page.getByRole('meter').count(), 0);
  await choose(file('large.bin', 900_000), file('fits.bin', 200_000));
  const failed = page.locator('.queue li.failed', { hasText: 'large.bin' });
  await failed.getByText(/^failed: it needs 900 kB, but only [13]00 kB are free$/).waitFor();
  assert.equal(await failed.getByRole('button', { name: 'Try again' }).count(), 0);
  await page.locator('.queue li.done', { hasText: 'fits.bin' }).waitFor();
  await page
    .locator('.queue header', { hasText: /1 of 2 files · .* · one failed/ })
    .locator('progress.failed')
    .waitFor();
  assert.deepEqual(puts, ['/home/fits.bin']);
  await page.getByText('1.9 MB of 2 MB used · 100 kB free').waitFor();
  assert.equal(await page.locator('.quota').getByRole('meter').getAttribute('aria-valuenow'), '95');
  await assertAccessible(page, 'a quota that is nearly full');
  await page.getByLabel('Select old.bin').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('.quota').waitFor({ state: 'detached' });
});

browserTest('what is in the trash does not count as full; the bar shows it apart', async (t) => {
  const server = await startServer(t, { group: { quota_size: 50_000, trash: { days: 30 } } });
  await server.put('/home/kept.bin', 'x'.repeat(8_000));
  await server.put('/home/gone.bin', 'x'.repeat(39_000));
  const page = await openFolder(t, server);
  const warning = page.locator('.quota .meter.full');
  await warning.waitFor();
  await page.getByText('47\u00a0kB of 50\u00a0kB used · 3\u00a0kB free').waitFor();
  await page.getByLabel('Select gone.bin').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await warning.waitFor({ state: 'detached' });
  await openMenu(page);
  await page.getByText('8\u00a0kB of 50\u00a0kB used · 39\u00a0kB in the trash, which gives way when room is needed').waitFor();
  assert.equal(await page.locator('#space .meter.full').count(), 0);
  const widths = await page.evaluate("[...document.querySelectorAll('#space .meter span')].map(({ style }) => style.width)");
  assert.deepEqual(widths, ['16%', '78%']);
  await page.keyboard.press('Escape');
  // The file is too large for the free 3 kB, so the trash gives way.
  await page.locator('#tools input[type=file]').first().setInputFiles(file('more.bin', 38_000));
  await page.locator('.queue li.done', { hasText: 'more.bin' }).waitFor();
  await page.getByText('46\u00a0kB of 50\u00a0kB used · 4\u00a0kB free', { exact: true }).waitFor();
});

browserTest('the question about a taken name shows the differences, and Enter keeps both', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'older');
  utimesSync(join(server.home, 'a.txt'), 1_600_000_000, 1_600_000_000);
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  await page.locator('#tools input[type=file]').first().setInputFiles(file('a.txt', 2000));
  const question = page.getByRole('dialog');
  await question.getByText('13 Sept 2020, 12:26:40').waitFor();
  const [here = '', own = ''] = await question.locator('dd').allTextContents();
  assert.match(here, /^5 bytes/);
  assert.match(own, /^2 kB.*newer$/);
  assert.doesNotMatch(here, /newer/);
  // The size, the time and the comparison have a line each, and none of them wraps.
  const boxes = await question.locator('dd .facts > *').evaluateAll((facts) =>
    facts.map((fact) => {
      const { top, height } = fact.getBoundingClientRect();
      return { top: Math.round(top), height: Math.round(height) };
    }),
  );
  assert.deepEqual([boxes.length, new Set(boxes.map(({ top }) => top)).size], [5, 3]);
  assert.equal(new Set(boxes.map(({ height }) => height)).size, 1, `a fact wraps: ${JSON.stringify(boxes)}`);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'a (2).txt' }).waitFor();
});

browserTest(
  'the question about a taken name recommends what can succeed: no second file without room, and none of the same file',
  async (t) => {
    const server = await startServer(t, { group: { quota_size: 2_000_000 } });
    const [present, own] = [join(server.home, 'big.bin'), join(server.folder, 'big.bin')];
    writeFileSync(present, Buffer.alloc(1_700_000));
    writeFileSync(own, Buffer.alloc(1_500_000));
    const page = await openFolder(t, server, { expectedErrors: /412/ });
    const question = page.getByRole('dialog');
    const choose = () => page.locator('#tools input[type=file]').first().setInputFiles(own);
    await choose();
    await question.getByText('No room for both: 1.5 MB needed, 300 kB free.').waitFor();
    assert.ok(await question.getByRole('button', { name: 'Keep both' }).isDisabled());
    await question.locator('button.primary:focus', { hasText: 'Overwrite' }).waitFor();
    await page.keyboard.press('Enter');
    await until('the file is replaced', () => statSync(present).size === 1_500_000);
    await question.waitFor({ state: 'detached' });

    for (const path of [present, own]) {
      writeFileSync(path, 'the same');
      utimesSync(path, 1_600_000_000, 1_600_000_000);
    }
    await choose();
    await question.getByText('same size and time').waitFor();
    assert.ok(await question.getByRole('button', { name: 'Keep both' }).isEnabled());
    await question.locator('button.primary:focus', { hasText: 'Skip' }).waitFor();
  },
);

browserTest(
  'the question about a taken name shows both pictures, and its buttons are in one row and equally high on all screens and in all languages',
  async (t) => {
    const server = await startServer(t);
    writeFileSync(join(server.home, 'a.png'), plainPng(60, 40, [90, 120, 200]));
    const own = { name: 'a.png', mimeType: 'image/png', buffer: plainPng(40, 60, [200, 20, 20]) };
    for (const locale of ['en-GB', 'de-DE', 'fr-FR', 'es-ES']) {
      const page = await openFolder(t, server, { locale, expectedErrors: /412/ });
      await page.locator('#tools input[type=file]').first().setInputFiles(own);
      const question = page.getByRole('dialog');
      await question.locator('.versions canvas').nth(1).waitFor();
      for (const width of [320, 375, 768, 1280]) {
        await page.setViewportSize({ width, height: 700 });
        const boxes = await question.locator('.row button:visible').evaluateAll((buttons) =>
          buttons.map((button) => ({
            ...button.getBoundingClientRect().toJSON(),
            isCut: button.scrollWidth > button.clientWidth,
            room: button.closest('dialog')?.getBoundingClientRect().toJSON(),
          })),
        );
        assert.equal(boxes.length, 3);
        const differ = (side: 'top' | 'height') => new Set(boxes.map((box) => Math.round(box[side]))).size;
        assert.equal(differ('top'), 1, `${locale}, ${width} px: one row`);
        assert.equal(differ('height'), 1, `${locale}, ${width} px: equal heights`);
        for (const { isCut, left, right, room } of boxes)
          assert.ok(!isCut && left > room.left + 8 && right < room.right - 8, `${locale}, ${width} px: each button is whole`);
      }
    }
  },
);

browserTest('on a phone the upload panel is one line, which expands and collapses', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { viewport: { width: 360, height: 640 } });
  const panel = page.locator('.queue');
  const network = await page.context().newCDPSession(page);
  const throttle = (uploadThroughput: number) =>
    network.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
  await throttle(200_000);
  await page.locator('#tools input[type=file]').first().setInputFiles(file('large.bin', 2_000_000));
  await panel.getByText(/^0 of 1 · \d+ seconds? left$/).waitFor();
  await throttle(-1);
  await panel.getByText('1 of 1').waitFor();
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([file('a.txt'), file('b.txt')]);
  await panel.getByText('2 of 2').waitFor();
  assert.equal(await panel.getByRole('listitem').count(), 0);
  assert.ok(((await panel.boundingBox())?.height ?? 99) < 70);
  await assertAccessible(page, 'a collapsed panel');
  await panel.getByRole('button', { name: 'Show all uploads' }).click();
  await panel.getByRole('listitem').filter({ hasText: 'b.txt' }).waitFor();
  await panel.getByRole('button', { name: 'Show less' }).click();
  await panel.getByRole('listitem').first().waitFor({ state: 'hidden' });
});

browserTest('with a trash, a file is sent only if the quota would have room for it with an empty trash', async (t) => {
  const server = await startServer(t, { group: { quota_size: 2_000_000, trash: { days: 30 } } });
  await server.put('/home/kept.bin', 'x'.repeat(1_000_000));
  await server.put('/home/gone.bin', 'x'.repeat(600_000));
  await server.send('DELETE', '/home/gone.bin');
  const page = await openFolder(t, server, { expectedErrors: /404/ });
  const field = page.locator('#tools input[type=file]').first();
  const panel = page.locator('.queue');
  const sent: string[] = [];
  page.on('request', (request) => void (request.method() === 'PUT' && sent.push(request.url())));
  await field.setInputFiles(file('large.bin', 1_200_000));
  await panel.getByText('failed: it needs 1.2 MB, but only 1 MB are free').waitFor();
  assert.equal(await panel.getByRole('button', { name: 'Try again' }).count(), 0);
  assert.deepEqual(sent, []);
  await field.setInputFiles(file('fits.bin', 800_000));
  await panel.getByRole('listitem').filter({ hasText: 'fits.bin' }).getByText('done').waitFor();
});
