import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { assertAccessible, boxesOf, browserTest, openFolder, touch } from '../support/browser.ts';
import { plainPng, pngHead } from '../support/pictures.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

const hostile = '"><img src=x onerror=owned()> \u202egnp.png';

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function boxes(page: Page): Promise<{ picture: Box; stage: Box }> {
  return page.evaluate(`(() => {
    const box = (selector) => { const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect(); return { x, y, width, height }; };
    return { picture: box('.stage img'), stage: box('.stage') };
  })()`);
}

browserTest(
  'keys, buttons and swipes change the picture; each picture has a URL, neighbours are prefetched, and a deletion shows a neighbour',
  async (t) => {
    const server = await startServer(t);
    for (let index = 1; index <= 5; index++) writeFileSync(join(server.home, `p${index}.png`), plainPng(400, 300, [index * 40, 90, 90]));
    writeFileSync(join(server.home, 'between.bin'), 'text');
    const page = await openFolder(t, server);
    // Thumbnails request the same URLs, so they must be loaded before requests are recorded.
    await page.locator('.thumbnail').nth(4).waitFor();
    const asked = new Set<string>();
    page.on('request', (request) => {
      if (request.url().endsWith('?inline')) asked.add(new URL(request.url()).pathname.slice(-6));
    });
    const dialog = page.getByRole('dialog');
    const shows = (name: string, place: string) =>
      Promise.all([
        dialog.getByRole('img', { name, exact: true }).waitFor(),
        dialog.getByText(`Preview ${place}`, { exact: true }).waitFor(),
      ]);
    await page.getByRole('link', { name: 'p2.png' }).click();
    await shows('p2.png', '2 of 5');
    await until('the neighbours are requested', () => asked.size === 3);
    assert.deepEqual([...asked].sort(), ['p1.png', 'p2.png', 'p3.png'], 'only one picture on each side is prefetched');
    await page.keyboard.press('ArrowRight');
    await shows('p3.png', '3 of 5');
    await dialog.getByRole('button', { name: 'Previous' }).click();
    await dialog.getByRole('button', { name: 'Previous' }).click();
    await shows('p1.png', '1 of 5');
    await page.keyboard.press('ArrowLeft');
    await shows('p5.png', '5 of 5');
    const session = await page.context().newCDPSession(page);
    await touch(session, [{ from: [800, 400], to: [500, 410] }]);
    await shows('p1.png', '1 of 5');
    await touch(session, [{ from: [500, 300], to: [520, 600] }]);
    await touch(session, [{ from: [500, 400], to: [800, 410] }]);
    await shows('p5.png', '5 of 5');

    await page.reload();
    await shows('p5.png', '5 of 5');
    for (let press = 0; press < 14; press++) {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(`document.activeElement.closest('main') === null`), true, 'the focus stays in the viewer');
    }
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/home/');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'p5.png', 'the focus is in the row');

    await page.getByRole('link', { name: 'p4.png' }).click();
    await shows('p4.png', '4 of 5');
    await dialog.getByRole('button', { name: 'More actions' }).click();
    assert.deepEqual(await dialog.getByRole('menuitem').allInnerTexts(), ['Share', 'Rename', 'Copy', 'Move', 'Delete']);
    await dialog.getByRole('menuitem', { name: 'Move' }).click();
    await page.getByRole('dialog', { name: 'Move “p4.png” to a folder' }).getByRole('button', { name: 'Cancel' }).click();
    await shows('p4.png', '4 of 5');
    for (const name of ['p44.png', 'p4.png']) {
      await dialog.getByRole('button', { name: 'More actions' }).click();
      await dialog.getByRole('menuitem', { name: 'Rename' }).click();
      await page
        .getByRole('dialog', { name: /^Rename / })
        .getByRole('textbox')
        .fill(name);
      await page.keyboard.press('Enter');
      await shows(name, '4 of 5');
    }
    await page.keyboard.press('Delete');
    await page
      .getByRole('dialog', { name: /^Delete “/ })
      .getByRole('button', { name: 'Cancel' })
      .click();
    await shows('p4.png', '4 of 5');
    const remove = async () => {
      await dialog.getByRole('button', { name: 'More actions' }).click();
      await dialog.getByRole('menuitem', { name: 'Delete' }).click();
      await page
        .getByRole('dialog', { name: /^Delete “/ })
        .getByRole('button', { name: 'Delete' })
        .click();
    };
    await remove();
    await shows('p5.png', '4 of 4');
    await dialog.getByText(/^Deleted \S/).waitFor();
    await remove();
    await shows('p3.png', '3 of 3');
    assert.deepEqual(readdirSync(server.home).sort(), ['between.bin', 'p1.png', 'p2.png', 'p3.png']);
    assert.equal(new URL(page.url()).searchParams.get('preview'), 'p3.png');
    const download = page.waitForEvent('download');
    await dialog.getByRole('link', { name: 'Download' }).click();
    assert.equal((await download).suggestedFilename(), 'p3.png');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'p3.png');
  },
);

