import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { askHeld } from '../../src/control/control-socket.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { readEvents } from '../support/journal.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const rounds = Number(process.env.SVC_HELD_CRASH_ROUNDS ?? 12);
const user = null;

interface Told {
  id: string;
  path: string;
}

interface Held extends Told {
  state: string;
}

test(`kill -9 in each state of held uploads, ${rounds} times: none is lost or visible before its release, each ends once`, {
  timeout: 280_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const [files, data] = [join(folder, 'files'), join(folder, 'data')];
  const inspector = await startInspector(t);
  let late: number | undefined;
  inspector.decide = ({ body }) => (String(body) === 'wait' && late !== undefined ? { status: late } : undefined);
  writeFileSync(
    join(folder, 'svc.config.yaml'),
    `server: {data_folder_path: data, log: {level: error}, held: {maximum_per_account: 10000}}
groups: {DEFAULT_GROUP: {home_folder_path: ./files, create_home_folder: true, inspections: [[check], ["/free-*"]]}}
authentications: {open: {type: anonymous, group: DEFAULT_GROUP}}
services: {web: {type: http, port: 0}}
inspections: {check: {type: http, url: "${inspector.url}", answer_within: 0.05, test_at_start: no}}
`,
  );
  const told = new Map<string, Told>();
  let number = 0;
  const list = async (client: Client) => (await client.send('GET', '/home/__svc__/held/', { user })).json<{ held: Held[] }>().held;

  /** Uploads a file that is held: `odd` by a verdict, `wait` because the inspection is late. */
  const hold = async (client: Client, content: string) => {
    const path = `/${++number}-${content}`;
    const reply = await client.put(`/home${path}`, content, { user });
    assert.equal(reply.status, 202);
    const id = String(reply.json<{ results: { held: string }[] }>().results[0]?.held);
    told.set(id, { id, path });
    return { id, path };
  };
  const act = (action: 'release' | 'discard' | 'inspect-again', id: string) => askHeld(data, action, [id], 'test', undefined);
  /** Each prepares a state, and returns the action during which the service is killed. */
  const states: ((client: Client) => Promise<() => Promise<unknown>>)[] = [
    async (client) => () => hold(client, 'odd'),
    async (client) => () => hold(client, 'wait'),
    async (client) => {
      const { id } = await hold(client, 'odd');
      return () => act('release', id);
    },
    async (client) => {
      const { id } = await hold(client, 'odd');
      return () => act('discard', id);
    },
    async (client) => {
      await hold(client, 'wait');
      return async () => inspector.answerWaiting(204);
    },
    async (client) => {
      const from = `/home/free-${++number}`;
      await client.put(from, 'odd', { user });
      return () => client.send('MOVE', from, { user, headers: { destination: `/home/${number}-moved` } });
    },
    async (client) => {
      const { id } = await hold(client, 'odd');
      return () => client.send('DELETE', `/home/__svc__/held/${id}`, { user });
    },
    async (client) => {
      const { id } = await hold(client, 'odd');
      return () => act('inspect-again', id);
    },
  ];

  for (let round = 0; round <= rounds; round++) {
    const server = start(t, ['serve'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    await until('no inspection is running any more', async () => (await list(client)).every(({ state }) => state === 'held'));
    late = undefined;
    if (round < rounds) {
      const work = await Promise.all(states.map((prepare) => prepare(client)));
      const ends = work.map((run) => run().catch(() => {}));
      await sleep((round * 7) % 40);
      server.child.kill('SIGKILL');
      await server.ended;
      await Promise.all(ends);
      inspector.answerWaiting(500);
      // The next process repeats the inspections that the killed process did not finish.
      late = round % 2 === 0 ? 204 : 422;
      continue;
    }
    const held = await list(client);
    const events: ServiceEvent[] = [];
    for await (const { event } of readEvents(journalFolder(data), undefined, (bad) => assert.fail(bad.reason))) events.push(event);
    const ids = (event: string) => events.flatMap(({ id, data: { held_id } }) => (id === event && held_id ? [String(held_id)] : []));
    const [released, placed, ended] = [ids('40073'), ids('40017'), ids('40074')];
    assert.equal(new Set(released).size, released.length, 'a release is reported once');
    assert.deepEqual(released.toSorted(), placed.toSorted());
    assert.equal(new Set(ended).size, ended.length, 'an end is reported once');
    for (const { id, path } of told.values()) {
      const outcomes = [held.some((item) => item.id === id), released.includes(id), ended.includes(id)].filter(Boolean);
      assert.equal(outcomes.length, 1, `${path} ${id}`);
      if (released.includes(id)) assert.ok(existsSync(join(files, path)), path);
    }
    // Visible files are those released, accepted late, or never inspected.
    const paths = new Set(events.filter(({ id, data: { held_id } }) => id === '40017' && held_id).map((event) => event.data.path));
    for (const name of visible(files)) assert.ok(name.startsWith('free-') || paths.has(`/${name}`), `${name} is visible`);
    for (const { id } of held) await act('discard', id);
    await until('no hidden file is left', () => readdirSync(files).every((name) => !name.startsWith('.svc-')));
    assert.ok(released.length > 0 && ended.length > 0, 'nothing was released or ended');
    for (const path of paths) assert.match(readFileSync(join(files, String(path)), 'utf8'), /odd|wait/);
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  }
});
