import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTemporaryName } from '../../src/files/disk/temporaries.ts';
import { isRunning, start } from '../support/child.ts';
import { Client, within } from '../support/client.ts';
import { assertStop } from '../support/node-stop.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { startSupervised } from '../support/supervised.ts';

test('requests that wait for a node that dies are answered by another node', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2);
  writeFileSync(join(svc.home, 'a'), 'A');
  const session = await svc.login();
  for (let round = 0; round < 3; round++) {
    await svc.ready(2);
    const [victim = 0] = svc.nodes();
    // While the node is stopped, it accepts no connections, and those assigned to it wait.
    process.kill(victim, 'SIGSTOP');
    const replies = Promise.all(Array.from({ length: 6 }, () => svc.get('/home/a', within(session))));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await svc.kill([victim]);
    assert.deepEqual([...new Set((await replies).map(({ text }) => text))], ['A']);
  }
});

test('if the supervisor is killed, its nodes end, too, and the next start removes temporary files', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2);
  const session = await svc.login();
  const pids = svc.nodes();
  const uploads = Array.from({ length: 4 }, (_, index) =>
    svc.put(`/home/f${index}`, Buffer.alloc(5_000_000, 'u'), within(session)).catch(() => undefined),
  );
  await until('an upload has begun', () => readdirSync(svc.home).some(isTemporaryName));
  svc.running.child.kill('SIGKILL');
  await until('the nodes are gone', () => !pids.some(isRunning));
  const stored = (await Promise.all(uploads)).flatMap((reply, index) => (reply?.status === 201 ? [`f${index}`] : []));
  const again = start(t, ['serve', '--workers', '2'], { cwd: svc.folder });
  const [, url = ''] = await again.line(/listening on (http:\S+)\/\n/);
  assert.deepEqual(readdirSync(svc.home).filter(isTemporaryName), [], 'no temporary file is left');
  const names = await new Client(url).names('/home/');
  assert.deepEqual(
    stored.filter((name) => !names.includes(name)),
    [],
  );
  const paths = (await svc.events()).filter(({ id }) => id === '40017').map(({ data }) => String(data.path).slice(1));
  assert.deepEqual(
    stored.filter((name) => !paths.includes(name)),
    [],
    'confirmed uploads are in the journal',
  );
  again.child.kill('SIGTERM');
  assert.equal((await again.ended).code, 0);
});

test('Ctrl-C for the whole process group lets a running download finish', (t) => assertStop(t, 'group'));

test('a node that hangs while it stops is ended after the time limit', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, { server: { shutdown_timeout: 1 } });
  const [victim = 0] = svc.nodes();
  process.kill(victim, 'SIGSTOP');
  const code = await svc.stop();
  assert.equal(code, 143, 'not all nodes ended in time');
  assert.equal(isRunning(victim), false);
});
