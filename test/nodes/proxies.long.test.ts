import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { Client } from '../support/client.ts';
import { type NodeProcess, startNodes } from '../support/node-process.ts';
import { startNodesHaproxy, startNodesNginx } from '../support/node-proxies.ts';
import { startReceiver } from '../support/receiver.ts';
import { startProxy, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** The events that the nodes of a folder journalled, by what they are about. */
function eventCounts(folder: string, id: string, aboutOf: (event: ServiceEvent) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of ['n0', 'n1', 'n2']) {
    const journal = join(folder, node, 'journal');
    for (const name of readdirSync(journal).filter((file) => /^events-.*\.ndjson$/.test(file)))
      for (const line of readFileSync(join(journal, name), 'utf8').split('\n')) {
        if (!line.includes(`"${id}"`)) continue;
        const event = JSON.parse(line) as ServiceEvent;
        if (event.id === id) counts.set(aboutOf(event), (counts.get(aboutOf(event)) ?? 0) + 1);
      }
  }
  return counts;
}

/** Sends what may be repeated, and what must not, without a pause. */
function load(client: Client, headers: Record<string, string>) {
  const uploads = new Map<string, number>();
  const triggers = new Map<string, number>();
  const reads: number[] = [];
  const cutReads = { count: 0 };
  let isOver = false;
  const lane = async (send: (index: number) => Promise<void>) => {
    for (let index = 0; !isOver; index++) {
      await send(index);
      await pause(20);
    }
  };
  const running = Promise.all([
    // A download under way ends with its node: what the client has cannot be sent again.
    lane(async () => {
      const reply = await client.get('/home/', { user: null, headers }).catch(() => undefined);
      if (reply) reads.push(reply.status);
      else cutReads.count++;
    }),
    lane(async (index) => {
      const path = `/${index}.txt`;
      uploads.set(path, (await client.put(`/home${path}`, 'x', { user: null, headers })).status);
    }),
    lane(async (index) => {
      const body = JSON.stringify({ commands: [{ command: 'Approve', target: 'x' }] });
      const options = { user: null, headers: { ...headers, 'content-type': 'application/json' }, body };
      triggers.set(`/d${index}`, (await client.send('POST', `/home/d${index}/`, options)).status);
    }),
  ]);
  const end = async () => {
    isOver = true;
    await running;
  };
  return { uploads, triggers, reads, cutReads, end };
}

const folders = 3000;

for (const [program, start] of [
  ['nginx', startNodesNginx],
  ['haproxy', startNodesHaproxy],
] as const)
  test(`behind ${program} no request fails while a node is cut off from Redis, and nothing runs twice while nodes die`, {
    timeout: 110_000,
  }, async (t) => {
    if (!hasProgram(t, 'redis-server') || !hasProgram(t, program)) return;
    const redis = await startRedis(t);
    const cable = await startProxy(t, redis.port);
    const receiver = await startReceiver(t);
    const folder = temporaryFolder(t);
    const nodes = (await startNodes(t, folder, receiver.url, [redis.url, redis.url, `redis://127.0.0.1:${cable.port}`])) as [
      NodeProcess,
      ...NodeProcess[],
    ];
    for (let index = 0; index < folders; index++) {
      mkdirSync(join(folder, 'home', `d${index}`));
      writeFileSync(join(folder, 'home', `d${index}`, 'x'), '');
    }
    const client = new Client(await start(t, nodes));
    const headers = { authorization: `session ${await nodes[0].client.login()}`, accept: 'application/json' };
    const cutOff = load(client, headers);
    await pause(1000);
    cable.cut();
    await pause(6000);
    cable.mend();
    await pause(1500);
    await cutOff.end();
    const all = [...cutOff.reads, ...cutOff.uploads.values(), ...cutOff.triggers.values()];
    assert.deepEqual(
      all.filter((status) => status !== 200 && status !== 201),
      [],
      `of ${all.length} requests`,
    );
    const dying = load(client, headers);
    for (const index of [0, 1, 2]) {
      await pause(700);
      await nodes[index]?.kill();
      await pause(700);
      await nodes[index]?.start();
    }
    await pause(700);
    await dying.end();
    const uploaded = eventCounts(folder, '40017', ({ data }) => String(data.path));
    const triggered = eventCounts(folder, '40043', ({ data }) => String(data.path));
    const statuses = [cutOff, dying].flatMap(({ triggers }) => [...triggers]);
    // Each part of the load began anew with its names.
    const expected = new Map<string, number>();
    for (const [path, status] of statuses) if (status === 200) expected.set(path, (expected.get(path) ?? 0) + 1);
    for (const [path, count] of expected) assert.ok((triggered.get(path) ?? 0) >= count, `${path} was answered, but has no event`);
    const asked = new Map<string, number>();
    for (const [path] of statuses) asked.set(path, (asked.get(path) ?? 0) + 1);
    for (const [path, count] of triggered) assert.ok(count <= (asked.get(path) ?? 0), `${path} was triggered ${count} times`);
    for (const { uploads } of [cutOff, dying])
      for (const [path, status] of uploads) if (status === 201) assert.ok(uploaded.has(path), `${path} was answered, but has no event`);
    const failed = [...dying.reads, ...dying.uploads.values()].filter((status) => status !== 200 && status !== 201);
    console.log(
      `${program}: ${all.length} requests while a node was cut off, ${statuses.length} triggers, ${failed.length} failed reads and uploads`,
    );
    assert.equal(cutOff.cutReads.count, 0);
    assert.ok(dying.cutReads.count <= 3, 'one for each node that died');
    assert.deepEqual(failed, [], 'what may be repeated goes to the next node');
  });
