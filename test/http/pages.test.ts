import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assetPaths, assets } from '../../src/http/html/pages/assets.ts';
import { startServer, type TestServer } from '../support/server.ts';

const html = { accept: 'text/html' };
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };

/** Returns the names of a listing page in order. */
async function namesOf(server: TestServer, query: string, headers: Record<string, string> = {}): Promise<string[]> {
  const { text } = await server.get(`/home/${query}`, { headers: { ...html, ...headers } });
  return [...text.matchAll(/name=selected-members value="?([^" ]*)"? /g)].map((match) => match[1] as string);
}

test('a listing is ordered by a column, with folders first or mixed; a cookie keeps the order; invalid values are ignored', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'b-folder'));
  for (const [name, size, time] of [
    ['file10', 5, 3000],
    ['file2', 50, 1000],
    ['Zoo', 500, 2000],
  ] as const) {
    writeFileSync(join(server.home, name), 'x'.repeat(size));
    utimesSync(join(server.home, name), time, time);
  }
  utimesSync(join(server.home, 'b-folder'), 500, 500);
  assert.deepEqual(await namesOf(server, ''), ['b-folder', 'file2', 'file10', 'Zoo'], 'natural order, folders first');
  assert.deepEqual(await namesOf(server, '?order=desc'), ['b-folder', 'Zoo', 'file10', 'file2'], 'the order is reversed');
  assert.deepEqual(await namesOf(server, '?sort=size&order=desc&folders=mixed'), ['Zoo', 'file2', 'file10', 'b-folder']);
  assert.deepEqual(await namesOf(server, '?sort=modified&order=desc&folders=first'), ['b-folder', 'file10', 'Zoo', 'file2']);
  const nonsense = '?sort=<script>&order=__proto__&folders=%00';
  assert.deepEqual(await namesOf(server, nonsense), ['b-folder', 'file2', 'file10', 'Zoo']);
  const page = await server.get('/home/?sort=size&folders=mixed', { headers: html });
  const cookie = page.headers['set-cookie']?.[0] ?? '';
  assert.match(cookie, /^SVC_LISTING=size-asc-mixed; Path=\/home\/; SameSite=strict; Max-Age=\d+$/);
  assert.match(page.text, /class="size" aria-sort="ascending"/);
  assert.deepEqual(await namesOf(server, '', { cookie: cookie.split(';')[0] ?? '' }), ['b-folder', 'file10', 'file2', 'Zoo']);
  assert.equal((await namesOf(server, '', { cookie: 'SVC_LISTING=x-y-<z>' })).length, 4);
});

test('the page for a missing file has a link to the nearest existing folder, and a search for the name of the file', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'a <b>/c'), { recursive: true });
  const { status, text } = await server.get('/home/a%20%3Cb%3E/c/x/y%22z.txt', { headers: html });
  assert.equal(status, 404);
  assert.match(text, /<a class="button primary" href="\/home\/a%20%3Cb%3E\/c\/">To the folder c<\/a>/);
  assert.match(text, /<form class="search" role="search" method="get" action="\/home\/">[\s\S]+?<input [^>]*value="y&quot;z.txt"/);
  rmSync(join(server.home, 'a <b>'), { recursive: true });
  assert.match((await server.get('/home/a%20%3Cb%3E/c/x', { headers: html })).text, /href="\/home\/">To the files<\/a>/);
});

test('while the session is valid, an error page at any URL has the menu, and a 404 page also has the search', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 1 } } });
  const id = await server.login();
  const page = (url: string, session: string) =>
    server.get(url, { user: null, headers: { ...html, cookie: `SVC_HTTP_SESSION=${session}` } });
  for (const [url, status] of [
    ['/nothing', 404],
    ['/__svc__/nothing', 404],
    ['/home/__svc__/nothing', 403],
    ['/home/%FF', 400],
  ] as const) {
    const { status: found, text } = await page(url, id);
    assert.equal(found, status, url);
    assert.match(text, /<nav class="places".*href="\/home\/__svc__\/trash"/s, url);
    assert.equal(text.includes('role="search"'), status === 404, url);
  }
  // A malformed `If` makes the check of the account fail, because it also reads the lock tokens. The reply is still the page for 404.
  const broken = await server.get('/nothing', { user: null, headers: { ...html, cookie: `SVC_HTTP_SESSION=${id}`, if: '(<' } });
  assert.equal(broken.status, 404);
  for (const session of ['', 'another']) assert.doesNotMatch((await page('/nothing', session)).text, /class="places"|role="search"|alice/);
  assert.equal((await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie: `SVC_HTTP_SESSION=${id}` } })).status, 204);
  assert.doesNotMatch((await page('/nothing', id)).text, /class="places"/);
});

