// Takes the documentation's pictures of the pages and the console: `node scripts/screenshots.mjs`. Needs Chromium (Debian: `chromium`).
// `--flows` takes only the pictures of tasks.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { remove } from './bench/support/benchmark.mjs';
import { started } from './bench/support/exchange.mjs';
import { hashOf } from './bench/support/peers.mjs';
import { silence } from './films.mjs';
import { picturesOfConsoleFlows, picturesOfFlows } from './screenshot-flows.mjs';
import { documents, figuresOfAnHour, film, landscape } from './screenshot-samples.mjs';

process.chdir(new URL('..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { flows: { type: 'boolean' } } });
execFileSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'svc-screenshots-'));

/** Names, sizes and ages (in hours) of the members in the pictures. A size of -1 means a folder. */
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

/** The time in the pictures. It is fixed, so that "yesterday" always means the same day. */
const now = Date.UTC(2026, 2, 16, 10, 24);

function makeMembers(home) {
  for (const [name, size, hours] of members) {
    const path = join(home, name);
    if (size < 0) mkdirSync(path, { recursive: true });
    else {
      writeFileSync(path, '');
      truncateSync(path, size);
    }
    for (const [file, content] of name === 'Reports' ? Object.entries(documents) : []) {
      writeFileSync(join(path, file), content);
      makeOlder(join(path, file), hours);
    }
    makeOlder(path, hours);
  }
}

async function makePhotos() {
  const page = await (await browser.newContext()).newPage();
  const put = (name, content, hours) => {
    const path = join(folder, 'files/Photos', name);
    writeFileSync(path, content);
    makeOlder(path, hours);
  };
  const names = ['Evening.jpg', 'Lake.jpg', 'Morning mist.jpg', 'Night train.jpg', 'Ridge.jpg', 'Spring.jpg', 'Valley.jpg'];
  for (const [index, name] of names.entries()) put(name, await landscape(page, index + 1), 200 + index * 30);
  put('Drive.webm', await film(page), 190);
  for (const name of ['Birds.wav', 'Rain.wav']) put(name, silence(95), 180);
  await page.context().close();
  makeOlder(join(folder, 'files/Photos'), 200);
}

function makeOlder(path, hours) {
  const time = (now - hours * 3_571_000) / 1000;
  utimesSync(path, time, time);
}

/** Starts a receiver of events for the pictures of the console. It answers 500, except at `/archive`; at `/inspect`, it holds files. */
async function startReceiver() {
  const receiver = createServer((request, reply) => {
    request.resume().on('end', () => {
      if (request.url === '/inspect') {
        reply.writeHead(202, { 'content-type': 'application/json' });
        reply.end('{"message":"The order has a supplier who is not in the list."}');
        return;
      }
      const isMended = request.url === '/archive';
      reply.writeHead(isMended ? 200 : 500, { 'content-type': 'application/json' });
      reply.end(isMended ? '{"ok":true}' : '{"error":"no such table: invoices","hint":"run the migration"}');
    });
  });
  await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  return { receiver, receiverUrl: `http://127.0.0.1:${receiver.address().port}` };
}

