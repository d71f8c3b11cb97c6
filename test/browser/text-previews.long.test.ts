import assert from 'node:assert/strict';
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible, boxesOf, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { plainPng } from '../support/pictures.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

/** Opens a file of the folder, checks its preview, and closes it again. */
async function preview(page: Page, name: string, look: (stage: ReturnType<Page['locator']>) => Promise<void>): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  const stage = page.locator('dialog .stage');
  await stage.waitFor();
  await look(stage);
  await page.keyboard.press('Escape');
  await stage.waitFor({ state: 'detached' });
}

const markdown = `# Title

Some **bold**, *leaning* and \`code\` &amp; [a file](notes.txt), [the web](https://example.com/), [bad](javascript:owned()),
[out](/__svc__/logout) and <b onclick="owned()">raw</b><script>owned()</script>.

![picture](dot.png) ![elsewhere](https://example.com/a.png) ![out](/__svc__/logout)

| Name | Size |
| --- | ---: |
| one | 1 |

- [x] done
- [ ] open

\`\`\`js
const answer = 42; // why
\`\`\`

<img src=x onerror=owned()> <iframe src="/home/"></iframe> <svg onload=owned()>
`;

browserTest(
  'Markdown has a layout, code has colours, JSON can be collapsed, separated values are a table, and SVG is a picture',
  async (t) => {
    const server = await startServer(t);
    const file = (name: string, content: string | Buffer) => writeFileSync(join(server.home, name), content);
    file('read.md', markdown);
    file('dot.png', plainPng(2, 2, [200, 0, 0]));
    file('main.py', 'def answer():\n    """why\n    not"""\n    return 42  # so\n');
    file('page.html', '<!doctype html><script>owned()</script><p class="x">text</p>');
    file('data.json', JSON.stringify({ id: [{ deep: 'leaf' }], list: Array.from({ length: 250 }, (_, index) => index) }));
    file('broken.json', '{"a": ');
    file('table.csv', '\ufeffname;price\n"Grüße; ""x""";1,5\nlast;\n');
    file(
      'picture.svg',
      '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><script>owned()</script><rect width="30" height="20"/></svg>',
    );
    const page = await openBrowser(t);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await login(page, server.url);

    await preview(page, 'read.md', async (stage) => {
      await stage.getByRole('heading', { name: 'Title' }).waitFor();
      assert.equal(await stage.locator('strong').textContent(), 'bold');
      const links = await page.evaluate(
        "[...document.querySelectorAll('.stage a')].map((link) => [link.textContent, link.href, link.rel])",
      );
      assert.deepEqual(links, [
        ['a file', `${server.url}/home/notes.txt`, 'noopener noreferrer'],
        ['the web', 'https://example.com/', 'noopener noreferrer'],
      ]);
      assert.deepEqual(await page.evaluate("[...document.querySelectorAll('.stage img')].map((image) => image.src)"), [
        `${server.url}/home/dot.png?inline`,
      ]);
      assert.equal(await stage.locator('script, iframe, svg[onload], [onclick], [onerror], b').count(), 0);
      assert.equal(await stage.getByRole('cell', { name: 'one' }).count(), 1);
      assert.equal(await stage.locator('pre .c-keyword').textContent(), 'const');
      await assertAccessible(page, 'Markdown');
      await page.getByRole('button', { name: 'As text' }).click();
      await stage.getByText('[bad](javascript:owned())').waitFor();
    });
    await preview(page, 'main.py', async (stage) => {
      await stage.locator('.c-comment', { hasText: '# so' }).waitFor();
      assert.deepEqual(await stage.locator('.c-keyword').allTextContents(), ['def', 'return']);
      assert.deepEqual(
        await stage.locator('.c-string').allTextContents(),
        ['"""why', '    not"""'],
        'a string across two lines has its colour in both',
      );
      assert.equal(await stage.locator('pre').textContent(), 'def answer():\n    """why\n    not"""\n    return 42  # so\n');
      await assertAccessible(page, 'a program');
    });
    await preview(page, 'page.html', async (stage) => {
      await stage.locator('.c-type', { hasText: 'script' }).first().waitFor();
    });
    await preview(page, 'data.json', async (stage) => {
      await stage.locator('summary').nth(1).waitFor();
      assert.equal(await stage.getByText('leaf').count(), 0, 'JSON is collapsed at first');
      await stage.locator('summary', { hasText: 'id' }).press('Enter');
      await stage.locator('summary', { hasText: '0: ' }).press('Enter');
      await stage.getByText('"leaf"').waitFor();
      await stage.locator('summary', { hasText: 'list' }).press('Enter');
      await stage.getByText('99', { exact: true }).first().waitFor();
      assert.equal(await stage.getByText('100: ').count(), 0, 'only a part of a long list is shown');
      await stage.getByRole('button', { name: 'Show more' }).press('Enter');
      await stage.getByText('100: ').waitFor();
      assert.match(
        await page.evaluate<string>('document.activeElement.textContent'),
        /^100: /,
        'the focus is on the first item that was added',
      );
      await assertAccessible(page, 'JSON');
    });
    await preview(page, 'broken.json', (stage) => stage.locator('pre', { hasText: '{"a": ' }).waitFor());
    await preview(page, 'table.csv', async (stage) => {
      await stage.getByRole('columnheader', { name: 'price' }).waitFor();
      assert.deepEqual(await stage.locator('td').allTextContents(), ['Grüße; "x"', '1,5', 'last', '']);
      await assertAccessible(page, 'a table');
    });
    await preview(page, 'picture.svg', async (stage) => {
      await stage.locator('img').waitFor();
      await until('the picture is drawn', async () => (await page.evaluate("document.querySelector('.stage img').naturalWidth")) === 30);
    });
    assert.deepEqual(
      asked.filter((url) => !url.replace(/^blob:/, '').startsWith(`${server.url}/`) || url.includes('logout')),
      [],
      'nothing of other origins, and no logout, is requested',
    );
  },
);

