import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const files = Array.from({ length: 12 }, (_, index) => `f${String(index).padStart(2, '0')}`);

test('kill -9 just after a file was uploaded, sent or moved by forwarding: each file arrives, in order, and is moved once', {
  timeout: 110_000,
}, async (t) => {
  const receiver = await startReceiver(t, { otherwise: { delayMs: 30 } });
  const folder = temporaryFolder(t);
  const out = { type: 'forward', url: `${new URL('/', receiver.url).href}{path}`, after: 'move:/sent/{path}' };
  await writeConfig(folder, { event_handlers: { out } });
  mkdirSync(join(folder, 'home'), { recursive: true });
  let expected = 0;
  for (let round = 0; round < 6; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    for (const name of files.slice(round * 2, round * 2 + 2)) assert.equal((await client.put(`/home/${name}`, name)).status, 201);
    expected += 2;
    // Each round kills the server at another moment: when a file was sent, when a file was moved, or immediately.
    const sent = receiver.requests.length;
    if (round === 0) await receiver.received(1);
    else if (round % 3 === 1) await until('another file is sent', () => receiver.requests.length > sent);
    else if (round % 3 === 2) await until('a file is moved', () => readdirSync(join(folder, 'home')).includes('sent'));
    server.child.kill('SIGKILL');
    await server.ended;
  }
  const last = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
  await last.line(/http:\S+\/\n/);
  await until(
    'all files are moved',
    () => existsSync(join(folder, 'home/sent')) && readdirSync(join(folder, 'home/sent')).length >= expected,
  );
  last.child.kill('SIGTERM');
  assert.equal((await last.ended).code, 0);
  const first = [...new Set(receiver.requests.map(({ url }) => url.slice(1)))];
  assert.deepEqual(first, files, 'the first requests for the files are in order');
  assert.ok(
    receiver.requests.every(({ url, body }) => body.toString() === url.slice(1)),
    'each request has the whole file',
  );
  assert.deepEqual(readdirSync(join(folder, 'home/sent')).sort(), files, 'none is moved twice');
  for (const name of files) assert.equal(readFileSync(join(folder, 'home/sent', name), 'utf8'), name);
  const data = readdirSync(folder).find((name) => existsSync(join(folder, name, 'journal.key'))) as string;
  const events: ServiceEvent[] = [];
  for await (const { event } of readEvents(journalFolder(join(folder, data)), undefined, () => {})) events.push(event);
  const told = new Set(events.filter(({ id }) => id === '20202').map(({ data: { path } }) => path));
  assert.deepEqual(
    [...told].sort(),
    files.map((name) => `/${name}`),
  );
  assert.deepEqual(
    events.filter(({ id }) => id === '20174').map(({ data: about }) => about.details),
    [],
    'none is reported as missing',
  );
});
