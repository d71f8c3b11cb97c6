import assert from 'node:assert/strict';
import { assertAccessible, browserTest, openBrowser } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [320, 1280]) {
    browserTest(`axe finds nothing on the API page: ${colorScheme}, ${width} px`, async (t) => {
      const server = await startServer(t);
      const page = await openBrowser(t, { colorScheme, viewport: { width, height: 720 }, expectedErrors: /401/ });
      const look = async (what: string) => {
        await assertAccessible(page, what);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
        assert.ok(overflow <= 0, `${what} is ${overflow} px too wide`);
      };
      const open = async (id: string) => {
        const operation = page.locator(`[id$="-${id}"]`).first();
        await operation.locator('.opblock-summary-control').click();
        await operation.getByRole('button', { name: 'Execute' }).waitFor();
        return operation;
      };
      await page.goto(`${server.url}/__svc__/openapi.html`);
      await page.locator('.opblock').first().waitFor();
      await look('all operations, closed');
      const listing = await open('getFolderHome');
      await look('an operation');
      await open('login');
      await look('an operation with a body');
      await listing.getByRole('button', { name: 'Execute' }).click();
      await listing.locator('.live-responses-table .response').first().waitFor();
      await look('a reply');
      await page.getByRole('button', { name: 'Authorize' }).first().click();
      await page.getByRole('dialog', { name: 'Available authorizations' }).waitFor();
      await look('the dialog for credentials');
      await page.getByRole('button', { name: 'Close' }).first().click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });
  }
}
