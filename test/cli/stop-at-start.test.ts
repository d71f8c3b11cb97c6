import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { start } from '../support/child.ts';
import { until } from '../support/receiver.ts';
import { testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a stop at any moment of a start leaves nothing open, and the next process can use the data folder', async (t) => {
  const folder = temporaryFolder(t);
  const lines: string[] = [];
  const log = createLog({ level: 'debug', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  let ends = 0;
  for (let turns = 0; ends < 3; turns += 1 + Math.floor(turns / 8)) {
    const server = new Server(await testConfig(folder), { clock: systemClock, log });
    let isStarted = false;
    const started = server.start().then(
      () => {
        isStarted = true;
      },
      (error: Error) => error,
    );
    for (let count = 0; count < turns; count++) await turn();
    if (isStarted) ends++;
    const [first, second] = await Promise.all([server.stop(), server.stop()]);
    assert.deepEqual([first, second], [true, true]);
    const failure = await started;
    if (failure) assert.equal(failure.message, 'The server was stopped while it started.');
    assert.deepEqual(server.listening(), [], `after ${turns} turns`);
  }
  assert.deepEqual(
    lines.filter((line) => /"level":"(warn|error)"/.test(line)),
    [],
  );
});

test('SIGTERM during the start test of a callout ends the server at once', async (t) => {
  let asked = 0;
  const endpoint = createHttpServer(() => {
    asked++;
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.after(() => endpoint.closeAllConnections());
  t.after(() => endpoint.close());
  const folder = temporaryFolder(t);
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`;
  const config = {
    groups: { DEFAULT_GROUP: { home_folder_path: folder } },
    authentications: { remote: { type: 'http', url, timeout: 600, test_at_start: true } },
    services: { web: { type: 'http', port: 0 } },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config), { mode: 0o600 });
  const server = start(t, ['serve'], { cwd: folder });
  await until('the callout is asked', () => asked > 0);
  server.child.kill('SIGTERM');
  const { code, stdout } = await server.ended;
  assert.deepEqual([code, stdout], [0, '']);
});
