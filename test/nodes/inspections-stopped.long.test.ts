import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { hidden, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { configPath, startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';

test('a node that stops between its last check and the rename makes nothing visible in a folder that moved to inspected paths', async (t) => {
  if (!hasProgram(t, 'strace')) return;
  const inspector = await startInspector(t);
  const config = {
    inspections: { check: { type: 'http', url: inspector.url, test_at_start: false } },
    group: { inspections: [[], ['/in/*', 'check']] },
  };
  const begun = await startNodesOnRedis(t, 1, config);
  if (!begun) return;
  const { folder, nodes } = begun;
  const home = join(folder, 'home');
  for (const name of ['free', 'in']) mkdirSync(join(home, name));
  const other = JSON.parse(readFileSync(configPath(folder, 'n0'), 'utf8'));
  Object.assign(other.server, { name: 'slow', data_folder_path: join(folder, 'slow') });
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(other), { mode: 0o600 });
  const running = start(t, ['serve'], { cwd: folder });
  const port = Number((await running.line(/listening on http:\/\/[^:]+:(\d+)/))[1]);
  const slow = new Client(`http://127.0.0.1:${port}`);
  const strace = spawn('strace', [
    '-f',
    '-o',
    join(folder, 'trace'),
    '-e',
    'trace=rename',
    '-e',
    'inject=rename:delay_enter=3000000',
    '-p',
    `${running.child.pid}`,
  ]);
  const attached = once(strace.stderr, 'data');
  t.after(() => strace.kill());
  await attached;
  const upload = slow.put('/home/free/x', 'not judged');
  await until('it is about to be renamed', () => readFileSync(join(folder, 'trace'), 'utf8').includes('.part'));
  const destination = '/home/in/moved/';
  const moved = await (nodes[0] as Client).send('MOVE', '/home/free/', { headers: { destination } });
  assert.equal(moved.status, 201, moved.text);
  assert.equal((await upload).status, 503);
  assert.deepEqual(visible(join(home, 'in/moved')), []);
  await until('nothing is left of it', () => hidden(join(home, 'in/moved')).length === 0);
});
