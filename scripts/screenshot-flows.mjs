// Takes the pictures of tasks: of users on the pages, for docs/use/for-users.md and docs/use/links.md, and of operators in the console, for
// docs/operate/console.md.
import { landscape } from './screenshot-samples.mjs';

/** Upload speed in bytes per second for the picture of uploads. It is low, so that the picture shows a running upload. */
const slowly = 400_000;

/**
 * Takes a picture of each task.
 * @param tools `openPage(width, height, colours)` opens a page, `login(page)` logs in, `save(page, path)` saves a picture; `url` is the
 *   URL of the service
 */
export async function picturesOfFlows({ openPage, login, save, url }) {
  const picture = async (name, show, height = 520) => {
    const page = await openPage(800, height, 'light');
    await login(page);
    await show(page);
    await save(page, `docs/images/flow-${name}.webp`);
    await page.context().close();
  };
  const choose = (page, files) => page.locator('#tools input[type=file]').first().setInputFiles(files);
  const act = async (page, name, action) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: action, exact: true }).click();
  };
  const dialog = (page) => page.getByRole('dialog');
  const file = (name, size) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.alloc(size) });

  await picture('search', async (page) => {
    await page.getByRole('searchbox').fill('re');
    await page.keyboard.press('Enter');
    await page.getByText('items were found.').waitFor();
    await page.getByRole('button', { name: 'Actions for report.pdf' }).click();
  });
  await picture(
    'share',
    async (page) => {
      await act(page, 'Reports', 'Share');
      await dialog(page).getByLabel('Note').fill('The figures of the first quarter.');
    },
    640,
  );
  await picture('move', async (page) => {
    await act(page, 'Budget.xlsx', 'Move');
    await dialog(page).getByRole('button', { name: 'Reports' }).click();
    await dialog(page).locator('.place-here', { hasText: 'Reports' }).waitFor();
    await dialog(page).getByRole('button', { name: 'Up to Files' }).click();
    await dialog(page).locator('.place-here', { hasText: 'Files' }).waitFor();
  });
  await picture('conflict', async (page) => {
    await page.goto(`${url}/home/Photos/`);
    const buffer = await landscape(await page.context().newPage(), 5);
    await choose(page, [{ name: 'Evening.jpg', mimeType: 'image/jpeg', buffer }]);
    await dialog(page).locator('canvas').nth(1).waitFor();
  });
  await picture('undo', async (page) => {
    await act(page, 'Invitation.docx', 'Delete');
    await page.getByRole('button', { name: 'Undo' }).waitFor();
  });
  await picture(
    'trash',
    async (page) => {
      await page.goto(`${url}/home/__svc__/trash`);
      await page.getByRole('checkbox').nth(1).check();
    },
    400,
  );
  await picture('upload', async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: slowly,
      uploadThroughput: slowly,
    });
    await choose(page, [file('Minutes.docx', 30_000), file('Plan of the house.dwg', 3_000_000), file('Offer.pdf', 1_200_000)]);
    await page.locator('.queue li.done').first().waitFor();
    await page.locator('.queue li.running').first().waitFor();
    await page.waitForTimeout(1500);
  });

  const phone = await openPage(375, 675, 'light', { hasTouch: true, isMobile: true });
  const link = await phone.request.post(`${url}/home/__svc__/links`, {
    headers: { authorization: `Basic ${btoa('Anna Weber:secret')}`, accept: 'application/json' },
    data: { path: '/Contracts', kind: 'drop', note: 'Please send the three files of the order.' },
  });
  await phone.goto((await link.json()).url);
  await save(phone, 'docs/images/link-drop.webp');
  await choose(phone, [
    file('Offer 2026-04.pdf', 184_300),
    file('Plan of the second floor, revised.dwg', 2_400_000),
    file('positions.csv', 29),
  ]);
  await phone.locator('a[href*="receipt?ids="]').click();
  await phone.locator('.receipt li').nth(2).waitFor();
  await save(phone, 'docs/images/link-receipt.webp');
}

/**
 * Takes a picture of each task in the console.
 * @param tools `page` is a page of the console, `openSection(page, name)` opens a section, `save(page, path)` saves a picture; `url` is the
 *   URL of the service
 */
export async function picturesOfConsoleFlows({ page, openSection, save, url }) {
  const ask = (path, credentials, options) =>
    fetch(url + path, { ...options, headers: { authorization: `Basic ${btoa(credentials)}`, ...options?.headers } });
  for (const [name, file] of [
    ['acme', 'orders-0414.xml'],
    ['globex', 'order 2207.xml'],
  ])
    await ask(`/home/${encodeURIComponent(file)}`, `${name}:secret`, { method: 'PUT', body: file.repeat(900) });
  for (let number = 0; number < 10; number += 1)
    await ask('/home/', `acme:summer${number}`, { headers: { 'x-forwarded-for': '203.0.113.9' } });
  const dialog = page.getByRole('dialog');

  await openSection(page, 'held');
  const held = page.getByRole('row', { name: 'orders-0414.xml' });
  await held.getByText('supplier').waitFor();
  await save(page, 'docs/images/flow-held.webp');
  await held.getByRole('button', { name: 'Discard' }).click();
  await dialog.getByRole('textbox').fill('Supplier 4711 was removed in March.');
  await save(page, 'docs/images/flow-refuse.webp');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await openSection(page, 'accounts');
  await page.getByRole('row', { name: '203.0.113.9' }).getByRole('button', { name: 'Lift' }).first().click();
  await dialog.getByRole('button', { name: 'Lift', exact: true }).waitFor();
  await save(page, 'docs/images/flow-ban.webp');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await openSection(page, 'deliveries?outcome=failed');
  await page.getByRole('button', { name: 'Replay all failed' }).click();
  await dialog.getByRole('button', { name: /^Compare / }).click();
  await page.getByRole('heading', { name: 'Dry run' }).waitFor();
  await page.locator('.results .group').first().waitFor();
  await save(page, 'docs/images/flow-dry-run.webp');
}
