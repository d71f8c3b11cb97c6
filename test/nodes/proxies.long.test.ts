import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { Client } from '../support/client.ts';
import { type NodeProcess, startNodes } from '../support/node-process.ts';
import { startReceiver } from '../support/receiver.ts';
import { freePort, startProxy, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { type Ending, temporaryFolder } from '../support/temp.ts';

const examples = join(process.env.SVC_ROOT ?? '.', 'examples/operations/nodes');

function exampleFor(name: string, nodes: readonly NodeProcess[]): string {
  let text = readFileSync(join(examples, name), 'utf8');
  for (const [index, { port, monitorPort }] of nodes.entries())
    text = text
      .replaceAll(`server node${index + 1}:8080`, `server 127.0.0.1:${port}`)
      .replaceAll(`node${index + 1}:8080 track`, `127.0.0.1:${port} track`)
      .replaceAll(` node${index + 1}:8080`, ` 127.0.0.1:${port} port ${monitorPort}`);
  return text;
}

/** Starts the nginx of the example in front of nodes, without TLS. @returns its URL */
async function startNodesNginx(t: Ending, nodes: readonly NodeProcess[]): Promise<string> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const site = exampleFor('nginx.conf', nodes)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name));
    return `${name}_temp_path ${join(folder, name)};`;
  });
  const main = `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${site}\n}\n`;
  writeFileSync(join(folder, 'main.conf'), main);
  run(t, 'nginx', ['-p', folder, '-c', 'main.conf', '-e', join(folder, 'error.log')]);
  return reached(`http://127.0.0.1:${port}`);
}

/** Starts the HAProxy of the example in front of nodes. @returns its URL */
async function startNodesHaproxy(t: Ending, nodes: readonly NodeProcess[]): Promise<string> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  // The number of connections in the example needs more descriptors than a test may have.
  const text = exampleFor('haproxy.cfg', nodes).replace('maxconn 20000', 'maxconn 500');
  writeFileSync(file, text.replace('bind :8080', `bind 127.0.0.1:${port}`).replace(' port 9100', ''));
  run(t, 'haproxy', ['-f', file]);
  return reached(`http://127.0.0.1:${port}`);
}

function run(t: Ending, program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: 'ignore' });
  t.after(() => void child.kill('SIGKILL'));
}

async function reached(url: string): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const status = await fetch(`${url}/home/`, { headers: { accept: 'application/json' } }).then(
      (reply) => reply.status,
      () => 0,
    );
    if (status === 401) return url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not answer`);
}

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** Counts the events with an ID in the journals of all nodes. @returns the number for each result of `aboutOf` */
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

/** Continuously sends requests that a proxy may repeat, and requests that it must not repeat. */
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
    // If a node dies after it has sent the beginning of a listing, the listing is cut off.
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
  test(`behind ${program} no request fails while a node is cut off from Redis, and no trigger is repeated while nodes die`, {
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
    assert.ok(dying.cutReads.count <= 3, 'at most one listing is cut for each node that died');
    assert.deepEqual(failed, [], 'repeatable requests go to the next node');
  });
