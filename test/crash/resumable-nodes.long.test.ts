import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { readEvents } from '../support/journal.ts';
import { type NodeProcess, startNodes } from '../support/node-process.ts';
import { randomFrom } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';
import { AttentiveClient } from '../support/uploading-clients.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 6);
const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

test(`nodes that oversleep their leases or are killed during resumable uploads, ${rounds} times: each file is exact, and reported once`, {
  timeout: 110_000 + rounds * 30_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  console.log(`seed ${seed}: ${t.name}`);
  const random = randomFrom(seed);
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const nodes = await startNodes(t, folder, 'http://127.0.0.1:9/', [redis.url, redis.url], { event_handlers: {} });
  const ports = nodes.map(({ port }) => port);
  const clients = Array.from(
    { length: 8 },
    (_, index) => new AttentiveClient(folder, index % 2 === 0 ? ports : ports.toReversed(), `c${index}`),
  );
  for (const client of clients) client.start();
  const pause = (ms: number) => Promise.race([sleep(ms), ...clients.map(({ failed }) => failed)]);
  for (let round = 0; round < rounds; round++) {
    await pause(500 + random() * 1000);
    const node = nodes[Math.floor(random() * nodes.length)] as NodeProcess;
    if (random() < 0.3) {
      await node.kill();
      await node.start();
      continue;
    }
    node.running.child.kill('SIGSTOP');
    // A lease lasts 10 s.
    await pause(9000 + random() * 4000);
    node.running.child.kill('SIGCONT');
  }
  const uploads = (await Promise.all(clients.map((client) => client.finish()))).flat();
  for (const { running } of nodes) running.child.kill('SIGTERM');
  for (const { running } of nodes) assert.equal((await running.ended).code, 0, running.stderr());

  // Other nodes know only the part of a killed node's journal that reached Redis. They may repeat the event of an end, with the same UUID.
  const stored = new Map<string, Set<string>>();
  const bad = ({ reason }: { reason: string }) => assert.fail(reason);
  for (const { name } of nodes)
    for await (const { event } of readEvents(journalFolder(join(folder, name)), undefined, bad)) {
      const path = String(event.data.path);
      if (event.id === '40017') stored.set(path, (stored.get(path) ?? new Set()).add(event.uuid));
      if (event.id === '40022') assert.equal(Number(event.data.total_write ?? 0), 0, `${path}: its client had begun to send`);
    }
  for (const name of uploads) {
    assert.equal(stored.get(`/${name}`)?.size, 1, `40017 of ${name}`);
    assert.equal(existsSync(join(folder, 'home', name)), false, `${name} exists again after its client removed it`);
  }
  // An upload whose URL was lost with its node is empty and waits for its expiry.
  for (const name of readdirSync(join(folder, 'home'))) {
    assert.match(name, /^\.svc-[0-9a-f]+\.kept$/);
    assert.equal(statSync(join(folder, 'home', name)).size, 0, 'no client had begun to send content');
  }
  console.log(`${uploads.length} uploads, ${rounds} rounds`);
});
