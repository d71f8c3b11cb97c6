// The page of a folder of 10,000 in Chromium with the CPU slowed four times, by its tracing: when it can be used, and the longest time
// that it holds still while it is scrolled and filtered. Needs Chromium (Debian: `chromium`).
//   node scripts/bench/pages.mjs [--rounds N] [--smoke] [--write] [--against COMMIT]
//   --against measures the build of a commit in the same rounds; --write puts the table into docs/operate/performance.md
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { buildOfCommit } from './support/build-variant.mjs';
import { machineLine, median } from './support/machine.mjs';
import { traced } from './support/page-trace.mjs';
import { password, Servers, userName } from './support/servers.mjs';
import { cell, failures, table, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    smoke: { type: 'boolean' },
    write: { type: 'boolean' },
    against: { type: 'string' },
  },
});
const rounds = options.smoke ? 1 : Number(options.rounds);
const entries = options.smoke ? 1000 : 10_000;
const slowedTimes = 4;
/** Between two keys of one who types fast, in milliseconds. */
const keyPauseMs = 120;

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const home = join(folder, 'home');
mkdirSync(join(home, 'list'), { recursive: true });
writeFileSync(join(home, 'small'), '');
const endings = ['docx', 'png', 'pdf', 'tar.gz', 'mp4', 'txt', 'jpg'];
for (let index = 0; index < entries; index++)
  writeFileSync(join(home, 'list', `File ${String(index).padStart(5, '0')} of März.${endings[index % endings.length]}`), '');
const servers = new Servers(folder, home);

/** What is measured, in milliseconds, and the aim that svc has. */
const figures = {
  rows: { title: 'the first rows are seen' },
  complete: { title: 'all of the page has come' },
  interactive: { title: 'it can be used: no task over 50 ms any more', aimMs: 500 },
  scroll: { title: 'longest task, scrolling through 400 rows a second', aimMs: 50 },
  jump: { title: 'longest task, to the end and back', aimMs: 50 },
  filter: { title: 'longest task, filtering', aimMs: 50 },
  select: { title: 'longest task, selecting all', aimMs: 50 },
};

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
    const devTools = await context.newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowedTimes });
    const opening = await traced(page, async () => {
      await page.goto(`http://127.0.0.1:${server.port}/home/list/`);
      await page.waitForTimeout(2000);
    });
    const startMs = opening.at('navigationStart');
    const scriptMs = opening.at('domContentLoadedEventEnd');
    const found = {
      rows: opening.at('firstContentfulPaint') - startMs,
      complete: opening.at('responseEnd') - startMs,
      interactive: opening.restsFrom(scriptMs) - startMs,
    };
    const longest = async (action) => (await traced(page, action)).longestMs();
    found.scroll = await longest(async () => {
      const gesture = { x: 600, y: 500, yDistance: -40_000, speed: 18_400, gestureSourceType: 'mouse' };
      await devTools.send('Input.synthesizeScrollGesture', gesture);
    });
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
    found.select = await longest(async () => {
      await page.locator('thead input').check();
      await page.waitForTimeout(500);
      await page.locator('thead input').uncheck();
      await page.waitForTimeout(500);
    });
    return found;
  } finally {
    await context.close();
  }
}

const runs = new Map();
const faults = [];
let version;
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  version = browser.version();
  const svc = await servers.svc();
  const before = options.against && (await servers.svc({ name: `svc at ${options.against}`, executable: buildOfCommit(options.against) }));
  // The first round fills caches.
  for (let round = options.smoke ? 1 : 0; round <= rounds; round++) {
    for (const server of [svc, before].filter(Boolean)) {
      try {
        const found = await visit(browser, server);
        console.error(`${server.name}, round ${round}: ${JSON.stringify(found)}`);
        if (round > 0) runs.set(server.name, [...(runs.get(server.name) ?? []), found]);
      } catch (error) {
        faults.push(`${server.name}, round ${round}: ${error.message}`);
        console.error(`failed: ${faults.at(-1)}`);
      }
    }
  }
} finally {
  await browser.close();
  servers.stop();
  // Servers that were told to end write a last time.
  await new Promise((resolve) => setTimeout(resolve, 500));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
if (runs.size > 0) report();
process.exit(faults.length > 0 ? 1 : 0);

function report() {
  const names = [...runs.keys()];
  const rows = Object.entries(figures).map(([member, { title, aimMs }]) => {
    const of = (name) => runs.get(name).map((found) => ({ value: found[member] }));
    const found = median(of(names[0]).map(({ value }) => value));
    const isMet = aimMs === undefined ? ['–', '–'] : [`≤ ${aimMs}`, found <= aimMs ? 'yes' : '**no**'];
    return [`${title}, ms`, ...names.map((name) => cell(of(name))), ...isMet];
  });
  const text = [
    `${machineLine()}; Chromium ${version}, slowed ${slowedTimes} times.`,
    `Medians of ${rounds} ${rounds === 1 ? 'visit' : 'visits'} [least–most]; a folder of ${entries.toLocaleString('en')} files, times from the press on its link.`,
    ...failures(faults),
    '',
    table(['', ...names, 'aim', 'met'], rows),
  ].join('\n');
  console.log(text);
  if (options.write) writeBetween('docs/operate/performance.md', 'bench-pages', text);
}
