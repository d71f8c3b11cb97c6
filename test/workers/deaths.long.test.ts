import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTemporaryName } from '../../src/files/disk/temporaries.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { assertStop } from '../support/worker-stop.ts';
import { isRunning, startFleet, within } from '../support/workers.ts';

test('connections that wait for a worker that dies are answered by another', async (t) => {
  const fleet = await startFleet(t, 2);
  writeFileSync(join(fleet.home, 'a'), 'A');
  const session = await fleet.login();
  for (let round = 0; round < 3; round++) {
    await fleet.ready(2);
    const [victim = 0] = fleet.workers();
    // Stopped, it takes no connection, and those given to it wait.
    process.kill(victim, 'SIGSTOP');
    const replies = Promise.all(Array.from({ length: 6 }, () => fleet.get('/home/a', within(session))));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await fleet.kill([victim]);
    assert.deepEqual([...new Set((await replies).map(({ text }) => text))], ['A']);
  }
});

test('when the primary process is killed its workers end at once, and the next start is clean', async (t) => {
  const fleet = await startFleet(t, 2);
  const session = await fleet.login();
  const pids = fleet.workers();
  const uploads = Array.from({ length: 4 }, (_, index) =>
    fleet.put(`/home/f${index}`, Buffer.alloc(5_000_000, 'u'), within(session)).catch(() => undefined),
  );
  await until('uploads run', () => readdirSync(fleet.home).some(isTemporaryName));
  fleet.running.child.kill('SIGKILL');
  await until('the workers are gone', () => !pids.some(isRunning));
  const stored = (await Promise.all(uploads)).flatMap((reply, index) => (reply?.status === 201 ? [`f${index}`] : []));
  const again = start(t, ['serve', '--workers', '2'], { cwd: fleet.folder });
  const [, url = ''] = await again.line(/listening on (http:\S+)\/\n/);
  assert.deepEqual(readdirSync(fleet.home).filter(isTemporaryName), [], 'no debris');
  const names = await new Client(url).names('/home/');
  assert.deepEqual(
    stored.filter((name) => !names.includes(name)),
    [],
  );
  const paths = (await fleet.events()).filter(({ id }) => id === '40017').map(({ data }) => String(data.path).slice(1));
  assert.deepEqual(
    stored.filter((name) => !paths.includes(name)),
    [],
    'what was answered is recorded',
  );
  again.child.kill('SIGTERM');
  assert.equal((await again.ended).code, 0);
});

test('Ctrl-C for the whole group lets a running download finish', (t) => assertStop(t, 'group'));

test('a worker that hangs at the stop is ended after the time limit', async (t) => {
  const fleet = await startFleet(t, 2, { server: { shutdown_timeout: 1 } });
  const [victim = 0] = fleet.workers();
  process.kill(victim, 'SIGSTOP');
  const code = await fleet.stop();
  assert.equal(code, 143, 'not all ended in time');
  assert.equal(isRunning(victim), false);
});
