import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './receiver.ts';
import type { TestServer } from './server.ts';

/** Waits until a server has recorded since when its expectations are active. @returns the path of the record */
export async function watchBegins({ folder }: TestServer): Promise<string> {
  const path = join(folder, 'data', 'expectations.json');
  await until('the watch begins', () => existsSync(path));
  return path;
}

/**
 * Makes it look as if some expectations of a server had been active for the last 30 days, because svc does not watch files that were due
 * before their expectation was active.
 */
export async function watchedForDays(server: TestServer, uuids: readonly string[]): Promise<void> {
  const path = await watchBegins(server);
  const since = Object.fromEntries(uuids.map((uuid) => [uuid, Date.now() - 30 * 86_400_000]));
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...since }));
}
