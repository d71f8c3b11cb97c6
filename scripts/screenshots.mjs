// Makes the documentation's pictures of the pages: `node scripts/screenshots.mjs`. Needs Chromium (Debian: `chromium`). With `--all FOLDER` it puts
// every page in both colours and both widths there, to be looked at before a release.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

process.chdir(new URL('..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { all: { type: 'string' } } });
const built = spawnSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);
const folder = mkdtempSync(join(tmpdir(), 'svc-screenshots-'));

const moreOptions = options.all === undefined ? {} : { metadata_fields: ['x-labels', 'project, required', 'note', 'customer-*'] };

/** Names, sizes and ages (in hours) of what the pictures show; a size of -1 is a folder. */
const members = [
  ['Contracts', -1, 30],
  ['Photos', -1, 200],
  ['Reports', -1, 4],
  ['Annual report 2025.pdf', 4_812_000, 52],
  ['Budget.xlsx', 88_300, 0.4],
  ['Interview.mp3', 38_400_000, 100],
  ['Invitation.docx', 31_700, 21],
  ['Office tour.mp4', 412_600_000, 310],
  ['Press kit.zip', 96_200_000, 75],
  ['Spring review.pptx', 7_140_000, 240],
  ['Team photo.jpg', 3_270_000, 28],
  ['website.json', 6_140, 1_300],
];

/** When the pictures are taken, for whoever looks at them: "yesterday" stays so. */
const now = Date.UTC(2026, 2, 16, 10, 24);

function makeMembers(home) {
  for (const [name, size, hours] of members) {
    const path = join(home, name);
    if (size < 0) mkdirSync(path, { recursive: true });
    else {
      writeFileSync(path, '');
      truncateSync(path, size);
    }
    if (name === 'Reports') writeFileSync(join(path, 'Notes.txt'), 'Agenda\n\n1. Numbers of the quarter\n2. What comes next\n');
    utimesSync(path, (now - hours * 3_571_000) / 1000, (now - hours * 3_571_000) / 1000);
  }
}

async function startServer() {
  const home = join(folder, 'files');
  mkdirSync(home);
  makeMembers(home);
  const hash = spawnSync(process.execPath, ['dist/svc.mjs', 'hash-password'], { input: 'secret\n', encoding: 'utf8' });
  const config = {
    server: { name: 'demo', data_folder_path: join(folder, 'data') },
    groups: { DEFAULT_GROUP: { home_folder_path: home, allow_own_password_change: true, show_recent: true } },
    accounts: { 'Anna Weber': { password: hash.stdout.trim() } },
    services: {
      web: { type: 'http', port: 0, triggers: ['Approve, success'], appearance: { title: 'Example Files' }, ...moreOptions },
    },
  };
  const path = join(folder, 'svc.json');
  writeFileSync(path, JSON.stringify(config));
  const server = spawn(process.execPath, ['dist/svc.mjs', 'serve', '--config', path], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const url = await new Promise((resolve, reject) => {
    const read = (chunk) => {
      output += chunk;
      const found = /http:\/\/[^\s"]+/.exec(output)?.[0];
      if (found) resolve(found.replace(/\/$/, ''));
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('exit', () => reject(new Error(`The server did not start: ${output}`)));
  });
  return { server, url };
}

const stage = await startServer();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-quic'] });
try {
  if (options.all === undefined) await picturesOfReadme();
  else await picturesOfAll(options.all);
} finally {
  await browser.close();
  stage.server.kill('SIGTERM');
  await once(stage.server, 'exit');
  rmSync(folder, { recursive: true, force: true });
}

async function openPage(width, height, colorScheme, more = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...more,
  });
  const page = await context.newPage();
  await page.clock.setFixedTime(now);
  return page;
}

async function login(page) {
  await page.goto(`${stage.url}/home/?folders=first&sort=name&order=asc`);
  await page.getByLabel('User name').fill('Anna Weber');
  await page.getByLabel('Password').fill('secret');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#members').waitFor();
}

async function picturesOfReadme() {
  mkdirSync('docs/images', { recursive: true });
  const wide = await openPage(1280, 800, 'light');
  await login(wide);
  await wide.getByLabel('Select Budget.xlsx').check();
  await wide.getByLabel('Select Team photo.jpg').check();
  await wide.mouse.move(0, 0);
  await wide.getByText('2 selected').waitFor();
  await save(wide, 'docs/images/listing-light.webp');
  const phone = await openPage(390, 780, 'dark');
  await login(phone);
  await save(phone, 'docs/images/listing-dark-phone.webp');
}

/** A picture as WebP: half the size of a PNG. Above 60 kB it is too much for a README. */
async function save(page, path) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const bytes = Buffer.from(data, 'base64');
  writeFileSync(path, bytes);
  console.log(`${path}: ${(bytes.length / 1000).toFixed(0)} kB`);
  if (bytes.length > 60_000) process.exitCode = 1;
}

async function picturesOfAll(target) {
  mkdirSync(target, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [320, 768, 1280]) {
      const shot = (page, name) => page.screenshot({ path: join(target, `${name}-${colorScheme}-${width}.png`) });
      const page = await openPage(width, 800, colorScheme);
      await page.goto(`${stage.url}/__svc__/login`);
      await shot(page, 'login');
      await login(page);
      await shot(page, 'listing');
      await page.locator('.to-grid').click();
      await shot(page, 'grid');
      await page.locator('.to-list').click();
      await page.locator('[popovertarget=menu]').click();
      await page.locator('#space:not([hidden])').waitFor();
      await shot(page, 'menu');
      await page.keyboard.press('Escape');
      await page.setViewportSize({ width, height: 560 });
      await page.mouse.move(width / 2, 300);
      await page.mouse.wheel(0, 150);
      await page.waitForTimeout(200);
      await shot(page, 'scrolled');
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate('scrollTo(0, 0)');
      await page.evaluate(`document.querySelector('.drop').hidden = false`);
      await shot(page, 'drop');
      await page.evaluate(`document.querySelector('.drop').hidden = true`);
      await page.getByRole('button', { name: 'Actions for Budget.xlsx' }).click();
      await shot(page, 'row-menu');
      await page.keyboard.press('Escape');
      await page.getByLabel('Select Budget.xlsx').check();
      await shot(page, 'selected');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await shot(page, 'delete');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Rename' }).click();
      await shot(page, 'rename');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Move' }).click();
      await page.locator('dialog .names button').first().waitFor();
      await shot(page, 'move');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await shot(page, 'help');
      await page.keyboard.press('Escape');
      await page
        .locator('#tools input[type=file]')
        .first()
        .setInputFiles(['a.txt', 'b.txt'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('hello') })));
      await page.getByRole('dialog').getByLabel('project').fill('Spring');
      await shot(page, 'details');
      await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click();
      await page.locator('.queue li').first().waitFor();
      await shot(page, 'queue');
      await page.goto(`${stage.url}/home/Reports/`);
      await page.getByRole('link', { name: 'Notes.txt' }).click();
      await page.locator('dialog pre').waitFor();
      await shot(page, 'preview');
      await page.goto(`${stage.url}/home/__svc__/recent`);
      await shot(page, 'recent');
      await page.goto(`${stage.url}/home/__svc__/password-update`);
      await shot(page, 'password');
      await page.goto(`${stage.url}/home/Contracts/`);
      await shot(page, 'empty');
      for (const [text, name] of [
        ['re', 'search'],
        ['nothing like it', 'search-empty'],
      ]) {
        await page.goto(`${stage.url}/home/?search=${text}`);
        await shot(page, name);
      }
      await page.goto(`${stage.url}/home/missing/`);
      await shot(page, 'missing');
      await page.goto(`${stage.url}/__svc__/openapi.html`);
      await page.locator('.opblock-get').first().waitFor();
      await shot(page, 'api');
      await page.locator('.opblock-get .opblock-summary-control').first().click();
      await page.locator('.opblock-body').waitFor();
      await page.locator('.opblock-get').first().scrollIntoViewIfNeeded();
      await shot(page, 'api-open');
      const plain = await openPage(width, 800, colorScheme, { javaScriptEnabled: false });
      await login(plain);
      await shot(plain, 'plain');
    }
  }
}
