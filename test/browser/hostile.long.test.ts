import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

const names = [
  '<script>owned()<',
  '"onx="owned()',
  "'><img src=x onerror=owned()>",
  '<img src=x onerror=owned()>',
  'javascript:owned()',
  '&lt;b&gt;',
  'line\nbreak',
  'tab\tand\rreturn',
  'exe.\u202egnp',
  '${owned()}',
  '%3Cscript%3E',
  '__proto__',
  '\u{1f600} \u0301',
];

browserTest('hostile names run no script and can be opened, selected and deleted', async (t) => {
  const server = await startServer(t);
  for (const name of names) mkdirSync(join(server.home, name));
  for (const name of names) writeFileSync(join(server.home, name, `${name}.txt`), 'x');
  const page = await openBrowser(t);
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => dialogs.push(dialog.message()));
  await login(page, server.url);
  assert.equal(await page.locator('tbody tr').count(), names.length);
  assert.equal(await page.locator('main img, main script, [onx], [onerror]').count(), 0);
  assert.match(await page.locator('tbody').innerText(), /exe\.\[U\+202E\]gnp/, 'bidirectional controls are visible');
  for (const name of names) {
    await page.goto(`${server.url}/home/${encodeURIComponent(name)}/`);
    assert.equal(await page.locator('tbody tr').count(), 1, name);
    assert.equal(await page.locator('main img, main script, [onx], [onerror]').count(), 0, name);
  }
  await page.goto(`${server.url}/home/`);
  await page.getByLabel('Select all').check();
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`Deleted ${names.length} items`).waitFor();
  assert.deepEqual(readdirSync(server.home), []);
  assert.deepEqual(dialogs, []);
});

browserTest('without scripts, items with hostile names are selected and deleted by the form', async (t) => {
  const server = await startServer(t);
  for (const name of names) writeFileSync(join(server.home, name), 'x');
  const page = await openFolder(t, server, { javaScriptEnabled: false });
  for (const box of await page.locator('tbody input').all()) await box.check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: `Delete these ${names.length} items?` }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('items were deleted.').waitFor();
  assert.deepEqual(readdirSync(server.home), []);
});

