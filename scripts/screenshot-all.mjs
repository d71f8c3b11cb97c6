// Takes a picture of every page of accounts, for a review before a release.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { previews } from './screenshot-samples.mjs';

const uploaded = ['a.txt', 'b.txt'];

/** Chooses an action in the menu of a file, which phones have, too. */
async function act(page, action) {
  await page.getByRole('button', { name: 'Actions for Budget.xlsx' }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/**
 * Takes a picture of every page of accounts, in both colours and three widths.
 *
 * @param tools `openPage(width, height, colours, options of the browser's context)`, `login(page)`, and `url` of the service
 * @param target folder for the pictures
 */
export async function picturesOfAll({ openPage, login, url }, target) {
  mkdirSync(target, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [320, 768, 1280]) {
      const shot = (page, name) => page.screenshot({ path: join(target, `${name}-${colorScheme}-${width}.png`) });
      const page = await openPage(width, 800, colorScheme);
      await page.goto(`${url}/__svc__/login`);
      await shot(page, 'login');
      await login(page);
      await shot(page, 'listing');
      await page.locator('.to-grid').click();
      await shot(page, 'grid');
      await page.locator('.to-list').click();
      await page.locator('[popovertarget=menu]').click();
      await page.locator('#menu:popover-open').waitFor();
      await shot(page, 'menu');
      await page.keyboard.press('Escape');
      await page.setViewportSize({ width, height: 560 });
      await page.mouse.move(width / 2, 300);
      await page.mouse.wheel(0, 150);
      await page.waitForTimeout(200);
      await shot(page, 'scrolled');
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate('scrollTo(0, 0)');
      await page.evaluate(`document.querySelector('.drop').hidden = false`);
      await shot(page, 'drop');
      await page.evaluate(`document.querySelector('.drop').hidden = true`);
      await page.getByRole('button', { name: 'Actions for Budget.xlsx' }).click();
      await shot(page, 'row-menu');
      await page.keyboard.press('Escape');
      await page.getByLabel('Select Budget.xlsx').check();
      await shot(page, 'selected');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await shot(page, 'delete');
      await page.keyboard.press('Escape');
      await act(page, 'Rename');
      await shot(page, 'rename');
      await page.keyboard.press('Escape');
      await act(page, 'Move');
      await page.locator('dialog .names button').first().waitFor();
      await shot(page, 'move');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await shot(page, 'help');
      await page.keyboard.press('Escape');
      await page
        .locator('#tools input[type=file]')
        .first()
        .setInputFiles(uploaded.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('hello') })));
      await page.getByRole('dialog').getByLabel('project').fill('Spring');
      await shot(page, 'details');
      await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click();
      await page.locator('.queue li').first().waitFor({ state: 'attached' });
      await shot(page, 'queue');
      await page
        .locator('.queue li.done')
        .nth(uploaded.length - 1)
        .waitFor({ state: 'attached' });
      // The next round uploads these files again. The page would ask about them, because their names would be taken.
      for (const name of uploaded) await page.request.delete(`${url}/home/${name}`, { headers: { origin: url } });
      for (const [path, ready] of Object.entries(previews)) {
        const [parent, name] = path.split('/');
        await page.goto(`${url}/home/${parent}/?preview=${encodeURIComponent(name)}`);
        await page.locator(`.stage ${ready}`).first().waitFor();
        await shot(page, `preview-${name.replaceAll(/[ .]/g, '-')}`);
      }
      await page.goto(`${url}/home/Reports/?preview=material.zip`);
      await page.locator('.stage .members button.plain').first().click();
      await page.locator('.stage .member .markdown, .stage .member pre').first().waitFor();
      await shot(page, 'preview-member');
      await page.goto(`${url}/home/Photos/`);
      await page.getByRole('link', { name: 'Birds.wav' }).click();
      await page.locator('.player').waitFor();
      await page.locator('.to-grid').click();
      await page.locator('canvas.thumbnail').nth(1).waitFor();
      await shot(page, 'photos-player');
      await page.locator('.to-list').click();
      await page.goto(`${url}/home/__svc__/recent`);
      await shot(page, 'recent');
      await page.goto(`${url}/home/__svc__/password-update`);
      await shot(page, 'password');
      await page.goto(`${url}/home/Contracts/`);
      await shot(page, 'empty');
      for (const [text, name] of [
        ['re', 'search'],
        ['nothing like it', 'search-empty'],
      ]) {
        await page.goto(`${url}/home/?search=${text}`);
        await shot(page, name);
      }
      await page.goto(`${url}/home/missing/`);
      await shot(page, 'missing');
      await page.goto(`${url}/__svc__/openapi.html`);
      await page.locator('.opblock-get').first().waitFor();
      await shot(page, 'api');
      await page.locator('.opblock-get .opblock-summary-control').first().click();
      await page.locator('.opblock-body').waitFor();
      await page.locator('.opblock-get').first().scrollIntoViewIfNeeded();
      await shot(page, 'api-open');
      const plain = await openPage(width, 800, colorScheme, { javaScriptEnabled: false });
      await login(plain);
      await shot(plain, 'plain');
    }
  }
}
