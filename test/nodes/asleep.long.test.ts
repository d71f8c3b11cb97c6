import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { append, part, sha256, uploads } from '../support/draft-uploads.ts';
import { readEvents } from '../support/journal.ts';
import { type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';
import { WatchedRequest } from '../support/watched-request.ts';

const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/failing-disk.cjs');
const firstBytes = 100_000;
const sentBytes = 150_000;
const wholeBytes = 300_000;
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };

/** Starts two nodes on one Redis: one that will sleep, and one that continues. */
async function startTwo(t: TestContext) {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const control = join(folder, 'failing');
  const nodes = await startNodes(t, folder, 'http://127.0.0.1:9/', [redis.url, redis.url], {
    event_handlers: {},
    env: (name) => (name === 'n0' ? { NODE_OPTIONS: `--require ${preload}`, FAILING_DISK: control } : {}),
  });
  const [sleeper, other] = nodes as [NodeProcess, NodeProcess];
  const home = join(folder, 'home');
  return {
    sleeper,
    other: other.client,
    control,
    stored: (name: string) => readFileSync(join(home, name)),
    hidden: () => readdirSync(home).filter((name) => name.startsWith('.svc-')),
    sizes: () => readdirSync(home).map((name) => statSync(join(home, name)).size),
    /** Ends both nodes. Returns, for each path, the events with which uploads ended. */
    async told(): Promise<Map<string, string[]>> {
      for (const { running } of nodes) running.child.kill('SIGTERM');
      await Promise.all(nodes.map(({ running }) => running.ended));
      const ids = new Map<string, string[]>();
      const bad = ({ reason }: { reason: string }) => assert.fail(reason);
      for (const { name } of nodes)
        for await (const { event } of readEvents(journalFolder(join(folder, name)), undefined, bad)) {
          const path = String(event.data.path);
          if (['40017', '40022'].includes(event.id)) ids.set(path, [...(ids.get(path) ?? []), event.id]);
        }
      return ids;
    },
  };
}

/** Waits until the node works. After a sleep it can need a new connection to Redis. */
function awake({ client }: NodeProcess): Promise<void> {
  return untilWithinMinute('the sleeping node answers', async () => (await client.get('/home/')).status === 200);
}

interface Way {
  begin(node: NodeProcess, name: string, first: Buffer): Promise<string>;
  /** @param mine the content that this node gets. Some ways send its digest in a header */
  headers(offset: number, mine: Buffer): Record<string, string>;
  head: Record<string, string>;
  done: number;
}

const beginDraft: Way['begin'] = async ({ client }, name, first) =>
  String((await client.put(`/home/${name}`, first, { headers: part })).headers.location);
const beginTus: Way['begin'] = async ({ client }, name, first) => {
  const metadata = { 'upload-length': String(wholeBytes), 'upload-metadata': `path ${Buffer.from(`/${name}`).toString('base64')}` };
  return String((await client.send('POST', uploads, { headers: { ...tus, ...metadata }, body: first })).headers.location);
};

const ways: Record<string, Way> = {
  draft: { begin: beginDraft, headers: (offset) => append(offset, true), head: {}, done: 201 },
  'draft-digest': {
    begin: beginDraft,
    headers: (offset, mine) => ({ ...append(offset, true), 'content-digest': sha256(mine) }),
    head: {},
    done: 201,
  },
  tus: { begin: beginTus, headers: (offset) => ({ ...tus, 'upload-offset': String(offset) }), head: tus, done: 204 },
  'tus-checksum': {
    begin: beginTus,
    headers: (offset, mine) => ({
      ...tus,
      'upload-offset': String(offset),
      'upload-checksum': `sha1 ${createHash('sha1').update(mine).digest('base64')}`,
    }),
    head: tus,
    done: 204,
  },
};

const fates = ['its client goes on', 'its client is gone', 'the other client breaks off'] as const;