/** Serves a foreign page at another port: a different origin, but the same site. @returns its URL */
async function foreignPage(t: TestContext, html: string): Promise<string> {
  const server = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(`<!doctype html><title>x</title>${html}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

browserTest('stored pages and pictures with scripts are downloaded, never shown in the origin of the service', async (t) => {
  const server = await startServer(t);
  const attack = '<script>fetch("/home/stolen/", { method: "PUT" })</script>';
  writeFileSync(join(server.home, 'page.html'), attack);
  writeFileSync(join(server.home, 'image.svg'), `<svg xmlns="http://www.w3.org/2000/svg">${attack}</svg>`);
  writeFileSync(join(server.home, 'feed.xml'), `<html xmlns="http://www.w3.org/1999/xhtml">${attack}</html>`);
  writeFileSync(join(server.home, 'text.txt'), attack);
  const page = await openFolder(t, server);
  for (const name of ['page.html', 'image.svg', 'feed.xml', 'page.html?inline', 'image.svg?inline', 'feed.xml?inline']) {
    await assert.rejects(page.goto(`${server.url}/home/${name}`), /Download is starting|ERR_ABORTED/, name);
  }
  const sent: string[] = [];
  page.on('request', (request) => void sent.push(request.method()));
  // A script would send its request before the page is complete.
  await page.goto(`${server.url}/home/text.txt?inline`);
  assert.deepEqual(sent, ['GET']);
  assert.ok(!readdirSync(server.home).includes('stolen'));
});

browserTest('a foreign page can neither frame the service nor change anything by a form or a request', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'keep.txt'), 'x');
  const page = await openFolder(t, server, { expectedErrors: /frame|refused|CORS|ERR_|400/i });
  const target = `${server.url}/home/`;
  await page.goto(
    await foreignPage(
      t,
      `<iframe src="${target}"></iframe><form method="post" action="${target}"><input name="action" value="delete-members">
      <input name="selected-members" value="keep.txt"><button>go</button></form>`,
    ),
  );
  const framed = await page.frames()[1]?.locator('#list').count();
  assert.equal(framed ?? 0, 0, 'the frame does not show the service');
  const statuses = await page.evaluate<string[]>(`Promise.all([
    fetch('${target}evil.txt', { method: 'PUT', body: 'x', credentials: 'include' }),
    fetch('${target}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({ action: 'create-folder', 'new-folder': 'evil' }) }),
  ].map((reply) => reply.then((r) => r.type, () => 'refused')))`);
  assert.deepEqual(statuses, ['refused', 'opaque'], 'the PUT is refused, and the reply to the form cannot be read');
  await page.getByRole('button', { name: 'go' }).click();
  await page.waitForLoadState();
  assert.deepEqual(readdirSync(server.home), ['keep.txt'], 'nothing was changed');
});

browserTest('the content security policy stops an injected script', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /Content Security Policy|Trusted/ });
  const tried = await page.evaluate<Record<string, boolean>>(`(async () => {
    globalThis.owned = 0;
    const inline = document.createElement('script');
    try { inline.textContent = 'owned = 1'; } catch {}
    document.body.append(inline);
    const handler = document.createElement('a');
    try { handler.setAttribute('onclick', 'owned = 1'); } catch {}
    document.body.append(handler);
    handler.click();
    let html = false;
    try { document.body.innerHTML += '<b>x</b>'; html = true; } catch {}
    const out = await fetch('https://example.com/', { mode: 'no-cors' }).then(() => true, () => false);
    return { owned: owned === 1, html, out };
  })()`);
  assert.deepEqual(tried, { owned: false, html: false, out: false });
  await page.route('**/home/', async (route) => {
    const reply = await route.fetch();
    const injected = '<script>owned = 2</script><img src="https://example.com/x.png" onerror="owned = 2"><iframe src="/home/"></iframe>';
    await route.fulfill({ response: reply, body: (await reply.text()).replace('</main>', `${injected}</main>`) });
  });
  await page.goto(`${server.url}/home/`);
  assert.equal(await page.evaluate('globalThis.owned'), undefined);
});

browserTest('a violation of the content security policy is recorded as a problem of the page', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  await page.evaluate(`document.body.setAttribute('style', 'color: red')`);
  await until('the violation is recorded', () => page.problems.some((problem) => /Content Security Policy/.test(problem)));
  page.problems.splice(0);
});

browserTest('files with names of 255 bytes, bidirectional text or quotes are uploaded, shown and deleted under these names', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  const uploaded = ['x'.repeat(255), 'ü'.repeat(127), 'a\u202efdp.exe', `"quoted' & <b>.txt`, '.hidden', 'ends with dot.'];
  const files = uploaded.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }));
  await page.locator('#tools input[type=file]').first().setInputFiles(files);
  await page.getByText(`${uploaded.length} files were uploaded.`).waitFor({ state: 'attached' });
  assert.deepEqual(readdirSync(server.home).sort(), [...uploaded].sort());
  await page.getByText(`${uploaded.length} items`, { exact: true }).waitFor();
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  assert.equal(wide, 0, 'a long name does not stretch the page');
  await page.locator('.queue').getByText('a[U+202E]fdp.exe').waitFor();
  await page.locator('.queue').getByRole('button', { name: 'Close' }).click();
  await page.locator('a.i', { hasText: '[U+202E]' }).focus();
  await page.keyboard.press('F2');
  await page.getByRole('heading', { name: 'Rename “a[U+202E]fdp.exe”' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Select all').check();
  await page.keyboard.press('Delete');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('a[U+202E]fdp.exe').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`Deleted ${uploaded.length} items`).waitFor();
  assert.deepEqual(readdirSync(server.home), []);
});
