// The page of a folder of 10,000 in Chromium with the CPU slowed four times, by its tracing: when it can be used, and the longest time
// that it holds still while it is scrolled, filtered, selected and sorted; and what bare tables take, which is the limit. Needs Chromium (Debian: `chromium`).
//   node scripts/bench/pages.mjs [--rounds N] [--smoke] [--write] [--against COMMIT]
//   --against measures the build of a commit in the same rounds; --write puts the table into docs/operate/performance.md

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { against, makeFolders, publish, readOptions } from './support/benchmark.mjs';
import { buildOfCommit } from './support/build-variant.mjs';
import { machineLine, median } from './support/machine.mjs';
import { traced } from './support/page-trace.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { password, Servers, userName } from './support/servers.mjs';
import { cell, failures, table } from './support/table.mjs';

const { rounds, ...options } = readOptions(5, { against });
const entries = options.smoke ? 1000 : 10_000;
const slowedTimes = 4;
/** Between two keys of one who types fast, in milliseconds. */
const keyPauseMs = 120;

const { folder, home } = makeFolders(['list']);
const endings = ['docx', 'png', 'pdf', 'tar.gz', 'mp4', 'txt', 'jpg'];
const nameAt = (index) => `File ${String(index).padStart(5, '0')} of März.${endings[index % endings.length]}`;
for (let index = 0; index < entries; index++) writeFileSync(join(home, 'list', nameAt(index)), '');
const servers = new Servers(folder, home);

/** What is measured, in milliseconds, and the aim that svc has. */
const figures = {
  rows: { title: 'the first rows are seen' },
  complete: { title: 'all of the page has come' },
  interactive: { title: 'it can be used: its script has started, no task over 50 ms any more', aimMs: 500 },
  scroll: { title: 'longest task, scrolling through 400 rows a second', aimMs: 50 },
  jump: { title: 'longest task, to the end and back', aimMs: 50 },
  filter: { title: 'longest task, filtering', aimMs: 50 },
  select: { title: 'longest task, selecting all', aimMs: 50 },
  sort: { title: 'longest task, sorting by size', aimMs: 50 },
};

/** Bare tables: of all rows, and of as many as a page of svc begins with. */
const bareCounts = [entries, 20];

/** Opens a page with the processor slowed. @returns when it was there, and when it could be used */
async function open(page, devTools, url) {
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowedTimes });
  const opening = await traced(page, async () => {
    await page.goto(url);
    await page.waitForTimeout(2000);
  });
  const startMs = opening.at('navigationStart');
  return {
    rows: opening.at('firstContentfulPaint') - startMs,
    complete: opening.at('responseEnd') - startMs,
    interactive: opening.restsFrom(Math.max(opening.at('domContentLoadedEventEnd'), opening.markedAt('usable') ?? 0)) - startMs,
  };
}

async function scrollFast(devTools) {
  const gesture = { x: 600, y: 500, yDistance: -40_000, speed: 18_400, gestureSourceType: 'mouse' };
  await devTools.send('Input.synthesizeScrollGesture', gesture);
}

/** Presses what is in sight, without the driver's own search for it, which takes longer than the page. */
async function presser(page, selector) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  return () => page.mouse.click(x + width / 2, y + height / 2);
}

/** Serves bare tables of names, `/COUNT` rows each: no style, no script, no fields. @returns its port, and what ends it */
async function serveBareTables() {
  const row = (_, index) =>
    `<tr><td><a href="./${encodeURIComponent(nameAt(index))}">${nameAt(index)}</a><td>0 bytes<td>22 Nov 2026, 20:00\n`;
  const server = createServer(({ url }, reply) => {
    const rows = Array.from({ length: Number(url.slice(1)) || 0 }, row).join('');
    reply.setHeader('content-type', 'text/html; charset=utf-8');
    reply.end(`<!doctype html><title>Bare</title><table>${rows}</table>`);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, stop: () => server.close() };
}

/** One visit of a bare table: the least that a page can be that shows so many rows. */
async function visitBare(browser, port, count) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/0`);
    const devTools = await context.newCDPSession(page);
    const found = await open(page, devTools, `http://127.0.0.1:${port}/${count}`);
    if (count === entries) found.scroll = (await traced(page, () => scrollFast(devTools))).longestMs();
    return found;
  } finally {
    await context.close();
  }
}

