import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { browserTest, loginByForm, openBrowser, openFolder, openMenu } from '../support/browser.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

browserTest('the password page keeps the typed passwords if the two new ones differ', async (t) => {
  const server = await startServer(t, { group: { allow_own_password_change: true } });
  const page = await openFolder(t, server, {}, '/home/__svc__/password-update');
  await page.getByLabel('Show passwords').waitFor();
  const again = page.getByLabel('New password again');
  await page.getByLabel('Current password').fill(testPassword);
  await again.fill('another new one');
  await page.getByLabel('New password', { exact: true }).fill('a long new one');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.locator('#repeat:focus + [role=alert]', { hasText: 'The two new passwords are not the same.' }).waitFor();
  assert.equal(await page.getByLabel('Current password').inputValue(), testPassword, 'the form was not sent');
  await again.fill('a long new one');
  assert.equal(await page.getByRole('alert').count(), 0, 'the message disappears while the user types');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Your password was changed.').waitFor();
});

browserTest('without scripts, the password is changed on a separate page', async (t) => {
  const server = await startServer(t, { group: { allow_own_password_change: true } });
  const page = await openBrowser(t, { javaScriptEnabled: false, expectedErrors: /422|401/ });
  await loginByForm(page, server.url);
  await openMenu(page);
  await page.getByRole('link', { name: 'Change password' }).click();
  const change = async (current: string, wanted: string, repeated: string) => {
    await page.getByLabel('Current password').fill(current);
    await page.getByLabel('New password', { exact: true }).fill(wanted);
    await page.getByLabel('New password again').fill(repeated);
    await page.getByRole('button', { name: 'Change password' }).click();
  };
  await change(testPassword, 'a long new one', 'another new one');
  await page.getByText('The two new passwords are not the same.').waitFor();
  await change('wrong', 'a long new one', 'a long new one');
  await page.getByRole('alert').waitFor();
  await change(testPassword, 'a long new one', 'a long new one');
  await page.getByText('Your password was changed.').waitFor();
  assert.equal((await server.get('/home/', { user: 'alice:a long new one' })).status, 200);
});

browserTest('without scripts: a failed login and error pages say what is wrong', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-read', 'allow-list']] } });
  const page = await openBrowser(t, { javaScriptEnabled: false, expectedErrors: /40[134]/ });
  await page.goto(`${server.url}/home/?sort=size`);
  await page.getByLabel('User name').fill('alice');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The name or the password is not correct.').waitFor();
  assert.equal(await page.getByLabel('User name').inputValue(), 'alice', 'the name is kept');
  await page.getByLabel('Password').fill(testPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#members').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Upload' }).count(), 0, 'forbidden actions are not offered');
  assert.equal((await page.goto(`${server.url}/home/missing/`))?.status(), 404);
  await page.getByRole('heading', { name: 'Nothing is here' }).waitFor();
  await page.getByRole('link', { name: 'To the files' }).click();
  await page.locator('#members').waitFor();
});

browserTest('without scripts: the hint of the search field is shown whole and nothing covers the field, in each language', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  for (const locale of ['en-GB', 'de-DE', 'fr-FR', 'es-ES'])
    for (const width of [760, 1280]) {
      const page = await openFolder(t, server, { locale, viewport: { width, height: 600 }, javaScriptEnabled: false }, '/home/in/');
      for (const path of ['/home/in/', '/home/']) {
        await page.goto(server.url + path);
        const room = await page.evaluate<number>(`(() => {
          const input = document.querySelector('input[name=search]');
          const { font, paddingLeft, paddingRight } = getComputedStyle(input);
          const context = document.createElement('canvas').getContext('2d');
          context.font = font;
          return input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - context.measureText(input.placeholder).width;
        })()`);
        assert.ok(room >= 0, `${locale}, ${width} px, ${path}: ${room}`);
        const covered = await page.evaluate<boolean>(`(() => {
          const { left, top, right, bottom } = document.querySelector('input[name=search]').getBoundingClientRect();
          return [...document.querySelectorAll('#tools > :not(.search)')].some((tool) => {
            const box = tool.getBoundingClientRect();
            return box.left < right && box.right > left && box.top < bottom && box.bottom > top;
          });
        })()`);
        assert.equal(covered, false, `${locale}, ${width} px, ${path}: another tool covers the field`);
      }
    }
});