async function startServer() {
  const { receiver, receiverUrl } = await startReceiver();
  const home = join(folder, 'files');
  mkdirSync(home);
  makeMembers(home);
  const password = hashOf('secret');
  const config = {
    server: { name: 'demo', data_folder_path: join(folder, 'data') },
    groups: {
      DEFAULT_GROUP: {
        home_folder_path: home,
        allow_own_password_change: true,
        show_recent: true,
        trash: { days: 30 },
        links: { enabled: true },
      },
      partners: {
        name: 'Partners',
        home_folder_path: join(folder, 'partners', '${USER}'),
        quota_size: 50_000_000,
        trash: { days: 30 },
        inspections: [[], ['*.xml', 'orders']],
      },
    },
    accounts: {
      'Anna Weber': { password },
      acme: { password, group: 'partners' },
      globex: { password, group: 'partners' },
      initech: { password, group: 'partners', enabled: false },
    },
    inspections: { orders: { type: 'http', name: 'Order check', url: `${receiverUrl}/inspect`, test_at_start: false } },
    services: {
      web: {
        type: 'http',
        port: 0,
        client_forwarded_header: 'X-Forwarded-For',
        triggers: ['Approve, success'],
        appearance: { title: 'Example Files' },
      },
      console: { type: 'console', port: 0, administrators: { olga: { password, role: 'operator' } } },
    },
    event_handlers: {
      archive: { type: 'http', name: 'archive', url: [`${receiverUrl}/archive`], groups: ['operation-write'] },
      invoices: { type: 'http', name: 'invoices', url: [`${receiverUrl}/invoices`], groups: ['operation-write'], retry_count: 0 },
    },
  };
  const path = join(folder, 'svc.json');
  writeFileSync(path, JSON.stringify(config));
  const server = started(['dist/svc.mjs', 'serve', '--log-level', 'error', '--config', path]);
  const [, url] = await server.line(/web listening on (\S+)\//);
  const [, consoleUrl] = await server.line(/console listening on (\S+)\//);
  return { server, url, consoleUrl, receiver };
}

const consoleViews = {
  event: async (page) => {
    await openSection(page, 'events?id=40017');
    await page.locator('main .row-link').first().click();
    await page.getByRole('heading', { name: 'Event 40017' }).waitFor();
  },
  delivery: async (page) => {
    await openSection(page, 'deliveries?outcome=failed');
    await page.locator('main .row-link').first().click();
    await page.getByRole('heading', { name: 'Delivery to' }).waitFor();
  },
  accounts: async (page) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await openSection(page, 'accounts');
    await page.getByText('4 accounts.').waitFor();
  },
  handlers: async (page) => {
    await page.setViewportSize({ width: 1280, height: 500 });
    await openSection(page, 'handlers');
    await page.locator('.handler').nth(1).waitFor();
  },
};

const stage = await startServer();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-quic'] });
try {
  await makePhotos();
  if (!options.flows) await picturesOfReadme();
  await useServer();
  if (!options.flows) await picturesOfConsole();
  await picturesOfConsoleFlows({ page: await openConsole(800, 520, 'light'), openSection, save, url: stage.url });
  await picturesOfFlows({ openPage, login, save, url: stage.url });
} finally {
  await browser.close();
  await stage.server.end('SIGTERM');
  stage.receiver.close();
  remove(folder);
}

async function newPage(width, height, colorScheme, more = {}) {
  const look = { viewport: { width, height }, colorScheme, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce', ...more };
  return (await browser.newContext(look)).newPage();
}

/** Opens a page whose clock shows the time when the files were created. */
async function openPage(...look) {
  const page = await newPage(...look);
  await page.clock.setFixedTime(now);
  return page;
}

async function login(page) {
  await page.goto(`${stage.url}/home/?folders=first&sort=name&order=asc`);
  await page.locator('input[name=username]').fill('Anna Weber');
  await page.locator('input[name=password]').fill('secret');
  await page.locator('form[action$=login] button').click();
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
  await wide.goto(`${stage.url}/home/Photos/?preview=Evening.jpg`);
  await wide.locator('.stage img').waitFor();
  await save(wide, 'docs/images/viewer.webp');
  await wide.goto(`${stage.url}/home/Reports/?preview=Spring%20meeting.md`);
  await wide.locator('.markdown pre').waitFor();
  await save(wide, 'docs/images/preview-light.webp');
  const phone = await openPage(390, 780, 'dark');
  await login(phone);
  await save(phone, 'docs/images/listing-dark-phone.webp');
}

async function useServer() {
  for (const [name, agent] of [
    ['acme', 'WinSCP/6.3'],
    ['acme', 'curl/8.5.0'],
    ['globex', 'Cyberduck/9.0'],
  ]) {
    await fetch(`${stage.url}/__svc__/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': agent },
      body: JSON.stringify({ username: name, password: 'secret' }),
    });
    const authorization = `Basic ${btoa(`${name}:secret`)}`;
    for (const file of ['orders-0412.csv', 'orders-0413.csv']) {
      const url = `${stage.url}/home/${file}`;
      await fetch(url, { method: 'PUT', headers: { authorization }, body: file.repeat(name === 'acme' ? 700_000 : 90_000) });
      if (agent !== 'curl/8.5.0') await fetch(url, { method: 'DELETE', headers: { authorization } });
    }
  }
  const authorization = `Basic ${btoa('Anna Weber:secret')}`;
  for (const name of ['Invoice 2041.pdf', 'Invoice 2042.pdf', 'Invoice 2043.pdf', 'Spring letter.docx'])
    await fetch(`${stage.url}/home/Contracts/${encodeURIComponent(name)}`, {
      method: 'PUT',
      headers: { authorization },
      body: name.repeat(4000),
    });
}

async function openConsole(width, height, colorScheme) {
  const page = await newPage(width, height, colorScheme);
  await page.route('**/api/samples', (route) => route.fulfill({ json: figuresOfAnHour() }));
  await page.goto(stage.consoleUrl);
  await page.getByLabel('User name').fill('olga');
  await page.getByLabel('Password').fill('secret');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.charts').waitFor();
  return page;
}

async function picturesOfConsole() {
  const wide = await openConsole(1280, 800, 'light');
  await save(wide, 'docs/images/console-overview.webp');
  for (const [name, show] of Object.entries(consoleViews)) {
    await show(wide);
    await save(wide, `docs/images/console-${name}.webp`);
  }
}

async function openSection(page, name) {
  await page.goto(`${stage.consoleUrl}/#${name}`);
  await page.getByText('Loading').first().waitFor({ state: 'detached' });
  await page.locator('main .panel').last().waitFor();
}

/** Saves a picture as WebP, which has half the size of a PNG. More than 60 kB would be too much for a README. */
async function save(page, path) {
  await page.mouse.move(0, 0);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const bytes = Buffer.from(data, 'base64');
  writeFileSync(path, bytes);
  console.log(`${path}: ${(bytes.length / 1000).toFixed(0)} kB`);
  if (bytes.length > 60_000) process.exitCode = 1;
}