/** One visit of a new browser context, whose cache holds style and script. */
async function visit(browser, server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.port}/home/`);
    await page.locator('input[name=username]').fill(userName);
    await page.locator('input[name=password]').fill(password);
    await page.locator('form[action$=login] button').click();
    await page.locator('#members').waitFor();
    // That page's own start is none of the next one's.
    await page.waitForTimeout(1000);
    const devTools = await context.newCDPSession(page);
    const found = await open(page, devTools, `http://127.0.0.1:${server.port}/home/list/`);
    const longest = async (action) => (await traced(page, action)).longestMs();
    found.scroll = await longest(() => scrollFast(devTools));
    found.jump = await longest(async () => {
      for (const place of ['document.documentElement.scrollHeight', '0', '200_000', '0']) {
        await page.evaluate(`scrollTo(0, ${place})`);
        await page.waitForTimeout(500);
      }
    });
    found.filter = await longest(async () => {
      await page.keyboard.press('/');
      for (const key of '099 m') await page.keyboard.press(key, { delay: keyPauseMs });
      for (let count = 0; count < 5; count++) await page.keyboard.press('Backspace', { delay: keyPauseMs });
      await page.waitForTimeout(500);
    });
    const pressAll = await presser(page, 'thead input');
    found.select = await longest(async () => {
      for (let count = 0; count < 2; count++) {
        await pressAll();
        await page.waitForTimeout(1000);
      }
    });
    const pressSize = await presser(page, 'th.size a');
    found.sort = await longest(async () => {
      await pressSize();
      await page.waitForTimeout(3000);
    });
    return found;
  } finally {
    await context.close();
  }
}

const runs = new Map();
const faults = [];
let version;
let bareTables;
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  version = browser.version();
  const svc = await servers.svc();
  const before = options.against && (await servers.svc({ name: `svc at ${options.against}`, executable: buildOfCommit(options.against) }));
  bareTables = await serveBareTables();
  const visits = [
    ...[svc, before].filter(Boolean).map((server) => [server.name, () => visit(browser, server)]),
    ...bareCounts.map((count) => [`bare table, ${count.toLocaleString('en')} rows`, () => visitBare(browser, bareTables.port, count)]),
  ];
  // The first round fills caches.
  for (let round = options.smoke ? 1 : 0; round <= rounds; round++) {
    for (const [name, run] of visits) {
      try {
        const found = await run();
        console.error(`${name}, round ${round}: ${JSON.stringify(found)}`);
        if (round > 0) runs.set(name, [...(runs.get(name) ?? []), found]);
      } catch (error) {
        // What follows is the log of the browser.
        faults.push(`${name}, round ${round}: ${error.message.split('\n')[0]}`);
        console.error(`failed: ${faults.at(-1)}`);
      }
    }
  }
} finally {
  await browser.close();
  bareTables?.stop();
  await stopAndRemove(servers, folder);
}
if (runs.size > 0) report();
process.exit(faults.length > 0 ? 1 : 0);

function report() {
  const names = [...runs.keys()];
  const rows = Object.entries(figures).map(([member, { title, aimMs }]) => {
    const of = (name) => {
      const values = runs.get(name).flatMap((found) => (found[member] === undefined ? [] : [{ value: found[member] }]));
      return values.length > 0 ? values : undefined;
    };
    const found = median(of(names[0]).map(({ value }) => value));
    const isMet = aimMs === undefined ? ['–', '–'] : [`≤ ${aimMs}`, found <= aimMs ? 'yes' : '**no**'];
    return [`${title}, ms`, ...names.map((name) => cell(of(name))), ...isMet];
  });
  const text = [
    `${machineLine()};`,
    `Chromium ${version}, slowed ${slowedTimes} times.`,
    `Medians of ${rounds} ${rounds === 1 ? 'visit' : 'visits'} [least–most]; a folder of ${entries.toLocaleString('en')} files,`,
    'times from the press on its link.',
    ...failures(faults),
    '',
    table(['', ...names, 'aim', 'met'], rows),
  ].join('\n');
  publish('pages', text, options.write);
}
