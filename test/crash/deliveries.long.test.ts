import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { readDeliveries } from '../../src/webhooks/records/delivery-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { type Answer, startReceiver, until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const rounds = Number(process.env.SVC_DELIVERY_CRASH_ROUNDS ?? 100);

/** Time limit, in milliseconds, for the rounds of kills. A very busy machine makes fewer rounds, and the test prints their number. */
const longestMs = 200_000;

// Of 13 replies, four are faults and one is late. Retries deliver each event in the end.
const flaky: Answer[] = Array.from({ length: 13 }, (_, index): Answer => {
  if (index % 13 === 2) return { status: 500 };
  if (index % 13 === 5) return { fault: 'reset' };
  if (index % 13 === 7) return { status: 429, delayMs: 3 };
  if (index % 13 === 9) return { fault: 'short' };
  if (index % 13 === 11) return { status: 200, delayMs: 15 };
  return {};
});

test(`kill -9 at random moments of uploads to a flaky receiver, ${rounds} times: every answered upload is received, in order`, {
  timeout: 280_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const receivers = {
    crm: await startReceiver(t, { script: flaky, repeat: true }),
    backend: await startReceiver(t, { script: flaky, repeat: true }),
  };
  const retries = 'retry_count: 50, retry_increase: 0.002, fail_after_errors: 0';
  writeFileSync(
    join(folder, 'svc.config.yaml'),
    `server: {data_folder_path: data, log: {level: error}, events: {maximum_file_size: 65536}}
groups: {DEFAULT_GROUP: {home_folder_path: ./files, create_home_folder: true}}
authentications: {open: {type: anonymous, group: DEFAULT_GROUP}}
services: {web: {type: http, port: 0, api_backend_uuid: backend}}
event_handlers:
  crm: {type: http, target: 40017, url: "${receivers.crm.url}", ${retries}}
  backend: {type: http, target: 40017, url: "${receivers.backend.url}", ${retries}}
`,
  );
  const answered: string[] = [];
  const killed = { uploading: 0 };
  let number = 0;
  const startMs = performance.now();
  let kills = 0;
  for (let isLast = false; ; ) {
    isLast = kills === rounds || performance.now() - startMs > longestMs;
    const server = start(t, ['serve'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    if (isLast) {
      await until('the backlog is delivered', () => answered.every((path) => pathsOf(receivers.crm.events()).includes(path)));
      server.child.kill('SIGTERM');
      assert.equal((await server.ended).code, 0);
      break;
    }
    let isOver = false;
    const before = answered.length;
    const uploads = Array.from({ length: 3 }, async () => {
      while (!isOver) {
        const path = `/${++number}.txt`;
        try {
          const reply = await client.put(`/home${path}`, 'x', { user: null });
          if (reply.status === 201) answered.push(path);
        } catch {
          killed.uploading++;
        }
      }
    });
    // Without this wait, a busy machine would often answer no upload before the kill.
    if (kills % 3 > 0) await until('an upload is answered', () => answered.length > before);
    await sleep(5 + ((kills * 37) % 90));
    isOver = true;
    kills++;
    server.child.kill('SIGKILL');
    await server.ended;
    await Promise.all(uploads);
  }

  const journalled: ServiceEvent[] = [];
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, (bad) => assert.fail(bad.reason)))
    if (event.id === '40017') journalled.push(event);
  const order = new Map(journalled.map(({ uuid }, index) => [uuid, index]));
  const lost = answered.filter((path) => !journalled.some(({ data }) => data.path === path));
  assert.deepEqual(lost, [], 'these uploads were answered, but not journalled');
  const received = receivers.crm.events();
  for (const [name, receiver] of Object.entries(receivers)) {
    const uuids = new Set(receiver.events().map(({ uuid }) => uuid));
    assert.deepEqual(
      journalled.filter(({ uuid }) => !uuids.has(uuid)).map(({ data }) => data.path),
      [],
      `journalled, but never sent to ${name}`,
    );
  }
  // The first requests for the events have the order of the journal.
  const firsts = [...new Set(received.map(({ uuid }) => uuid))].map((uuid) => order.get(uuid) as number);
  assert.deepEqual(
    firsts,
    firsts.map((_, index) => index),
  );
  const delivered = new Set<string>();
  let records = 0;
  for await (const { record } of readDeliveries(join(folder, 'data/deliveries'), 'deliveries', undefined, assert.fail)) {
    records++;
    if (record.outcome === 'delivered') for (const { uuid } of record.events) delivered.add(`${record.handler} ${uuid}`);
  }
  for (const { uuid } of journalled)
    for (const name of Object.keys(receivers))
      assert.ok(delivered.has(`${name} ${uuid}`), `${uuid} is not recorded as delivered to ${name}`);
  const again = receivers.crm.requests.length - new Set(received.map(({ uuid }) => uuid)).size;
  console.log(
    `${kills} kills, ${killed.uploading} of uploads under way; ${answered.length} uploads answered, ${journalled.length} journalled, ` +
      `each received at least once by both; ${again} requests were retries or repeats; ${records} records`,
  );
  assert.ok(kills >= Math.min(rounds, 20) && answered.length > 0, 'enough kills, and uploads that were answered');
});

function pathsOf(events: readonly ServiceEvent[]): unknown[] {
  return events.map(({ data }) => data.path);
}
