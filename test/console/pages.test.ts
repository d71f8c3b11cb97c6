import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { startConsole } from '../support/console.ts';

const gzip = { 'accept-encoding': 'gzip' };

test('the page is served without a login, runs only its own scripts, and is not cached', async (t) => {
  const { console } = await startConsole(t);
  const page = await console.get('/');
  assert.deepEqual(
    [page.status, page.headers['content-type'], page.headers['cache-control']],
    [200, 'text/html; charset=utf-8', 'no-store'],
  );
  const policy = String(page.headers['content-security-policy']).split('; ');
  assert.ok(policy.includes("default-src 'none'"));
  assert.ok(policy.includes("script-src 'self'"));
  assert.ok(policy.includes("require-trusted-types-for 'script'"));
  assert.doesNotMatch(policy.join(), /unsafe|\*|data:/);
  assert.doesNotMatch(page.text, /\sstyle=|<style|\son[a-z]+=|<script(?! type="module" src="\/assets\/)/);
  assert.equal(page.headers['x-frame-options'], 'DENY');
});

test('at an unknown address browsers get the page, and programs get JSON; below /api and /assets both get JSON', async (t) => {
  const { console } = await startConsole(t);
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  for (const [path, headers, type] of [
    ['/nowhere', { accept }, 'text/html; charset=utf-8'],
    ['/nowhere', {}, 'application/json; charset=utf-8'],
    ['/api/nowhere', { accept }, 'application/json; charset=utf-8'],
    ['/assets/nowhere.js', { accept }, 'application/json; charset=utf-8'],
  ] as const) {
    const reply = await console.get(path, { headers });
    assert.ok([401, 404].includes(reply.status), path);
    assert.equal(reply.headers['content-type'], type, path);
    assert.match(String(reply.headers['content-security-policy']), /default-src 'none'/);
  }
  assert.equal(
    (await console.send('POST', '/nowhere', { headers: { accept } })).headers['content-type'],
    'application/json; charset=utf-8',
  );
});

test('the page has the language that was requested or chosen, and the chosen colours', async (t) => {
  const { console } = await startConsole(t);
  const french = await console.get('/', { headers: { 'accept-language': 'fr-CH' } });
  assert.match(french.text, /<html lang="fr"/);
  const chosen = await console.get('/', { headers: { 'accept-language': 'fr', cookie: 'SVC_LANGUAGE=de; SVC_THEME=dark' } });
  assert.match(chosen.text, /<html lang="de" dir="ltr" data-theme="dark">/);
  assert.match(String(chosen.headers.vary), /accept-language, cookie/);
});

test('in each language the first load takes less than 38 kB compressed (2 kB below the budget); its files are immutable', async (t) => {
  const { console } = await startConsole(t);
  for (const language of ['en', 'de', 'fr', 'es']) {
    const page = await console.get('/', { headers: { 'accept-language': language } });
    const paths = new Set([...page.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? ''));
    assert.equal(paths.size, language === 'en' ? 3 : 4);
    let sum = page.body.length;
    for (const path of paths) {
      const plain = await console.get(path);
      const packed = await console.get(path, { headers: gzip });
      assert.deepEqual([plain.status, packed.headers['content-encoding']], [200, 'gzip'], path);
      assert.ok(gunzipSync(packed.body).equals(plain.body), path);
      assert.match(String(packed.headers['cache-control']), /immutable/);
      sum += packed.body.length;
    }
    t.diagnostic(`${language}: ${sum} bytes`);
    assert.ok(sum < 38_000, `${sum} bytes in ${language}`);
  }
  assert.equal((await console.get('/assets/missing.js')).status, 404);
});
