// The page of a folder of 10,000 in Chromium with the CPU slowed four times, by its tracing: when it can be used, and the longest time
// that it holds still while it is scrolled, filtered, selected and sorted. Needs Chromium (Debian: `chromium`).
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { traced } from '../support/page-trace.mjs';
import { password, svc, userName } from '../support/peers.mjs';

const slowedTimes = 4;
/** Between two keys of one who types fast, in milliseconds. */
const keyPauseMs = 120;
const executablePath = '/usr/bin/chromium';

/** What is measured, in milliseconds. */
const figures = {
  rows: 'the first rows are seen',
  complete: 'all of the page has come',
  interactive: 'it can be used: its script has started, no task over 50 ms any more',
  scroll: 'longest task, scrolling through 400 rows a second',
  jump: 'longest task, to the end and back',
  filter: 'longest task, filtering',
  select: 'longest task, selecting all',
  sort: 'longest task, sorting by size',
};

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

export default async function pages({ isSmoke, home, group, builds }) {
  if (!existsSync(executablePath)) return { missing: ['Chromium'], workloads: [] };
  const entries = isSmoke ? 1000 : 10_000;
  const quiet = ['--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...quiet] });
  return {
    load: `Chromium ${browser.version()}, slowed ${slowedTimes} times`,
    each: `times from the press on the link of a folder of ${entries.toLocaleString('en')} files`,
    rounds: 5,
    fill() {
      mkdirSync(join(home, 'list'));
      const endings = ['docx', 'png', 'pdf', 'tar.gz', 'mp4', 'txt', 'jpg'];
      for (let index = 0; index < entries; index++)
        writeFileSync(join(home, 'list', `File ${String(index).padStart(5, '0')} of März.${endings[index % endings.length]}`), '');
    },
    workloads: [
      {
        figures: Object.fromEntries(Object.values(figures).map((title) => [title, 'ms'])),
        on: () => group.all(builds.map((build) => svc(build))),
        async action(server) {
          const found = await visit(browser, server);
          return Object.fromEntries(Object.entries(figures).map(([member, title]) => [title, { value: found[member] }]));
        },
      },
    ],
    stop: () => browser.close(),
  };
}
