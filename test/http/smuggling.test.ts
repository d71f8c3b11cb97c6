import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { startConsole } from '../support/console.ts';
import { startServer } from '../support/server.ts';
import { assertNothingHidden, basic, honest, statuses, tricks } from '../support/smuggled-requests.ts';

test('input that two parsers might read differently is refused, and no request behind it is read', async (t) => {
  const server = await startServer(t);
  // On a busy machine the first check of a password takes longer than the test waits for the reply to a trick.
  await server.get('/home/');
  for (const [what, bytes] of Object.entries(tricks)) {
    writeFileSync(join(server.home, 'a'), 'old');
    const reply = await server.raw(Buffer.from(bytes, 'latin1'), 100);
    assert.ok(statuses(reply).length <= 1, `${what}: ${reply}`);
    assert.match(statuses(reply)[0] ?? '400', /^(400|404|405|408|501|505)$/, `${what}: ${reply}`);
    assertNothingHidden(server, what);
    assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old', what);
  }
  assert.deepEqual(statuses(await server.raw(honest, 300)), ['201', '200']);
  assert.equal((await server.eventIds()).includes(40003), false);
});

test('Transfer-Encoding in HTTP/1.0 gets 400, and the connection ends, at each service', async (t) => {
  const { server, console } = await startConsole(t, { services: { monitor: { type: 'monitor', port: 0 } } });
  const monitor = new Client(server.service.listening().find(({ uuid }) => uuid === 'monitor')?.url ?? '');
  for (const [client, target] of [
    [server, 'PUT /home/a'],
    [console, 'POST /api/login'],
    [monitor, 'GET /health'],
  ] as const)
    for (const connection of ['close', 'keep-alive']) {
      const head = `${target} HTTP/1.0\r\nHost: localhost\r\n${basic}\r\nConnection: ${connection}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const reply = await client.raw(`${head}1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      assert.deepEqual(statuses(reply), ['400'], `${target} ${connection}: ${reply}`);
      assert.match(reply, /\r\nconnection: close\r\n/i);
    }
  assert.deepEqual(readdirSync(server.home), []);
});
