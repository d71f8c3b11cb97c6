import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { login, openBrowser } from './browser.ts';
import { startServer, type TestConfig, type TestServer } from './server.ts';
import { startUnreliableProxy, type UnreliableProxy } from './unreliable-proxy.ts';

/** A page from which files are uploaded over a line that fails as it is told. */
export interface UploadSetting {
  server: TestServer;
  proxy: UnreliableProxy;
  page: Page;
}

/**
 * Starts a server behind an unreliable line, and opens its page there.
 *
 * @param expectedErrors in the console of the page
 * @returns undefined when the browser is not installed; the test is skipped then
 */
export async function openUploadPage(t: TestContext, expectedErrors: RegExp, config: TestConfig = {}): Promise<UploadSetting | undefined> {
  const server = await startServer(t, config);
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openBrowser(t, { expectedErrors });
  await login(page, proxy.url);
  return { server, proxy, page };
}

/** A file on the "desktop" that the page sends in a way that can go on; others have the same name. */
export function largeFile(server: TestServer, name: string, sizeBytes = 12_000_000): { path: string; content: Buffer } {
  const path = join(server.folder, 'source', name);
  const content = randomBytes(sizeBytes);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return { path, content };
}

/** Chooses files with the button for files. */
export async function choose(page: Page, ...paths: string[]): Promise<void> {
  await page.locator('#tools input[type=file]:not([name])').first().setInputFiles(paths);
}

/** Closes the page, and opens it in another tab. */
export async function reopen({ page, proxy }: Pick<UploadSetting, 'page' | 'proxy'>, folder = '/home/'): Promise<Page> {
  const next = await page.context().newPage();
  await page.close();
  await next.goto(proxy.url + folder);
  return next;
}

/** The line of an upload in the panel. */
export function lineOf(page: Page, name: string, state = '') {
  return page.locator(`.queue li${state && `.${state}`}`, { hasText: name });
}

/** An upload came whole, was told of once, and nothing of it is left beside the file. */
export async function assertUploaded(server: TestServer, name: string, content: Buffer): Promise<void> {
  assert.ok(readFileSync(join(server.home, name)).equals(content), `${name} has the exact bytes`);
  assert.deepEqual(await eventsOf(server, name), [40021, 40017], name);
  assert.deepEqual(hiddenIn(server), []);
}

/** Each request went on behind the one before it. @param offsets of the requests of one upload */
export function assertNeverAnew(offsets: readonly number[]): void {
  assert.equal(offsets[0], 0);
  for (const [index, offset] of offsets.entries()) assert.ok(index === 0 || offset > (offsets[index - 1] ?? 0), offsets.join(' '));
}

/** What was told of the uploads of a file, but for requests that broke off. */
export async function eventsOf(server: TestServer, name: string): Promise<number[]> {
  const events = (await server.events()).filter(({ data }) => data.path === `/${name}`).map(({ id }) => Number(id));
  return events.filter((id) => [40017, 40021, 40022, 40069].includes(id));
}

function hiddenIn(server: TestServer): string[] {
  return readdirSync(server.home, { recursive: true })
    .map(String)
    .filter((name) => name.includes('.svc-'));
}
