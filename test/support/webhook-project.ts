import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { start } from './child.ts';
import { Client } from './client.ts';
import { temporaryFolder } from './temp.ts';

/** A folder with a configuration; `handlers` is the YAML of its event handlers. */
export function project(t: TestContext, handlers: string): string {
  const folder = temporaryFolder(t);
  configure(folder, handlers);
  return folder;
}

/** Writes the configuration anew. */
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

/** Serves while some files are uploaded, then stops. */
export async function upload(t: TestContext, cwd: string, ...names: string[]): Promise<void> {
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  for (const name of names) assert.equal((await client.put(`/home/${name}`, 'x', { user: null })).status, 201);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
}

/** A handler for uploads that never stops. */
export const crm = (url: string, more = '') => `crm: {type: http, target: 40017, url: "${url}", fail_after_errors: 0${more}}`;
export const files = (events: ServiceEvent[]) => events.map(({ data }) => data.file_name);
