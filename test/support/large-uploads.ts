import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { login, openBrowser } from './browser.ts';
import { startServer, type TestConfig, type TestServer } from './server.ts';
import { startUnreliableProxy, type UnreliableProxy } from './unreliable-proxy.ts';

/** A page that uploads files over a connection that a test can interrupt. */
export interface UploadSetting {
  server: TestServer;
  proxy: UnreliableProxy;
  page: Page;
}

/**
 * Starts a server behind an unreliable proxy, and opens its page through the proxy.
 *
 * @param expectedErrors matches expected errors in the console of the page
 */
export async function openUploadPage(t: TestContext, expectedErrors: RegExp, config: TestConfig = {}): Promise<UploadSetting> {
  const server = await startServer(t, config);
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openBrowser(t, { expectedErrors });
  await login(page, proxy.url);
  return { server, proxy, page };
}

/** Creates a file outside of the home folder that is large enough to be sent resumably. */
export function largeFile(server: TestServer, name: string, sizeBytes = 12_000_000): { path: string; content: Buffer } {
  const path = join(server.folder, 'source', name);
  const content = randomBytes(sizeBytes);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return { path, content };
}

/** Chooses files with the page's button. */
export async function choose(page: Page, ...paths: string[]): Promise<void> {
  await page.locator('#tools input[type=file]:not([name])').first().setInputFiles(paths);
}

/** Closes the page and opens it again in another tab. */
export async function reopen({ page, proxy }: Pick<UploadSetting, 'page' | 'proxy'>, folder = '/home/'): Promise<Page> {
  const next = await page.context().newPage();
  await page.close();
  await next.goto(proxy.url + folder);
  return next;
}

/** Returns the line of an upload in the panel. */
export function lineOf(page: Page, name: string, state = '') {
  return page.locator(`.queue li${state && `.${state}`}`, { hasText: name });
}

/** Asserts that an upload is complete, that its beginning and its end have one event each, and that no temporary file is left. */
export async function assertUploaded(server: TestServer, name: string, content: Buffer): Promise<void> {
  assert.ok(readFileSync(join(server.home, name)).equals(content), `${name} has the exact bytes`);
  assert.deepEqual(await eventsOf(server, name), [40021, 40017], name);
  assert.deepEqual(hiddenIn(server), []);
}

/** Asserts that each request continued after the previous one. @param offsets offsets of the requests of one upload */
export function assertNeverAnew(offsets: readonly number[]): void {
  assert.equal(offsets[0], 0);
  for (const [index, offset] of offsets.entries()) assert.ok(index === 0 || offset > (offsets[index - 1] ?? 0), offsets.join(' '));
}

/** Returns the IDs of the events about the uploads of a file, except those about interrupted requests. */
export async function eventsOf(server: TestServer, name: string): Promise<number[]> {
  const events = (await server.events()).filter(({ data }) => data.path === `/${name}`).map(({ id }) => Number(id));
  return events.filter((id) => [40017, 40021, 40022, 40069].includes(id));
}

function hiddenIn(server: TestServer): string[] {
  return readdirSync(server.home, { recursive: true })
    .map(String)
    .filter((name) => name.includes('.svc-'));
}
