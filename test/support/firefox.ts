import { after, type TestContext } from 'node:test';
import { type Browser, firefox } from 'playwright-core';
import { type BrowserOptions, openPage, type TestPage } from './browser.ts';
import { hasProgram } from './requires.ts';
import { watchOutput } from './secret-watch.ts';
import { temporaryFolder } from './temp.ts';

/** Whatever Firefox asks for by itself finds no name, or a proxy where nobody answers: only this machine is reached. */
const nowhere = {
  'network.dns.disabled': true,
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
};

const file = { after };
let shared: Promise<Browser> | undefined;

/**
 * Opens a page of Debian's Firefox with cookies of its own; the tests of a file have one browser.
 *
 * @returns undefined when the browser is not installed; the test is skipped then
 */
export async function openFirefox(t: TestContext, options: BrowserOptions = {}): Promise<TestPage | undefined> {
  if (!hasProgram(t, 'firefox-esr')) return undefined;
  shared ??= start();
  return openPage(t, await shared, options);
}

const home = temporaryFolder(file);
watchOutput(file, async () => (await shared)?.close(), []);

async function start(): Promise<Browser> {
  const browser = await firefox.launch({
    // The way to browsers as they are shipped, by WebDriver BiDi.
    channel: 'moz-firefox',
    executablePath: '/usr/bin/firefox-esr',
    // Without motion a page looks at once as it will.
    firefoxUserPrefs: { ...nowhere, 'ui.prefersReducedMotion': 1 },
    env: { ...process.env, HOME: home },
  });
  leaveOut(browser, 'emulation.setMediaFeaturesOverride');
  return browser;
}

/** What Playwright keeps of a browser. */
interface Inside {
  _connection: { toImpl: (browser: Browser) => { _browserSession: { send: (method: string, parameters: unknown) => Promise<unknown> } } };
}

/** Playwright sends every new context this command, which the extended support release has not learnt yet. */
function leaveOut(browser: Browser, command: string): void {
  const session = (browser as unknown as Inside)._connection.toImpl(browser)._browserSession;
  const { send } = session;
  session.send = (method, parameters) => (method === command ? Promise.resolve({}) : send.call(session, method, parameters));
}
