// Measures the page of a folder with 10,000 members in Chromium, with a CPU that is slowed down to a quarter: when the page becomes usable,
// and the longest time for which it does not react while a user scrolls, filters, selects and sorts. Also measures the console while it
// follows events. Uses Chromium's tracing. Needs Chromium (Debian: `chromium`).
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { freePort } from '../support/machine.mjs';
import { traced } from '../support/page-trace.mjs';
import { hashOf, password, svc, userName } from '../support/peers.mjs';

const slowedTimes = 4;
/** Pause between two keys of a fast typist, in milliseconds. */
const keyPauseMs = 120;
const executablePath = '/usr/bin/chromium';

const figures = {
  rows: 'the first rows appear',
  complete: 'the whole page has arrived',
  interactive: 'the page is usable (script started, no task above 50 ms)',
  scroll: 'longest task, scrolling through 400 rows a second',
  jump: 'longest task, to the end and back',
  filter: 'longest task, filtering',
  select: 'longest task, selecting all',
  sort: 'longest task, sorting by size',
};

const consoleFigures = {
  form: ['console: the form appears', 'ms'],
  row: ['console: the first event appears', 'ms'],
  kilobytes: ['console: first load, compressed', 'kB'],
  missed: ['console: frames later than 50 ms, of 10 s of a live tail', ''],
  longest: ['console: longest task in these 10 s', 'ms'],
};
const tailedPerSecond = 100;
const tailMs = 10_000;

async function withConsole(build) {
  const peer = svc(build);
  const consolePort = await freePort();
  const files = peer.files;
  peer.files = (place) => {
    const config = JSON.parse(files(place)['svc.config.json']);
    const administrators = { [userName]: { password: hashOf(), role: 'viewer' } };
    config.services.console = { type: 'console', port: consolePort, administrators };
    return { 'svc.config.json': JSON.stringify(config) };
  };
  return Object.assign(peer, { consolePort });
}

/** Requests a small file repeatedly. Each request causes an event. @returns a function that stops the requests */
function askAgain(server) {
  const timer = setInterval(() => {
    void fetch(`http://127.0.0.1:${server.port}/home/small`, { headers: server.headers }).then(
      (reply) => reply.arrayBuffer(),
      () => {},
    );
  }, 1000 / tailedPerSecond);
  return () => clearInterval(timer);
}

async function follow(browser, server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    const devTools = await context.newCDPSession(page);
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: slowedTimes });
    await devTools.send('Network.enable');
    let bytes = 0;
    devTools.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    const url = `http://127.0.0.1:${server.peer.consolePort}/#events`;
    const startMs = performance.now();
    await page.goto(url);
    await page.locator('#username').waitFor();
    const found = { form: performance.now() - startMs, kilobytes: bytes / 1000 };
    await page.locator('#username').fill(userName);
    await page.locator('#password').fill(password);
    await page.locator('main form button').click();
    await page.locator('#sections a').first().waitFor();
    const againMs = performance.now();
    await page.reload();
    await page.locator('main tbody tr').first().waitFor();
    found.row = performance.now() - againMs;
    const stop = askAgain(server);
    try {
      await page.waitForTimeout(1000);
      const tail = await traced(page, async () => {
        found.missed = await page.evaluate(
          (ms) =>
            new Promise((resolve) => {
              const endMs = performance.now() + ms;
              let lastMs = performance.now();
              let late = 0;
              const frame = (nowMs) => {
                if (nowMs - lastMs > 50) late++;
                lastMs = nowMs;
                if (nowMs < endMs) requestAnimationFrame(frame);
                else resolve(late);
              };
              requestAnimationFrame(frame);
            }),
          tailMs,
        );
      });
      found.longest = tail.longestMs();
    } finally {
      stop();
    }
    return found;
  } finally {
    await context.close();
  }
}

/** Opens a page with a slowed CPU. @returns when the first rows appeared, when the page was complete, and when it was usable */
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

/**
 * Returns a function that clicks a visible element. It finds the element beforehand, because the driver's search takes longer than the
 * reaction of the page.
 */
async function presser(page, selector) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  return () => page.mouse.click(x + width / 2, y + height / 2);
}

/** Measures one visit in a new browser context. The first page of the visit puts style and script into the cache. */
async function visit(browser, server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.port}/home/`);
    await page.locator('input[name=username]').fill(userName);
    await page.locator('input[name=password]').fill(password);
    await page.locator('form[action$=login] button').click();
    await page.locator('#members').waitFor();
    // Without this wait, tasks of the first page would be counted for the next one.
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
    each: `times counted from the click on a folder of ${entries.toLocaleString('en')} files`,
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
      {
        figures: Object.fromEntries(Object.values(consoleFigures)),
        on: async () => group.all(await Promise.all(builds.map(withConsole))),
        async action(server) {
          const found = await follow(browser, server);
          return Object.fromEntries(Object.entries(consoleFigures).map(([member, [title]]) => [title, { value: found[member] }]));
        },
      },
    ],
    stop: () => browser.close(),
  };
}
