import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, startMock } from '../support/child.ts';
import { temporaryFolder } from '../support/temp.ts';
import { crm, project } from '../support/webhook-project.ts';

test('requests that a mock recorded are replayed unchanged; the request of validate --online is not among them', async (t) => {
  const folder = temporaryFolder(t);
  const { url } = await startMock(t, ['webhook', '--record', 'got.ndjson'], folder);
  const cwd = project(t, crm(url));
  const check = await run(t, ['validate', '--online'], { cwd });
  assert.equal(check.code, 0, check.stderr);
  const event = {
    ...{ id: '20011', uuid: '00000000-0000-4000-8000-000000000000', message: 'm', data: {} },
    timestamp: { timestamp: '1700000000.000000', cwa_14051: '2023-11-14 22:13:20' },
    account: { uuid: 'a', name: 'a', peer: { address: '127.0.0.1', port: 1, protocol: 'TCP', family: 'IPv4' } },
    component: { uuid: 'web', type: 'http', name: 'web' },
    server: { uuid: 's', type: 'server', name: 's' },
  };
  await fetch(url, { method: 'POST', body: JSON.stringify({ events: [event] }) });
  const recorded = readFileSync(join(folder, 'got.ndjson'), 'utf8');
  assert.deepEqual(
    recorded
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [event],
  );
  // The mock also records the requests of the replay, so a copy of its file is replayed.
  writeFileSync(join(cwd, 'copy.ndjson'), recorded);
  const replay = await run(t, ['webhook-replay', 'copy.ndjson', '--url', url], { cwd });
  assert.equal(replay.code, 0, replay.stderr);
  assert.equal(replay.stdout, '1 event in 1 request: 1 delivered\n');
});
