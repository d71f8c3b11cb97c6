import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { start } from './child.ts';
import { Client, type TestReply, type TestRequest } from './client.ts';
import { Contract } from './openapi-contract.ts';
import { cheapHash } from './passwords.ts';
import { startServer, type TestConfig, type TestServer } from './server.ts';

/** Logs in to a console with its form. @param hash fragment of the view that is shown afterwards */
export async function signIn(page: Page, url: string, hash = '', role: keyof typeof users = 'operator'): Promise<void> {
  const [name, password] = users[role];
  await page.goto(`${url}/${hash}`);
  await page.locator('#username').fill(name);
  await page.locator('#password').fill(password);
  await page.locator('main form button').click();
  await page.locator('.signed-in').waitFor();
}

/** The passwords of the administrators of `consoleService`. */
export const operatorPassword = 'marker-Op3rate-9xK';
export const viewerPassword = 'marker-V1ewer-4tB';
export const reviewerPassword = 'marker-R3viewer-7cD';
const users = {
  operator: ['olga', operatorPassword],
  viewer: ['vera', viewerPassword],
  reviewer: ['rita', reviewerPassword],
} as const;
const operatorHash = cheapHash(operatorPassword);
const viewerHash = cheapHash(viewerPassword);
const reviewerHash = cheapHash(reviewerPassword);

/** Basic credentials of each administrator for `Client`. */
export const asOperator = { user: `olga:${operatorPassword}` };
export const asViewer = { user: `vera:${viewerPassword}` };
export const asReviewer = { user: `rita:${reviewerPassword}` };

/** Returns a service of type console with the administrators `olga` (operator), `vera` (viewer) and `rita` (reviewer). */
export async function consoleService(options: Record<string, unknown> = {}) {
  return {
    type: 'console',
    port: 0,
    administrators: {
      olga: { password: await operatorHash, role: 'operator' },
      vera: { password: await viewerHash, role: 'viewer' },
      rita: { password: await reviewerHash, role: 'reviewer' },
    },
    ...options,
  };
}

/** Starts a server with files and a console. Returns it with a client for the console. */
export async function startConsole(
  t: TestContext,
  config: TestConfig = {},
  options: Record<string, unknown> = {},
  clock: Clock = systemClock,
) {
  const services = { web: { type: 'http', port: 0, ...config.service }, console: await consoleService(options), ...config.services };
  const server: TestServer = await startServer(t, { ...config, services }, clock);
  const url = server.service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '';
  return { server, console: new ConsoleClient(url) };
}

/** A client of a console. By default it sends no credentials. */
export class ConsoleClient extends Client {
  override send(method: string, target: string, options: TestRequest = {}): Promise<TestReply> {
    return super.send(method, target, { user: null, ...options });
  }

  /** Sends a JSON body. */
  post(target: string, body: unknown, options: TestRequest = {}): Promise<TestReply> {
    const headers = { 'content-type': 'application/json', ...options.headers };
    return this.send('POST', target, { ...options, headers, body: JSON.stringify(body) });
  }

  /** Logs in. @returns the headers that a page of the console sends in its session */
  async session(username = 'olga', password = operatorPassword): Promise<{ cookie: string; origin: string }> {
    const reply = await this.post('/api/login', { username, password });
    assert.equal(reply.status, 200, reply.text);
    return { cookie: cookieOf(reply), origin: this.url };
  }

  /** Returns the console's OpenAPI document, against which replies can be checked. */
  async contract(): Promise<Contract> {
    return new Contract((await this.get('/api/openapi.json')).text, everyReply);
  }
}

const everyReply = ['cache-control', 'content-security-policy', 'referrer-policy', 'x-accel-buffering', 'x-content-type-options'];

/** Returns the session cookie that a reply sets. */
export function cookieOf(reply: TestReply): string {
  return String(reply.headers['set-cookie']).split(';', 1)[0] ?? '';
}

/** Starts the executable with files and a console, so that a test can kill it. The configuration is in the folder. */
export async function startConsoleProcess(t: TestContext, cwd: string) {
  const server = start(t, ['serve'], { cwd });
  const found = await server.line(/(http:\S+)[\s\S]*?(http:\S+)/);
  const [one = '', two = ''] = [found[1], found[2]];
  const isConsole = (await new ConsoleClient(one).get('/api/openapi.json')).status === 200;
  return {
    client: new Client(isConsole ? two : one),
    console: new ConsoleClient(isConsole ? one : two),
    kill: () => void server.child.kill('SIGKILL'),
  };
}