test('if another node continues the uploads of a sleeping node, the sleeping node does not change them when it wakes', {
  timeout: 120_000,
}, async (t) => {
  const begun = await startTwo(t);
  if (!begun) return;
  const { sleeper, other, stored, hidden, sizes, told } = begun;
  const cases = Object.entries(ways).flatMap(([wayName, way]) => fates.map((fate, index) => ({ name: `${wayName}-${index}`, way, fate })));
  const stuck = await Promise.all(
    cases.map(async ({ name, way, fate }) => {
      const [first, mine, others] = [randomBytes(firstBytes), randomBytes(wholeBytes - firstBytes), randomBytes(wholeBytes - firstBytes)];
      const url = await way.begin(sleeper, name, first);
      const headers = { ...way.headers(firstBytes, mine), 'content-length': String(mine.length) };
      const request = new WatchedRequest(sleeper.client, 'PATCH', url, headers);
      await request.write(mine.subarray(0, sentBytes - firstBytes));
      return { name, way, fate, url, request, first, mine, others };
    }),
  );
  await untilWithinMinute('the sleeping node has written', () => sizes().filter((size) => size === sentBytes).length === cases.length);
  sleeper.running.child.kill('SIGSTOP');
  await Promise.all(
    stuck.map(async ({ name, way, fate, url, request, mine, others }) => {
      if (fate === 'its client is gone') request.cut();
      const head = await other.send('HEAD', url, { headers: way.head });
      assert.equal(head.headers['upload-offset'], String(firstBytes), `${name}: the confirmed offset`);
      const headers = { ...way.headers(firstBytes, others), 'content-length': String(others.length) };
      const last = new WatchedRequest(other, 'PATCH', url, headers);
      if (fate === 'the other client breaks off') {
        await last.write(others.subarray(0, 1000));
        await new Promise((resolve) => setTimeout(resolve, 100));
        last.cut();
      } else assert.equal((await last.end(others)).status, way.done, name);
      if (fate !== 'its client is gone') void request.end(mine.subarray(sentBytes - firstBytes));
    }),
  );
  const told1 = await Promise.all(stuck.map(({ url, way }) => other.send('HEAD', url, { headers: way.head })));
  sleeper.running.child.kill('SIGCONT');
  const woken = await Promise.all(stuck.map(({ request }) => request.done));
  for (const [index, { status }] of woken.entries()) assert.ok([0, 503].includes(status), `${stuck[index]?.name}: ${status}`);
  await awake(sleeper);
  for (const [index, { name, way, fate, url, first, others }] of stuck.entries()) {
    const head = await sleeper.client.send('HEAD', url, { headers: way.head });
    const offset = Number(head.headers['upload-offset']);
    assert.equal(offset, Number(told1[index]?.headers['upload-offset']), `${name}: the offset has not changed`);
    if (fate === 'the other client breaks off') {
      const rest = others.subarray(offset - firstBytes);
      const last = await sleeper.client.send('PATCH', url, { headers: way.headers(offset, rest), body: rest });
      assert.equal(last.status, way.done, `${name}: ${last.text}`);
    }
    assert.ok(stored(name).equals(Buffer.concat([first, others])), name);
  }
  assert.deepEqual(hidden(), []);
  const events = await told();
  for (const { name } of stuck) assert.deepEqual(events.get(`/${name}`), ['40017'], name);
});

/** Where a node falls asleep while it ends an upload, and whether the file has its name by then. */
const places = [
  { what: 'before the content is on the disk', stall: 'fsync .kept', isNamed: false },
  { what: 'before the file has its name', stall: 'linkSync .kept', isNamed: false },
  { what: 'between the two names of the file', stall: 'unlinkSync .kept', isNamed: true },
  { what: 'before the event of the upload', stall: 'fsync home$', isNamed: true },
];

test('if a node falls asleep while it ends an upload, the upload ends once, with one event', { timeout: 120_000 }, async (t) => {
  const pairs = [];
  for (const place of places) {
    const nodes = await startTwo(t);
    if (!nodes) return;
    pairs.push({ ...place, ...nodes });
  }
  const outcomes = pairs.map(async ({ what, stall, isNamed, sleeper, other, control, stored, hidden, told }) => {
    const [first, mine, others] = [randomBytes(firstBytes), randomBytes(wholeBytes - firstBytes), randomBytes(wholeBytes - firstBytes)];
    const url = await beginDraft(sleeper, 'a', first);
    writeFileSync(control, `stall ${stall}`);
    const request = new WatchedRequest(sleeper.client, 'PATCH', url, {
      ...append(firstBytes, true),
      'content-length': String(mine.length),
    });
    const reply = request.end(mine);
    await untilWithinMinute(`the node sleeps ${what}`, () => existsSync(`${control}.stalled`));
    await untilWithinMinute('the other node has handled the end of the upload', async () => (await other.send('HEAD', url)).status === 204);
    const head = await other.send('HEAD', url);
    assert.equal(head.headers['upload-complete'], isNamed ? '?1' : '?0', what);
    if (!isNamed) {
      const last = await other.send('PATCH', url, { headers: append(firstBytes, true), body: others });
      assert.equal(last.status, 201, last.text);
    }
    rmSync(control);
    assert.ok([0, 503].includes((await reply).status), what);
    assert.ok(stored('a').equals(Buffer.concat([first, isNamed ? mine : others])), what);
    await awake(sleeper);
    assert.equal((await sleeper.client.send('HEAD', url)).headers['upload-complete'], '?1', what);
    assert.deepEqual(hidden(), [], what);
    assert.deepEqual((await told()).get('/a'), ['40017'], what);
  });
  await Promise.all(outcomes);
});
