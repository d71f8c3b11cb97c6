import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { consoleService, operatorPassword, signIn } from '../support/console.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

browserTest('after the server was killed and restarted, the console asks for the login, and its live tail continues', async (t) => {
  const folder = temporaryFolder(t);
  const serve = async (ports: { web: number; console: number }) => {
    const services = { web: { type: 'http', port: ports.web }, console: await consoleService({ port: ports.console }) };
    await writeConfig(folder, { services });
    const running = start(t, ['serve'], { cwd: folder });
    const [, web = ''] = await running.line(/web listening on (\S+)\/\n/);
    const [, url = ''] = await running.line(/console listening on (\S+)\/\n/);
    return { running, web, url };
  };
  const first = await serve({ web: 0, console: 0 });
  const page = await openBrowser(t, { expectedErrors: /401|ERR_|Failed to load/ });
  await signIn(page, first.url, '#events?account=alice');
  await page.goto(`${first.url}/#events`);
  const badge = page.locator('.heading .badge');
  await badge.getByText('live').waitFor();
  const loads = await page.evaluate<number>('performance.timeOrigin');
  first.running.child.kill('SIGKILL');
  await first.running.ended;
  await badge.getByText('connecting').waitFor();
  await page.getByRole('alert').filter({ hasText: 'The console keeps trying.' }).waitFor();
  const portOf = (url: string) => Number(new URL(url).port);
  const second = await serve({ web: portOf(first.web), console: portOf(first.url) });
  // Sessions of administrators end with the process, so the page asks for the login. No reload is necessary.
  await page.getByLabel('User name').waitFor({ timeout: 15_000 });
  await page.getByText('Your session has ended: the server was restarted').waitFor();
  assert.equal(await page.getByLabel('User name').inputValue(), 'olga', 'the last name is filled in');
  await page.locator('#password:focus').waitFor();
  await page.getByLabel('Password').fill(operatorPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await badge.getByText('live').waitFor();
  await new Client(second.web).put('/home/after.txt', 'x');
  await page.locator('main tbody tr', { hasText: '/after.txt' }).first().waitFor();
  assert.equal(await page.evaluate<number>('performance.timeOrigin'), loads, 'the page was not reloaded');
});
