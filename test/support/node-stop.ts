import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isRunning } from './child.ts';
import { until } from './receiver.ts';
import { testUser } from './secrets.ts';
import { startSupervised } from './supervised.ts';

/**
 * Stops two nodes during a download. Asserts that nothing is left behind. Unless a second signal arrives, the download must be completed.
 *
 * @param kind `term`: SIGTERM; `twice`: SIGTERM twice; `group`: SIGINT to all processes, as with Ctrl-C
 */
export async function assertStop(t: TestContext, kind: 'term' | 'twice' | 'group'): Promise<void> {
  const svc = await startSupervised(t, 2);
  writeFileSync(join(svc.home, 'big'), Buffer.alloc(60_000_000));
  const pids = svc.nodes();
  const received = await new Promise<number>((resolve) => {
    get(`${svc.url}/home/big`, { auth: testUser, agent: false }, (incoming) => {
      let bytes = 0;
      incoming.once('data', async (chunk: Buffer) => {
        bytes += chunk.length;
        incoming.pause();
        svc.running.child.kill(kind === 'group' ? 'SIGINT' : 'SIGTERM');
        if (kind === 'group') for (const pid of pids) process.kill(pid, 'SIGINT');
        await until('the supervisor stops', () => svc.running.stderr().includes('"stopping"'));
        if (kind === 'twice') svc.running.child.kill('SIGTERM');
        incoming.on('data', (more: Buffer) => {
          bytes += more.length;
        });
        if (kind !== 'twice') incoming.resume();
      });
      incoming.on('error', () => {});
      incoming.on('close', () => resolve(bytes));
      if (kind === 'twice') void svc.running.ended.then(() => incoming.resume());
    });
  });
  const { code } = await svc.running.ended;
  if (kind === 'twice') assert.equal(code, 143);
  else assert.deepEqual([code, received], [0, 60_000_000], kind);
  await until('no node is left', () => !pids.some(isRunning));
  if (kind === 'twice') return;
  const ids = (await svc.events()).map(({ id }) => Number(id));
  for (const id of [20001, 20076, 20181, 20002, 20078])
    assert.equal(ids.filter((other) => other === id).length, 2, `event ${id} of each node`);
  assert.equal(ids.filter((id) => id === 40039).length, 1);
  assert.equal(existsSync(join(svc.dataFolder, 'svc.pid')), false);
}
