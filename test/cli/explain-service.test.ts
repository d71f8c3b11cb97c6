import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decide } from '../../src/config/cases/decision.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { run, start } from '../support/child.ts';
import { testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Statuses that mean: permitted, although the file may be missing. */
const notRefused = new Set([200, 201, 204, 302, 404]);

test('the running service refuses exactly the requests that svc explain calls refused, with the same status', async (t) => {
  const cwd = temporaryFolder(t);
  const hash = (await run(t, ['hash-password'], { cwd, input: testPassword })).stdout.trim();
  const configuration = `
server: {security_policy: {ban_after_failures: 0}}
groups:
  OPEN: {home_folder_path: "./open/\${USER}"}
  CLOSED: {home_folder_path: ./closed, enabled: no}
  PARTNERS:
    home_folder_path: ./partners/\${USER}
    home_folder_structure: [inbox, outbox]
    virtual_folders: [[/team/shared, ./shared]]
    permissions:
      - [allow-list]
      - ["/inbox/*.csv | /inbox/*.tsv", allow-write, allow-delete-file]
      - ["/inbox/*", allow-create-folder, allow-delete-folder, allow-delete-file]
      - ["/outbox*", allow-read]
      - ["e/^.team/", allow-full-control]
accounts:
  alice: {group: OPEN, password: "${hash}"}
  bob: {group: PARTNERS, password: "${hash}"}
  carol: {group: CLOSED, password: "${hash}"}
  dave: {group: OPEN, enabled: no, password: "${hash}"}
services: {web: {type: http, port: 0}}
`;
  mkdirSync(join(cwd, 'shared'));
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration, { mode: 0o600 });
  const config = parseConfig(parseSource(join(cwd, 'svc.config.yaml'), configuration), {});
  const server = start(t, ['serve', '--log-level', 'error'], { cwd });
  const url = (await server.line(/(http:\S+)\/\n/))[1] ?? '';
  const paths = [
    '/home/',
    '/home/a.txt',
    '/home/inbox/',
    '/home/inbox/a.csv',
    '/home/inbox/A.CSV',
    '/home/inbox/a.txt',
    '/home/inbox/new/',
    '/home/outbox/a',
    '/home/team/',
    '/home/team/other',
    '/home/team/shared/',
    '/home/team/shared/a%20b.txt',
    '/home/__svc__/x',
    '/home/.svc-0123456789abcdef01234567.part',
  ];
  const seen = new Map<string, number>();
  for (const user of ['alice', 'bob', 'carol', 'dave']) {
    for (const path of paths) {
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
        const decision = decide(config, { user, method, path });
        const reply = await fetch(url + path, {
          method,
          redirect: 'manual',
          headers: { authorization: `Basic ${btoa(`${user}:${testPassword}`)}`, accept: 'application/json' },
          ...(method === 'PUT' && !path.endsWith('/') ? { body: 'x' } : {}),
        });
        await reply.arrayBuffer();
        const what = `${user} ${method} ${path}: ${reply.status}, explained: ${JSON.stringify(decision.reason)}`;
        // 409 can also come from the disk: a folder exists already, or its parent is missing.
        const isOfDisk = reply.status === 409 && decision.status !== 409;
        if (decision.allowed) assert.ok(notRefused.has(reply.status) || isOfDisk, what);
        else assert.equal(reply.status, decision.status, what);
        seen.set(String(decision.status), (seen.get(String(decision.status)) ?? 0) + 1);
      }
    }
  }
  assert.ok(
    [null, 401, 403, 404].every((status) => (seen.get(String(status)) ?? 0) > 0),
    JSON.stringify([...seen]),
  );
});
