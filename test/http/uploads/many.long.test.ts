import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLog } from '../../../src/lib/log.ts';
import { Server } from '../../../src/server/server.ts';
import { Client } from '../../support/client.ts';
import { append, part } from '../../support/draft-uploads.ts';
import { until } from '../../support/receiver.ts';
import { watchOutput } from '../../support/secret-watch.ts';
import { startServer, testConfig } from '../../support/server.ts';
import { SteppedClock } from '../../support/shifted-clock.ts';

const count = 10_000;
const atOnce = 32;
/** Maximum memory of an unfinished upload: its record, its ID, its path. */
const maxBytesEach = 4096;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Runs an action for every number below `count`, some concurrently. */
async function forEach(action: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await action(next++);
    }),
  );
}

test(`${count} unfinished uploads of one account: limited in number and memory; one is completed, one survives a restart, and all end`, {
  timeout: 900_000,
}, async (t) => {
  const clock = new SteppedClock();
  const uploads = { maximum_per_account: count, expire_after: 3600 };
  const server = await startServer(t, { server: { uploads } }, clock);
  for (const name of ['kept', 'gone']) mkdirSync(join(server.home, name));
  const urls: string[] = [];
  const before = heapBytes();
  await forEach(async (index) => {
    const folder = index % 2 === 0 ? 'kept' : 'gone';
    const reply = await server.put(`/home/${folder}/f${index}`, 'hello', { headers: part });
    assert.equal(reply.status, 201, reply.text);
    urls[index] = String(reply.headers.location);
  });
  const each = (heapBytes() - before) / count;
  assert.ok(each < maxBytesEach, `${Math.round(each)} bytes each`);
  assert.equal((await server.put('/home/more', 'x', { headers: part })).status, 429);
  assert.deepEqual(await server.names('/home/kept/'), []);
  const last = await server.send('PATCH', String(urls[0]), { headers: append(5, true), body: ', world' });
  assert.equal(last.status, 201, last.text);
  assert.equal((await server.put('/home/more', 'x', { headers: part })).status, 201, 'there is a free slot again');

  assert.equal((await server.send('DELETE', '/home/gone/')).status, 204);
  assert.equal((await server.send('HEAD', String(urls[1]))).status, 410);
  await server.stop();
  const service = new Server(await testConfig(server.folder, { server: { uploads } }), { clock, log: silentLog });
  await service.start();
  watchOutput(t, () => service.stop(), []);
  const client = new Client(service.listening()[0]?.url ?? '');
  assert.equal((await client.send('HEAD', String(urls[2]))).headers['upload-offset'], '5');
  clock.shift(3_601_000);
  clock.runPeriodic();
  const listed = () => readdirSync(join(server.home, 'kept')).length;
  while (listed() > 1) await sleep(100);
  const ended = async () => (await server.events()).filter(({ id, data }) => id === '40022' && data.resumed !== undefined).length;
  await until('all ends are reported', async () => (await ended()) >= count);
  assert.equal(await ended(), count);
  clock.shift(601_000);
  clock.runPeriodic();
  while (readdirSync(join(server.folder, 'data/uploads')).length > 0) await sleep(100);
});