test('every page has the strict policy, and none can be cached or framed', async (t) => {
  const server = await startServer(t, { group: { allow_own_password_change: true } });
  writeFileSync(join(server.home, 'a'), '');
  const authorization = `session ${await server.login()}`;
  const confirm = { body: 'action=confirm-delete&selected-members=a', headers: { ...asForm, ...html } };
  const pages = {
    listing: await server.get('/home/', { headers: html }),
    login: await server.get('/__svc__/login', { user: null, headers: html }),
    'failed login': await server.send('POST', '/__svc__/login', {
      user: null,
      body: 'username=a&password=b',
      headers: { ...asForm, ...html },
    }),
    redirect: await server.get('/home/', { user: null, headers: html }),
    missing: await server.get('/home/x', { headers: html }),
    malformed: await server.get('/home/%ff', { headers: html }),
    question: await server.send('POST', '/home/', confirm),
    password: await server.get('/home/__svc__/password-update', { headers: { ...html, authorization } }),
  };
  for (const [name, { headers, text }] of Object.entries(pages)) {
    const policy = String(headers['content-security-policy']);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self';",
      "style-src 'self';",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(rule), `${name}: ${rule}`);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/, name);
    assert.equal(headers['x-content-type-options'], 'nosniff', name);
    assert.equal(headers['x-frame-options'], 'DENY', name);
    assert.equal(headers['referrer-policy'], 'same-origin', name);
    assert.match(String(headers['cache-control']), /no-store/, name);
    assert.doesNotMatch(text, /<script>|<style|\son\w+=|\sstyle=|(?:src|href)="(?:https?:)?\/\//, name);
  }
});

test('user files have a sandbox, also inline; types whose scripts a browser would run are never inline', async (t) => {
  const server = await startServer(t);
  for (const name of ['a.html', 'a.svg', 'a.xml', 'a.xhtml', 'a.js', 'a.png', 'a.txt', 'a.pdf'])
    writeFileSync(join(server.home, name), '<script>');
  for (const name of readdirSync(server.home)) {
    const { headers } = await server.get(`/home/${name}?inline`);
    const isShown = ['a.png', 'a.txt', 'a.pdf', 'a.js'].includes(name);
    assert.match(String(headers['content-disposition']), isShown ? /^inline/ : /^attachment/, name);
    assert.match(String(headers['content-security-policy']), /^sandbox; default-src 'none'/, name);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    // Browsers show no PDF in a sandbox, so its frame has none. `nosniff` keeps browsers from treating the file as another type.
    const framed = (await server.get(`/home/${name}?inline=frame`)).headers;
    const policy =
      name === 'a.pdf' ? /^default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'/ : /^sandbox; default-src 'none'/;
    assert.match(String(framed['content-security-policy']), policy, name);
    assert.deepEqual([framed['content-type'], framed['x-content-type-options']], [headers['content-type'], 'nosniff'], name);
  }
});

test('the question before a deletion changes nothing and is safe with hostile names', async (t) => {
  const server = await startServer(t);
  const name = `"><script>alert(1)</script>\n'&.txt`.replaceAll('/', '_');
  writeFileSync(join(server.home, name), '');
  mkdirSync(join(server.home, 'folder'));
  const selected = [name, 'folder', 'gone', '..', 'a/b'].map((member) => `selected-members=${encodeURIComponent(member)}`);
  const ask = (members: string[]) =>
    server.send('POST', '/home/', { body: ['action=confirm-delete', ...members].join('&'), headers: { ...asForm, ...html } });
  assert.equal((await ask(selected)).status, 400, 'a selection cannot contain paths');
  const page = await ask(selected.slice(0, 3));
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /<script>alert/);
  assert.match(page.text, /value="&quot;&gt;&lt;script&gt;alert\(1\)&lt;_script&gt;&#10;&#39;&amp;\.txt"/);
  assert.match(page.text, /no longer there/);
  assert.equal(readdirSync(server.home).length, 2, 'nothing is deleted yet');
  assert.equal((await ask([])).status, 400);
  const foreign = { ...asForm, ...html, origin: 'https://evil.example' };
  const attack = { body: ['action=delete-members', ...selected.slice(0, 1)].join('&'), headers: foreign };
  assert.equal((await server.send('POST', '/home/', attack)).status, 400);
  assert.equal(readdirSync(server.home).length, 2);
});

test('the language follows Accept-Language, and otherwise is English', async (t) => {
  const server = await startServer(t);
  const cases: [string | undefined, string, string][] = [
    [undefined, 'en', 'Sign in'],
    ['de-CH,de;q=0.9,en;q=0.8', 'de', 'Anmelden'],
    ['ja, fr;q=0.7, *;q=0.1', 'fr', 'Se connecter'],
    ['es-MX', 'es', 'Iniciar sesión'],
    ['en;q=0.5, de;q=0.9', 'de', 'Anmelden'],
    ['de;q=0, fr;q=0', 'en', 'Sign in'],
    ['"><script>', 'en', 'Sign in'],
    [`${'x'.repeat(8000)}, de`, 'en', 'Sign in'],
  ];
  for (const [accept, tag, title] of cases) {
    const headers = accept === undefined ? html : { ...html, 'accept-language': accept };
    const { text } = await server.get('/__svc__/login', { user: null, headers });
    assert.ok(text.includes(`<html lang="${tag}"`) && text.includes(`<h1>${title}</h1>`), accept);
  }
});