browserTest(
  'extreme texts (a gigabyte, one line of a megabyte, half a million lines, deep brackets) are previewed within limits',
  async (t) => {
    const server = await startServer(t);
    const file = (name: string, content: string) => writeFileSync(join(server.home, name), content);
    file('huge.csv', 'a,b\n1,2\n'.repeat(200_000));
    truncateSync(join(server.home, 'huge.csv'), 1024 ** 3);
    file('line.js', `x = "${'abc '.repeat(300_000)}";`);
    file('lines.txt', '\n'.repeat(500_000));
    file('deep.json', `${'['.repeat(400_000)}${']'.repeat(400_000)}`);
    file('brackets.md', '['.repeat(200_000));
    file('quotes.md', '> '.repeat(100_000));
    file('one line.csv', 'a,'.repeat(500_000));
    file('empty.csv', '');
    file('wide.csv', Array.from({ length: 100_000 }, (_, index) => index).join(','));
    const page = await openBrowser(t, { expectedErrors: /416/ });
    const sizes: number[] = [];
    page.on('response', async (reply) => {
      if (reply.url().endsWith('?inline') && reply.request().method() === 'GET') sizes.push(Number(reply.headers()['content-length']));
    });
    await login(page, server.url);
    await preview(page, 'huge.csv', async (stage) => {
      await stage.getByText('Only the first 1,000 rows are shown.').waitFor();
      assert.equal(await stage.locator('tbody tr').count(), 1000);
    });
    await preview(page, 'line.js', async (stage) => {
      await stage.getByText(/^524\.3 kB of 1\.2 MB$/).waitFor();
      await stage.locator('pre .lines').nth(40).waitFor({ state: 'attached' });
      assert.equal(await stage.locator('pre span:not(.lines)').count(), 0, 'a long line has no colours');
    });
    await preview(page, 'lines.txt', async (stage) => {
      await stage.locator('pre .lines').first().waitFor();
      await stage.getByText('1,000 of 500,000').waitFor();
    });
    await preview(page, 'deep.json', async (stage) => {
      await stage.locator('summary').nth(1).waitFor();
    });
    for (const name of ['brackets.md', 'quotes.md'])
      await preview(page, name, (stage) =>
        stage
          .getByText(name[0] === 'b' ? '[[[[' : '> >')
          .first()
          .waitFor(),
      );
    await preview(page, 'one line.csv', (stage) => stage.getByText('Only the first 100 columns are shown.').waitFor());
    await preview(page, 'empty.csv', (stage) => stage.getByText('This file is empty.').waitFor());
    await preview(page, 'wide.csv', async (stage) => {
      await stage.getByText('Only the first 100 columns are shown.').waitFor();
      assert.equal(await stage.locator('th').count(), 100);
    });
    assert.ok(Math.max(...sizes) <= 2 * 1024 * 1024, `sizes of the replies: ${sizes}`);
  },
);

