import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eicar, startClamd } from '../support/clamd.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

function scanning(t: TestContext, url: string, options: Record<string, unknown> = {}): Promise<TestServer> {
  return startServer(t, {
    inspections: { virus: { type: 'clamd', url, ...options } },
    group: { inspections: [['virus']] },
    service: { public_error: true },
  });
}

const visible = (server: TestServer) => readdirSync(server.home).filter((name) => !name.startsWith('.svc-'));

async function holdReasons(server: TestServer): Promise<string[]> {
  const { held } = (await server.send('GET', '/home/__svc__/held/')).json<{ held: { reason: string }[] }>();
  return held.map(({ reason }) => reason);
}

test('with clamd over a Unix socket and TCP, clean files are accepted, infected ones refused, and too large ones held', async (t) => {
  if (!hasProgram(t, 'clamd')) return;
  const clamd = await startClamd(t, '1M');
  for (const url of clamd.urls) {
    const server = await scanning(t, url);
    assert.equal((await server.put('/home/clean', 'hello')).status, 201);
    assert.equal((await server.put('/home/empty', '')).status, 201);
    const refused = await server.put('/home/virus', eicar);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /Eicar-Test/);
    const event = (await server.events()).find(({ id }) => id === '40071');
    assert.match(String(event?.data.message), /^Eicar-Test/);
    assert.equal((await server.put('/home/in-the-middle', Buffer.concat([Buffer.alloc(700_000), Buffer.from(eicar)]))).status, 422);
    assert.equal((await server.put('/home/large', Buffer.alloc(3_000_000))).status, 202);
    assert.deepEqual(await holdReasons(server), ['larger']);
    assert.deepEqual(visible(server).sort(), ['clean', 'empty']);
    await server.stop();
  }
});

test('a clamd that is absent, dies in the middle, or answers too early or with nonsense counts as a failure', async (t) => {
  const folder = temporaryFolder(t);
  const answers: [string, (socket: Socket) => void][] = [
    ['dies', (socket) => socket.once('data', () => socket.destroy())],
    ['early', (socket) => socket.once('data', () => socket.end('stream: OK\0'))],
    ['nonsense', (socket) => socket.on('data', () => socket.end('what?\0'))],
    ['endless', (socket) => socket.once('data', () => socket.write('x'.repeat(100_000)))],
    ['silent', () => {}],
  ];
  for (const [what, answer] of answers) {
    const path = join(folder, `${what}.sock`);
    const fake = createServer((socket) => {
      socket.on('error', () => {});
      answer(socket);
    });
    await new Promise<void>((resolve) => fake.listen(path, resolve));
    t.after(() => fake.close());
    const server = await scanning(t, `unix:${path}`, { timeout: 1, test_at_start: false });
    assert.equal((await server.put('/home/name', Buffer.alloc(8_000_000, 'x'))).status, 202, what);
    assert.deepEqual(await holdReasons(server), ['failure'], what);
    await server.stop();
  }
  const server = await scanning(t, `unix:${join(folder, 'none.sock')}`, { on_failure: 'refuse', timeout: 5 });
  assert.equal((await server.put('/home/name', 'x')).status, 422);
  assert.ok((await server.events()).some(({ id, data }) => id === '20157' && data.uuid === 'virus'));
  assert.deepEqual(visible(server), []);
});
