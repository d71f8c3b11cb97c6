import type { Page } from 'playwright-core';
import { operatorPassword, viewerPassword } from './console.ts';

/** Signs in to a console with its form. @param hash what the page shows then */
export async function signIn(page: Page, url: string, hash = '', role: 'operator' | 'viewer' = 'operator'): Promise<void> {
  await page.goto(`${url}/${hash}`);
  await page.locator('#username').fill(role === 'operator' ? 'olga' : 'vera');
  await page.locator('#password').fill(role === 'operator' ? operatorPassword : viewerPassword);
  await page.locator('main form button').click();
  await page.locator('#sections a').first().waitFor();
}
