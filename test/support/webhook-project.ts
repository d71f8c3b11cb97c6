import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loadConfigFile } from '../../src/config/check.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { Client } from './client.ts';
import { watchOutput } from './secret-watch.ts';
import { temporaryFolder } from './temp.ts';

/** Creates a folder with a configuration. @param handlers YAML of its event handlers */
export function project(t: TestContext, handlers: string): string {
  const folder = temporaryFolder(t);
  configure(folder, handlers);
  return folder;
}

export function configure(folder: string, handlers: string): void {
  writeFileSync(
    join(folder, 'svc.config.yaml'),
    `server: {data_folder_path: data, name: test, log: {level: error}}
groups: {DEFAULT_GROUP: {home_folder_path: ./files, create_home_folder: true}}
authentications: {open: {type: anonymous, group: DEFAULT_GROUP}}
services: {web: {type: http, port: 0}}
event_handlers: {${handlers}}
`,
  );
}

export function upload(t: TestContext, cwd: string, ...names: string[]): Promise<void> {
  return uploadThen(t, cwd, names, async () => {});
}

/**
 * Like `upload`, but stops the service when `settled` resolves. A stop delivers the remaining events only until a delivery fails, so if
 * deliveries fail, `settled` must wait for all events that are to be sent.
 */
export async function uploadThen(t: TestContext, cwd: string, names: string[], settled: () => Promise<void>): Promise<void> {
  const { loaded } = loadConfigFile(join(cwd, 'svc.config.yaml'), {});
  const service = new Server(loaded, { clock: systemClock, log: silentLog });
  await service.start();
  watchOutput(t, () => service.stop(), []);
  const client = new Client(service.listening()[0]?.url ?? '');
  for (const name of names) assert.equal((await client.put(`/home/${name}`, 'x', { user: null })).status, 201);
  await settled();
  assert.equal(await service.stop(), true);
}

/** Returns the YAML of a handler for uploads. Failed deliveries never stop this handler. */
export const crm = (url: string, more = '') => `crm: {type: http, target: 40017, url: "${url}", fail_after_errors: 0${more}}`;
export const files = (events: ServiceEvent[]) => events.map(({ data }) => data.file_name);
