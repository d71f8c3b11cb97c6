import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lintConfig } from '../../src/config/check.ts';
import { contrastRatio } from '../../src/http/appearance-options.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const html = { accept: 'text/html' };

test('title, logo, footer and colours are shown, and cannot inject anything', async (t) => {
  const folder = temporaryFolder(t);
  const logo = join(folder, 'logo.svg');
  writeFileSync(logo, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const appearance = {
    title: 'Files <of> "Example"',
    logo_path: logo,
    footer: '</footer><script>alert(1)</script>',
    footer_links: { Imprint: 'https://example.com/?a=1&b="2"' },
    accent_color: '#7A2048',
    accent_color_dark: '#f0a8c4',
  };
  const server = await startServer(t, { service: { appearance } });
  const { text } = await server.get('/home/', { headers: html });
  assert.match(text, /<title>Files &lt;of&gt; &quot;Example&quot;<\/title>/);
  assert.doesNotMatch(text, /<script>alert/);
  assert.match(text, /href="https:\/\/example\.com\/\?a=1&amp;b=&quot;2&quot;" rel="noreferrer">Imprint/);
  const style = /href="(\/__svc__\/appearance\.css[^"]*)"/.exec(text)?.[1] ?? '';
  const sheet = await server.get(style, { user: null });
  assert.equal(sheet.text, ':root{--accent-light:#7a2048}:root{--accent-dark:#f0a8c4}');
  assert.match(String(sheet.headers['content-type']), /^text\/css/);
  const image = await server.get(/src="(\/__svc__\/logo[^"]*)"/.exec(text)?.[1] ?? '', { user: null });
  assert.equal(image.headers['content-type'], 'image/svg+xml');
  assert.match(
    String(image.headers['content-security-policy']),
    /^sandbox; default-src 'none'/,
    'a logo that is opened directly runs no script',
  );
});

test('without appearance there is no logo and no extra style', async (t) => {
  const server = await startServer(t);
  assert.equal((await server.get('/__svc__/logo', { user: null })).status, 404);
  assert.doesNotMatch((await server.get('/home/', { headers: html })).text, /appearance\.css|<footer>/);
});

test('colours without contrast and links with other protocols are refused; unusable logos are reported', async (t) => {
  const folder = temporaryFolder(t);
  const config = (appearance: object) => testConfig(folder, { service: { appearance } });
  const refused: [object, RegExp][] = [
    [{ accent_color: '#ffcc00' }, /contrast of 1\.4:1 on the light pages, but text needs 4\.5:1; choose a darker colour/],
    [{ accent_color_dark: '#0b5cad' }, /on the dark pages.*choose a lighter colour/],
    [{ accent_color: 'red' }, /must be a colour such as/],
    [{ accent_color: '#123456;}*{display:none' }, /must be a colour such as/],
    [{ footer_links: { Imprint: 'javascript:alert(1)' } }, /the URL of \W+Imprint\W+ must be an http, https or mailto URL/],
    [{ titel: 'x' }, /titel/],
    [{ title: 'x'.repeat(81) }, /80 characters/],
  ];
  for (const [appearance, message] of refused) {
    await assert.rejects(config(appearance), (error: Error & { findings?: { message: string }[] }) => {
      assert.match(JSON.stringify([error.message, error.findings]), message, JSON.stringify(appearance));
      return true;
    });
  }
  mkdirSync(join(folder, 'home'), { recursive: true });
  const findings = async (logo_path: string) => lintConfig(await config({ logo_path })).map((finding) => finding.code);
  writeFileSync(join(folder, 'large.png'), Buffer.alloc(600_000));
  for (const name of ['missing.svg', 'large.png', 'program.exe'])
    assert.ok((await findings(join(folder, name))).includes('logo-unusable'), name);
});

test('contrast is computed as WCAG defines it', () => {
  assert.equal(contrastRatio('#000000', '#ffffff'), 21);
  assert.equal(contrastRatio('#777777', '#777777'), 1);
  assert.ok(Math.abs(contrastRatio('#777777', '#ffffff') - 4.48) < 0.01);
});
