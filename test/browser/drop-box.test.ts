import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder, openMenu } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest(
  'an account that may only write to a folder gets an upload page with status 403, whether or not the folder exists',
  async (t) => {
    const permissions = [['allow-full-control'], ['/drop*', 'allow-write'], ['/none*', 'allow-traverse']];
    const server = await startServer(t, { account: { permissions } });
    mkdirSync(join(server.home, 'drop'));
    writeFileSync(join(server.home, 'drop/secret.txt'), 'secret');
    const html = { accept: 'text/html' };
    const there = await server.get('/home/drop/', { headers: html });
    const missing = await server.get('/home/drop2/', { headers: html });
    assert.deepEqual([there.status, missing.status], [403, 403]);
    assert.equal(there.text, missing.text.replaceAll('drop2', 'drop'), 'nothing reveals which of the two folders exists');
    assert.doesNotMatch(there.text, /secret/);
    assert.equal((await server.get('/home/drop/', { headers: { accept: 'application/json' } })).text.includes('<'), false);

    for (const javaScriptEnabled of [false, true]) {
      const page = await openFolder(
        t,
        server,
        { javaScriptEnabled, expectedErrors: /403/, viewport: { width: 320, height: 640 } },
        '/home/drop/',
      );
      await page.getByText('You cannot see what is already here.').waitFor();
      if (javaScriptEnabled) {
        const words = await page.getByRole('button', { name: 'Upload files' }).locator('span').boundingBox();
        assert.ok(words && words.width > 50, 'the only button has its words on a phone, too');
      }
      const name = `${javaScriptEnabled}.txt`;
      await page
        .locator('#tools input[type=file]')
        .first()
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('x') });
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Upload', exact: true }).click();
      await page.getByText(javaScriptEnabled ? 'One file was uploaded.' : 'The file was uploaded.').waitFor({ state: 'attached' });
      if (javaScriptEnabled) await assertAccessible(page, 'the drop box');
      await openMenu(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    }
    assert.deepEqual(readdirSync(join(server.home, 'drop')).sort(), ['false.txt', 'secret.txt', 'true.txt']);
  },
);
