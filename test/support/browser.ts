import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, type TestOptions, test } from 'node:test';
import { type Browser, type BrowserContextOptions, type CDPSession, chromium, type Locator, type Page } from 'playwright-core';
import { Client } from './client.ts';
import { hasProgram } from './requires.ts';
import { watchOutput } from './secret-watch.ts';
import { learnSecret, testPassword } from './secrets.ts';

/** Moves fingers from their first points to their last ones, in steps. */
export async function touch(session: CDPSession, paths: { from: [number, number]; to: [number, number] }[]): Promise<void> {
  const at = (part: number) =>
    paths.map(({ from, to }, id) => ({ id, x: from[0] + (to[0] - from[0]) * part, y: from[1] + (to[1] - from[1]) * part }));
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) });
  for (const part of [0.25, 0.5, 0.75, 1]) await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(part) });
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}

/** Matches the messages that browsers print after a test has ended its server. */
const endOfServer = /net::ERR_(CONNECTION_(RESET|REFUSED)|INCOMPLETE_CHUNKED_ENCODING)|NS_ERROR_(CONNECTION_REFUSED|NET_RESET)/;

/** Options of a test's page: its look, its language and time zone, and whether scripts run. */
export interface BrowserOptions
  extends Pick<BrowserContextOptions, 'javaScriptEnabled' | 'colorScheme' | 'locale' | 'viewport' | 'timezoneId' | 'reducedMotion'> {
  /** Matches console errors that the test causes on purpose. */
  expectedErrors?: RegExp;
}

/**
 * A page for one test. Console errors, uncaught errors, and violations of the page's content security policy make the test fail
 * at its end.
 */
export interface TestPage extends Page {
  problems: string[];
}

type Run = (t: TestContext) => Promise<void> | void;

/** Declares a test with Chromium. Without Chromium it is skipped with a printed reason. */
export function browserTest(name: string, ...rest: [run: Run] | [options: TestOptions, run: Run]): void {
  const [run, options] = rest.length === 1 ? rest : [rest[1], rest[0]];
  void test(name, options, async (t) => {
    if (hasProgram(t, 'chromium')) await run(t);
  });
}

/** Opens a page of Chromium with its own cookies. All files share one browser, which scripts/test.mjs starts. */
export async function openBrowser(t: TestContext, options: BrowserOptions = {}): Promise<TestPage> {
  const browser = await chromium.connect(process.env.SVC_TEST_BROWSER ?? '');
  watchOutput(t, () => browser.close(), []);
  return openPage(t, browser, options);
}

/** Opens the page of a folder, in a session of alice. */
export async function openFolder(
  t: TestContext,
  server: { url: string },
  options: BrowserOptions = {},
  target = '/home/',
): Promise<TestPage> {
  const page = await openBrowser(t, options);
  await login(page, server.url, target);
  return page;
}

/** Opens a page of a browser, with its own cookies. */
export async function openPage(t: TestContext, browser: Browser, { expectedErrors, ...rest }: BrowserOptions): Promise<TestPage> {
  // Without animations, a page has its final look at once.
  const usual = { viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' } as const;
  const context = await browser.newContext({ ...usual, ...rest });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const problems: string[] = [];
  const note = (text: string) => {
    if (!expectedErrors?.test(text) && !endOfServer.test(text)) problems.push(text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => note(`uncaught: ${error.message}`));
  const close = async () => {
    for (const { name, value } of await context.cookies())
      if (name === 'SVC_HTTP_SESSION' || name === 'svc_console') learnSecret(value, 'a session of a browser');
    await context.close();
    assert.deepEqual(problems, [], 'the console stays empty');
  };
  watchOutput(t, close, [{ where: 'the console of the browser', text: () => problems.join('\n') }]);
  return Object.assign(page, { problems });
}

/** Opens a page of alice. The session is created by a request, because the login form would need another page load. */
export async function login(page: Page, url: string, target = '/home/'): Promise<void> {
  const body = new URLSearchParams({ username: 'alice', password: testPassword }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const reply = await new Client(url).send('POST', '/__svc__/login', { user: null, headers, body });
  const [name = '', value = ''] = String(reply.headers['set-cookie']).split(';', 1)[0]?.split('=') ?? [];
  await page.context().addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }]);
  await page.goto(url + target);
  await page.locator('#members').waitFor();
}

export async function loginByForm(page: Page, url: string, target = '/home/'): Promise<void> {
  await page.goto(url + target);
  await page.locator('input[name=username]').fill('alice');
  await page.locator('input[name=password]').fill(testPassword);
  await page.locator('form[action$=login] button').click();
  await page.locator('#members').waitFor();
  // The page's script starts when the page is complete. Earlier actions of a test would have no effect.
  await page.waitForLoadState('load');
}

/** Opens the menu with colours, language, password and logout. */
export async function openMenu(page: Page): Promise<void> {
  await page.locator('[popovertarget=menu]').click();
  await page.locator('#menu').waitFor();
}

/** Drags real files and folders into the page, as the browser receives them from the desktop. */
export async function drop(page: Page, paths: string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver'] as const) await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  await page.locator('.drop').waitFor();
  await session.send('Input.dispatchDragEvent', { type: 'drop', x: 300, y: 300, data });
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
  width: number;
  height: number;
}

/** Measures elements in one step. Between two measurements, a late reply could move the page. @param elements visible elements */
export async function boxesOf(...elements: [Locator, ...Locator[]]): Promise<Box[]> {
  for (const element of elements) await element.waitFor();
  const handles = await Promise.all(elements.map((element) => element.elementHandle()));
  return elements[0].evaluate<Box[], unknown[]>(
    (_, all) =>
      (all as { getBoundingClientRect(): Box }[]).map((element) => {
        const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
        return { left, top, right, bottom, width, height };
      }),
    handles,
  );
}

const axeSource = readFileSync(join(process.env.SVC_ROOT ?? '.', 'node_modules/axe-core/axe.min.js'), 'utf8');

interface AxeViolation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/**
 * Checks the page with axe-core by the rules of WCAG 2.2 AA and its best practices. There must be no violation.
 *
 * @param within JavaScript expression for the part of the page to check
 */
export async function assertAccessible(page: Page, what: string, within = 'document'): Promise<void> {
  // The pages' policy refuses foreign scripts, but does not apply to evaluation by the debugger.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axeSource);
  // Passed checks are neither described nor transferred, because nearly every element passes.
  const violations = await page.evaluate<AxeViolation[]>(`axe.run(${within}, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes })))`);
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html}\n${node.failureSummary}`).join('\n')}`);
  assert.deepEqual(found, [], what);
}
