import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startInspector, type TestInspector } from './inspector.ts';
import { startServer, type TestConfig, type TestServer } from './server.ts';

export interface Inspecting extends TestServer {
  inspector: TestInspector;
}

/** Starts a server with an account for which `/d/*` is inspected. */
export async function inspecting(t: TestContext, options: Record<string, unknown> = {}, config: TestConfig = {}): Promise<Inspecting> {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    ...config,
    inspections: { check: { type: 'http', url: inspector.url, ...options } },
    group: { inspections: [[], ['/d/*', 'check']], ...config.group },
  });
  mkdirSync(join(server.home, 'd'));
  return Object.assign(server, { inspector });
}

export interface HeldItem {
  id: string;
  path: string;
  size: number;
  reason: string;
  state: string;
}

export async function heldOf(server: TestServer): Promise<HeldItem[]> {
  return (await server.send('GET', '/home/__svc__/held/')).json<{ held: HeldItem[] }>().held;
}

/** Returns the names in a folder that users can see. */
export const visible = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith('.svc-'));
export const hidden = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('.svc-'));
