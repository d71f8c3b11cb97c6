import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { Client } from '../support/client.ts';
import { control } from '../support/control.ts';
import { hidden, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestConfig, testConfig } from '../support/server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';

// The flag is set here, so that the test runner need not set it.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const count = Number(process.env.SVC_HELD_COUNT ?? 10_000);

test('10,000 held uploads are listed, survive a restart, can be released and discarded, and expire', {
  timeout: 600_000,
}, async (t) => {
  const inspector = await startInspector(t);
  inspector.decide = () => ({ status: 202 });
  const sections: TestConfig = {
    inspections: { check: { type: 'http', url: inspector.url, maximum_concurrent: 32 } },
    group: { inspections: [['check']] },
    server: { held: { maximum_per_account: count } },
  };
  const server = await startServer(t, sections);
  const times: number[] = [];
  let next = 0;
  const work = async () => {
    for (let number = next++; number < count; number = next++) {
      const startMs = performance.now();
      assert.equal((await server.put(`/home/${number}`, `content ${number}`)).status, 202);
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const mean = (some: number[]) => (some.reduce((sum, one) => sum + one, 0) / some.length).toFixed(1);
  t.diagnostic(`ms for each of the first 500: ${mean(times.slice(0, 500))}, of the last 500: ${mean(times.slice(-500))}`);
  assert.equal((await server.put('/home/one-more', 'x')).status, 429);
  await server.stop();
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: () => {} });
  const startMs = performance.now();
  const clock = new ShiftedClock();
  collectGarbage();
  const heapBefore = process.memoryUsage().heapUsed;
  const again = new Server(await testConfig(server.folder, sections), { clock, log });
  await again.start();
  t.diagnostic(`ms for the start: ${(performance.now() - startMs).toFixed(0)}`);
  try {
    const client = new Client(again.listening()[0]?.url ?? '');
    const { held } = (await client.send('GET', '/home/__svc__/held/')).json<{ held: { id: string; path: string }[] }>();
    assert.equal(new Set(held.map(({ path }) => path)).size, count);
    const data = join(server.folder, 'data');
    const ids = held.slice(0, 200).map(({ id }) => id);
    assert.equal((await control(t, data, 'held', 'release', ...ids)).code, 0);
    assert.equal((await control(t, data, 'held', 'discard', ...held.slice(200, 400).map(({ id }) => id))).code, 0);
    assert.equal(visible(server.home).length, 200);
    assert.equal(hidden(server.home).length, count - 400);
    collectGarbage();
    const perItem = (process.memoryUsage().heapUsed - heapBefore) / count;
    t.diagnostic(`bytes of heap for each: ${perItem.toFixed(0)}`);
    assert.ok(perItem < 8192, `${perItem} bytes`);
    clock.shift(31 * 86_400_000);
    for (let left = count; left > 0; left = hidden(server.home).length)
      await until('some held uploads have expired', () => hidden(server.home).length < left);
    await until(
      'no held upload is listed',
      async () => (await client.send('GET', '/home/__svc__/held/')).json<{ held: [] }>().held.length === 0,
    );
    assert.equal(visible(server.home).length, 200);
  } finally {
    await again.stop();
  }
});