browserTest('the arrows reach pictures and texts alike, in the order of the list, and stay in their places on a wide screen', async (t) => {
  const server = await startServer(t);
  for (const name of ['1.txt', '3.txt']) writeFileSync(join(server.home, name), `content of ${name}`);
  writeFileSync(join(server.home, '2.png'), plainPng(400, 300, [40, 90, 90]));
  writeFileSync(join(server.home, 'other.bin'), 'no preview');
  const long = `${'minutes of the meeting of the committee '.repeat(4)}approved.txt`;
  writeFileSync(join(server.home, long), 'content');
  const page = await openFolder(t, server, { viewport: { width: 1280, height: 800 } });
  await page.getByRole('link', { name: '1.txt' }).click();
  const dialog = page.getByRole('dialog');
  const next = dialog.getByRole('button', { name: 'Next' });
  await dialog.getByText('content of 1.txt').waitFor();
  await dialog.getByText('Preview 1 of 4').waitFor();
  const atText = await boxesOf(next);
  await next.click();
  await dialog.getByRole('img', { name: '2.png' }).waitFor();
  assert.deepEqual(await boxesOf(next), atText, 'the arrow has not moved');
  const disc = await page.evaluate<string>("getComputedStyle(document.querySelector('.viewer .step')).backgroundColor");
  assert.doesNotMatch(disc, /[ ,]0\)$/, 'the arrow is on a disc, because the picture may be as light as the arrow');
  await next.click();
  await dialog.getByText('content of 3.txt').waitFor();
  await next.click();
  await dialog.getByText('Preview 4 of 4').waitFor();
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await until(`the title shows the beginning and the end of a long name at ${width} px`, () =>
      dialog.getByRole('heading').evaluate((title) => {
        const copy = title.cloneNode(true) as typeof title;
        for (const gap of copy.querySelectorAll('.gap')) gap.replaceWith('…');
        return /^minutes[^…]*…[^…]*roved\.txt$/.test(copy.textContent ?? '') && title.scrollWidth <= title.clientWidth;
      }),
    );
  }
});

