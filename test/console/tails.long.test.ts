import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { ConsoleClient, consoleService } from '../support/console.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const readers = 940;
const deafReaders = 60;

/** Memory in MiB: the maximum kept for a client that does not read, and room for 1,000 connections and their events. */
const keptForOneMiB = 1;
const roomMiB = 200;

/** Numbers of the UUIDs in the order of their first arrival. Storing the texts for each client would need gigabytes. */
const numbers = new Map<string, number>();

function numberOf(uuid: string): number {
  const known = numbers.get(uuid);
  if (known !== undefined) return known;
  // A substring would keep the whole text in memory.
  numbers.set(Buffer.from(uuid).toString(), numbers.size);
  return numbers.size - 1;
}

/** A follower, and the numbers of the UUIDs that it received. */
interface Follower {
  incoming: IncomingMessage;
  told: number[];
  lags: number;
  isOver: boolean;
}

function follow(url: string, headers: Record<string, string>): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const outgoing = get(url, { headers, agent: false }, (incoming) => {
      assert.equal(incoming.statusCode, 200);
      const follower: Follower = { incoming, told: [], lags: 0, isOver: false };
      let rest = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line === 'event: lag') follower.lags++;
          const uuid = /^data: \{"id":"\d+".*?"uuid":"([^"]+)"/.exec(line)?.[1];
          if (uuid) follower.told.push(numberOf(uuid));
        }
      });
      incoming.on('error', () => {});
      incoming.on('close', () => {
        follower.isOver = true;
      });
      resolve(follower);
    });
    outgoing.on('error', reject);
  });
}

async function startProcess(t: TestContext) {
  const folder = temporaryFolder(t);
  await writeConfig(folder, { services: { web: { type: 'http', port: 0 }, console: await consoleService() } });
  const running = start(t, ['serve'], { cwd: folder });
  const [, url = ''] = await running.line(/console listening on (\S+)\/\n/);
  const [, files = ''] = await running.line(/web listening on (\S+)\/\n/);
  const journal = join(folder, 'data/journal/events-00000001.ndjson');
  return {
    client: new Client(files),
    console: new ConsoleClient(url),
    rssMiB: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${running.child.pid}/status`, 'utf8'))?.[1]) / 1024,
    uuids: () => [...readFileSync(journal, 'utf8').matchAll(/^\{"id":"\d+".*?"uuid":"([^"]+)"/gm)].map(([, uuid = '']) => numberOf(uuid)),
  };
}

/** Waits until the condition holds. The time limit of the test ends the wait. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 100));
}

test('of 1,000 live tails, some do not read; the others get every event once and in order, and memory is bounded', {
  timeout: 300_000,
}, async (t) => {
  const { client, console, rssMiB, uuids } = await startProcess(t);
  const headers = await console.session();
  const open = async (count: number) => {
    const followers: Follower[] = [];
    while (followers.length < count) {
      const some = Array.from({ length: 20 }, () => follow(`${console.url}/api/events/live`, headers));
      followers.push(...(await Promise.all(some)));
    }
    t.after(() => {
      for (const { incoming } of followers) incoming.destroy();
    });
    return followers;
  };
  const reading = await open(readers);
  const deaf = await open(deafReaders);
  for (const { incoming } of deaf) incoming.pause();
  const before = { rssMiB: rssMiB(), uuids: uuids().length };
  const folders = ['a', 'b', 'c'].map((letter) => letter.repeat(250));
  for (let depth = 1; depth <= folders.length; depth++) await client.put(`/home/${folders.slice(0, depth).join('/')}/`, '');
  let maxMiB = 0;
  for (let round = 0; round < 30; round++) {
    for (let index = 0; index < 30; index++) assert.ok((await client.put(`/home/${folders.join('/')}/x`, 'x')).status < 300);
    maxMiB = Math.max(maxMiB, rssMiB());
    const expected = uuids().slice(before.uuids);
    await eventually(() => reading.every(({ told }) => told.length >= expected.length));
  }
  const expected = uuids().slice(before.uuids);
  for (const { told, lags, isOver } of reading) {
    assert.deepEqual(told, expected);
    assert.deepEqual({ lags, isOver }, { lags: 0, isOver: false });
  }
  t.diagnostic(`${Math.round(before.rssMiB)} MiB with 1,000 tails, ${Math.round(maxMiB)} MiB at most, ${expected.length} events`);
  const boundMiB = before.rssMiB + roomMiB + deafReaders * keptForOneMiB;
  assert.ok(maxMiB < boundMiB, `${before.rssMiB} MiB became ${maxMiB} MiB`);
});