test('the colours are chosen by a form that only redirects to pages of the service', async (t) => {
  const server = await startServer(t);
  const choose = (body: string, headers = {}) =>
    server.send('POST', '/__svc__/theme', { user: null, body, headers: { ...asForm, ...headers } });
  const dark = await choose('theme=dark&next=/home/a%2520b/');
  assert.deepEqual([dark.status, dark.headers.location], [303, '/home/a%20b/']);
  const cookie = dark.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  assert.match((await server.get('/__svc__/login', { user: null, headers: { ...html, cookie } })).text, /<html [^>]*data-theme="dark"/);
  for (const next of ['https://evil.example/', '//evil.example', '/\\evil', '/home/\\..', '/home/%0d%0aSet-Cookie: x=y'])
    assert.match(String((await choose(`theme=light&next=${encodeURIComponent(next)}`)).headers.location), /^\/home\/(%0d%0a.*)?$/, next);
  assert.equal((await choose('theme=<script>')).status, 400);
  assert.equal((await choose('theme=dark', { origin: 'https://evil.example' })).status, 400);
  assert.doesNotMatch((await server.get('/home/', { headers: { ...html, cookie: 'SVC_THEME="><script>' } })).text, /data-theme/);
});

test('the language can be chosen by a form, too; numbers still have the format of the region that the browser names', async (t) => {
  const server = await startServer(t);
  const choose = (body: string, headers = {}) =>
    server.send('POST', '/__svc__/language', { user: null, body, headers: { ...asForm, ...headers } });
  const german = await choose('language=de&next=/__svc__/login');
  assert.deepEqual([german.status, german.headers.location], [303, '/__svc__/login']);
  const cookie = german.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  assert.equal(cookie, 'SVC_LANGUAGE=de');
  const page = (path: string, headers: Record<string, string>) => server.get(path, { headers: { ...html, ...headers } });
  writeFileSync(join(server.home, 'a'), 'x'.repeat(1500));
  const swiss = await page('/home/', { cookie, 'accept-language': 'en;q=0.9, de-CH;q=0.5' });
  assert.match(swiss.text, /<html lang="de"[\s\S]*>1\.5 kB/, 'Swiss numbers have a point');
  assert.match((await page('/home/', { cookie: 'SVC_LANGUAGE=xx', 'accept-language': 'fr' })).text, /<html lang="fr"/);
  assert.match((await page('/home/', { cookie: 'SVC_LANGUAGE=__proto__' })).text, /<html lang="en"/);
  assert.equal((await choose('language=xx')).status, 400);
  assert.equal((await choose('language=de', { origin: 'https://evil.example' })).status, 400);
  const api = await page('/__svc__/openapi.html', { cookie: `${cookie}; SVC_THEME=dark` });
  assert.match(
    api.text,
    /<html lang="de" dir="ltr" data-theme="dark">[\s\S]*id="menu"[\s\S]*<div id="api" lang="en">/,
    'the API page has the language, colours and menu of all pages',
  );
  assert.equal((await choose('language=fr&next=/__svc__/openapi.html')).headers.location, '/__svc__/openapi.html');
});

test('the first load of a listing stays below 40 kB, and all that it can load below 200 kB', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 50; index++) writeFileSync(join(server.home, `Report ${index}.docx`), '');
  const headers = { ...html, 'accept-encoding': 'gzip' };
  const page = await server.get('/home/', { headers: html });
  const parts = [...page.text.matchAll(/(?:href|src)="(\/__svc__\/assets\/[^"]+\.(?:css|js))"/g)].map((match) => match[1] as string);
  assert.equal(parts.length, 2, 'the page loads one style sheet and one script');
  let bytes = 0;
  for (const path of ['/home/', ...parts]) bytes += (await server.get(path, { headers })).body.length;
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= 40_000, `${bytes} bytes`);

  const scripts = [...assets.keys()].filter((name) => name.startsWith('assets/scripts.'));
  const folders = new Set(scripts.map((name) => name.split('/')[1]));
  assert.equal(folders.size, 1, 'parts stand beside the first script, which asks for them by their names');
  assert.ok(scripts.length > 1);
  const whole = [assetPaths.style, ...scripts.map((name) => `/__svc__/${name}`)];
  let all = 0;
  for (const path of whole) {
    const reply = await server.get(path, { user: null, headers });
    assert.match(String(reply.headers['cache-control']), /immutable/);
    all += reply.body.length;
  }
  t.diagnostic(`${all} bytes with all parts`);
  assert.ok(all <= 200_000, `${all} bytes`);
});

test('a script that identifies itself gets no Basic challenge, so that the browser opens no dialog', async (t) => {
  const server = await startServer(t);
  const challenges = async (headers: Record<string, string>) =>
    (await server.get('/home/a', { user: null, headers })).headers['www-authenticate'];
  assert.match(String(await challenges({})), /basic/);
  assert.equal(await challenges({ 'x-requested-with': 'XMLHttpRequest' }), 'session');
});
