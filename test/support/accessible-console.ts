import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { assertAccessible, openBrowser } from './browser.ts';
import { signIn, startConsole } from './console.ts';
import { answerHostile, views } from './console-replies.ts';

/**
 * Fills the console with hostile names. Opens its views and dialogs, and the answers of its forms, and checks each of them with axe-core.
 *
 * @param width width of the window in CSS pixels
 */
export async function assertConsoleAccessible(t: TestContext, colorScheme: 'light' | 'dark', width: number): Promise<void> {
  const { console } = await startConsole(t);
  const page = await openBrowser(t, { colorScheme, viewport: { width, height: 800 }, expectedErrors: /401/ });
  await answerHostile(page);
  await page.goto(console.url);
  await page.locator('#username').waitFor();
  const look = async (what: string) => {
    await assertAccessible(page, what);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    assert.ok(overflow <= 0, `${what} is ${overflow} px too wide`);
    assert.equal(await page.locator('main img').count(), 0, `${what}: a name became an element`);
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /[\u202e\u0007\u001b]/, what);
  };
  await look('login');
  await signIn(page, console.url);
  for (const [hash, heading] of views) {
    await page.goto(`${console.url}/${hash}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('main .panel').last().waitFor();
    await page.getByText('Loading').first().waitFor({ state: 'detached' });
    await look(hash);
    // An opened part may contain further parts that can be opened.
    const closed = page.locator('main details:not([open]) > summary');
    while ((await closed.count()) > 0) await closed.first().click();
    await look(`${hash}, opened`);
  }
  const sections = page.locator('#section');
  if (await sections.isVisible()) {
    await sections.click();
    await look('sections');
    await page.keyboard.press('Escape');
  }
  await page.goto(`${console.url}/#accounts`);
  await page.getByRole('button', { name: 'End' }).first().click();
  await page.getByRole('dialog').waitFor();
  await look('question');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'What may an account do?' }).click();
  await page.locator('form:has(button:text-is("Explain")) input').first().fill('anna');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('refused').waitFor();
  await look('decision');
  await page.getByRole('button', { name: 'Try a login' }).click();
  await page.getByLabel('User name').fill('anna');
  await page.getByLabel('Password').fill('marker-Tr1ed');
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('rejected').first().waitFor();
  await look('answers');
  await page.goto(`${console.url}/#deliveries`);
  await page.getByRole('button', { name: 'Replay all failed' }).click();
  await page.getByRole('dialog').waitFor();
  await look('replay');
}