browserTest('long logs show a thousand lines at a time, and the total number once it is known; a changed file is reported', async (t) => {
  const server = await startServer(t);
  const lines = (count: number, width: number) => Array.from({ length: count }, (_, at) => `line ${at + 1} `.padEnd(width, '.')).join('\n');
  writeFileSync(join(server.home, 'short.log'), lines(1000, 20));
  writeFileSync(join(server.home, 'day.log'), `${lines(2500, 20)}\n`);
  // This file is read in parts, so its number of lines is not known at first.
  writeFileSync(join(server.home, 'year.log'), lines(3000, 300));
  const page = await openFolder(t, server);
  const more = (count: string) => page.getByRole('button', { name: `Show ${count} more` });
  const shown = (stage: Locator) => stage.locator('pre .line').count();
  const toEnd = page.getByRole('button', { name: 'To the end' });
  const isInSight = (line: Locator) =>
    until('the line is in sight', async () => {
      const { y = -1 } = (await line.boundingBox()) ?? {};
      return y > 0 && y < 1000;
    });
  await preview(page, 'short.log', async (stage) => {
    await stage.getByText('line 1000 ').waitFor();
    assert.equal(await stage.getByRole('button', { name: 'more' }).count(), 0);
    await toEnd.click();
    await isInSight(stage.getByText('line 1000 '));
    await toEnd.click();
    await isInSight(stage.getByText(/^line 1 \.+$/));
  });
  await preview(page, 'day.log', async (stage) => {
    await stage.getByText('1,000 of 2,500').waitFor();
    assert.equal(await shown(stage), 1000);
    await more('1,000').press('Enter');
    await stage.getByText('2,000 of 2,500').waitFor();
    await more('500').and(page.locator(':focus')).press('Enter');
    await stage.getByText('line 2500 ').waitFor();
    await more('500').waitFor({ state: 'hidden' });
    assert.equal(await shown(stage), 2500);
    await assertAccessible(page, 'a log');
  });
  await preview(page, 'year.log', async (stage) => {
    await stage.getByText('Only the first 1,000 lines are shown.').waitFor();
    await more('1,000').click();
    await stage.getByText('2,000 of 3,000').waitFor();
    assert.equal(await shown(stage), 2000);
    await stage.locator('pre').getByText('line 2000 ', { exact: false }).waitFor();
    await toEnd.click();
    await isInSight(stage.getByText('line 3000 '));
    assert.ok((await shown(stage)) > 800, 'only the end is read again');
    assert.equal(await stage.getByText('line 2000 ').count(), 0);
  });
  await preview(page, 'year.log', async (stage) => {
    await more('1,000').waitFor();
    appendFileSync(join(server.home, 'year.log'), 'one more\n');
    await more('1,000').click();
    await stage.getByText('the file has changed meanwhile').waitFor();
    assert.ok(await more('1,000').isEnabled());
  });
});

browserTest('a long table shows further rows when the reader scrolls to its end', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'long.csv'), Array.from({ length: 2501 }, (_, index) => `${index},x`).join('\n'));
  const page = await openFolder(t, server);
  await preview(page, 'long.csv', async (stage) => {
    await stage.getByText('1,000 of 2,500').waitFor();
    for (const last of ['1000', '2000']) await stage.getByRole('cell', { name: last, exact: true }).scrollIntoViewIfNeeded();
    await stage.getByRole('cell', { name: '2500', exact: true }).waitFor({ state: 'attached' });
    assert.equal(await stage.locator('tbody tr').count(), 2500);
  });
});

browserTest('a table in a preview takes the room of the window, and its column names stay in sight', async (t) => {
  const server = await startServer(t);
  const columns = Array.from({ length: 30 }, (_, index) => `column number ${index}`).join(',');
  writeFileSync(join(server.home, 'wide.csv'), `${columns}\n`.repeat(400));
  const page = await openFolder(t, server, { viewport: { width: 1920, height: 1080 } });
  await preview(page, 'wide.csv', async (stage) => {
    const table = stage.getByRole('region');
    await stage.getByRole('row').nth(300).waitFor({ state: 'attached' });
    await stage.getByRole('row').nth(300).scrollIntoViewIfNeeded();
    const [box, head] = await boxesOf(table, stage.getByRole('columnheader').first());
    assert.ok(box && box.width > 1800 && box.height > 880, JSON.stringify(box));
    assert.ok(head && Math.abs(head.top - box.top) < 2, 'the head stays');
    await page.setViewportSize({ width: 320, height: 640 });
    const narrow = await table.boundingBox();
    assert.ok(narrow && narrow.width <= 320 && narrow.height > 400, JSON.stringify(narrow));
  });
});