browserTest('a picture is enlarged by keys, buttons, wheel, double click and two fingers, and never leaves the stage', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'large.png'), plainPng(1600, 1200, [10, 90, 90]));
  const page = await openFolder(t, server);
  await page.getByRole('link', { name: 'large.png' }).click();
  await page.getByRole('dialog').getByRole('img').waitFor();
  const whole = await boxes(page);
  assert.ok(whole.picture.height <= whole.stage.height && whole.picture.width <= whole.stage.width, 'the picture is whole at first');
  const width = async () => (await boxes(page)).picture.width;
  const isWhole = async () => assert.deepEqual(await boxes(page), whole);
  const covers = async () => {
    const { picture, stage } = await boxes(page);
    const slack = 1;
    assert.ok(
      picture.x <= stage.x + slack && picture.x + picture.width >= stage.x + stage.width - slack,
      JSON.stringify({ picture, stage }),
    );
    assert.ok(picture.y <= stage.y + slack && picture.y + picture.height >= stage.y + stage.height - slack);
  };
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  assert.ok((await width()) > 2 * whole.picture.width);
  for (let press = 0; press < 30; press++) await page.keyboard.press('ArrowRight');
  for (let press = 0; press < 30; press++) await page.keyboard.press('ArrowDown');
  await covers();
  await page.keyboard.press('0');
  await isWhole();
  const nearer = page.getByRole('button', { name: 'Zoom in' });
  for (let press = 0; (await nearer.isEnabled()) && press < 20; press++) await nearer.click();
  assert.ok(!(await nearer.isEnabled()), 'the zoom has a limit');
  await page.keyboard.press('0');
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, -600);
  await until('the wheel enlarges the picture', async () => (await width()) > 1.5 * whole.picture.width);
  await page.mouse.down();
  await page.mouse.move(5000, 5000, { steps: 3 });
  await page.mouse.up();
  await covers();
  await page.mouse.dblclick(600, 400);
  await isWhole();
  await page.mouse.dblclick(600, 400);
  await covers();
  await page.mouse.dblclick(600, 400);
  const session = await page.context().newCDPSession(page);
  await touch(session, [
    { from: [620, 400], to: [800, 400] },
    { from: [580, 400], to: [400, 400] },
  ]);
  assert.ok((await width()) > 2 * whole.picture.width, 'two fingers enlarge the picture');
  await covers();
});

browserTest('names with markup are shown as text, no script runs, and missing, huge or broken pictures are reported', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'bad'));
  const put = (name: string, content: Buffer | string) => writeFileSync(join(server.home, 'bad', name), content);
  put(hostile, plainPng(40, 30, [90, 10, 10]));
  put('bomb.png', Buffer.concat([pngHead(30_000, 30_000), Buffer.alloc(300_000)]));
  put('empty.png', '');
  put('gone.png', plainPng(40, 30, [90, 10, 10]));
  put('none.jpg', '<script>owned()</script>');
  put(
    'drawing.svg',
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="owned()"><script>owned()</script><rect width="9" height="9"/></svg>',
  );
  const page = await openFolder(
    t,
    server,
    {
      colorScheme: 'light',
      viewport: { width: 320, height: 640 },
      expectedErrors: /404|416/,
    },
    '/home/bad/',
  );
  const bomb: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('bomb.png?inline')) bomb.push(request.headers().range ?? 'whole');
  });
  const dialog = page.getByRole('dialog');
  const open = async (name: string) => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goto(`${server.url}/home/bad/?preview=${encodeURIComponent(name)}`);
    await dialog.waitFor();
  };
  await page.locator('tbody a').first().waitFor();
  await open(hostile);
  await dialog.getByRole('img').waitFor();
  assert.equal(
    await dialog.getByRole('heading').textContent(),
    hostile.replace('\u202e', '[U+202E]'),
    'bidirectional controls are escaped',
  );
  assert.equal(await page.locator('dialog img').count(), 1);
  await assertAccessible(page, 'the viewer');
  await open('bomb.png');
  await dialog.getByText('30,000').waitFor();
  assert.ok(
    bomb.every((range) => range === 'bytes=0-131071'),
    `requested ranges: ${bomb}`,
  );
  await assertAccessible(page, 'the viewer with a message');
  await open('none.jpg');
  await dialog.getByText('This picture cannot be shown').waitFor();
  await open('empty.png');
  await dialog.getByText('This picture cannot be shown').waitFor();
  await open('drawing.svg');
  await dialog.getByRole('img', { name: 'drawing.svg' }).waitFor();
  await page.route('**/gone.png?inline', async (route) => {
    rmSync(join(server.home, 'bad/gone.png'), { force: true });
    await route.continue();
  });
  await open('gone.png');
  await dialog.getByText('The file or folder no longer exists.').waitFor();
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  assert.equal(wide, 0);
  await page.goto(`${server.url}/home/bad/?preview=never`);
  await page.locator('#members').waitFor();
  await until('a missing preview is removed from the URL', () => !page.url().includes('preview'));
});
