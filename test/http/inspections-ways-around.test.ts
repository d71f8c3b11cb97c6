import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { control } from '../support/control.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { rawEndpoint } from '../support/raw-endpoint.ts';
import { until } from '../support/receiver.ts';
import { startServer, testConfig } from '../support/server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a folder is moved if all its files are accepted, otherwise not at all', async (t) => {
  const server = await inspecting(t);
  const source = join(server.home, 'f');
  mkdirSync(join(source, 'sub'), { recursive: true });
  writeFileSync(join(source, 'one'), 'fine');
  for (const [content, status] of [
    ['bad', 422],
    ['odd', 422],
    ['fine', 201],
  ] as const) {
    writeFileSync(join(source, 'sub/two'), content);
    const reply = await server.send('MOVE', '/home/f/', { headers: { destination: '/home/d/f/' } });
    assert.equal(reply.status, status, content);
    assert.deepEqual(visible(join(server.home, 'd')), status === 201 ? ['f'] : []);
    assert.deepEqual(hidden(server.home), []);
  }
  assert.deepEqual(readdirSync(server.home), ['d']);
  assert.deepEqual(await heldOf(server), []);
});

test('files are inspected at each of their virtual paths; a move between paths with the same inspections repeats none', async (t) => {
  const inspector = await startInspector(t);
  const folder = temporaryFolder(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: {
      inspections: [[], ['/in/*', 'check']],
      virtual_folders: [
        ['/in', folder],
        ['/other', folder],
      ],
    },
  });
  assert.equal((await server.put('/home/other/bad', 'bad')).status, 422);
  assert.equal((await server.put('/home/IN2', 'bad')).status, 201);
  assert.equal((await server.put('/home/in/name', 'fine')).status, 201);
  const before = inspector.requests.length;
  assert.equal((await server.send('MOVE', '/home/in/name', { headers: { destination: '/home/in/next' } })).status, 201);
  assert.equal(inspector.requests.length, before);
});

test('symbolic links do not lead around inspections', async (t) => {
  const server = await inspecting(t);
  mkdirSync(join(server.home, 'free'));
  writeFileSync(join(server.home, 'free/x'), 'bad');
  symlinkSync('free', join(server.home, 'link'));
  symlinkSync('free/x', join(server.home, 'file'));
  symlinkSync('d', join(server.home, 'to-d'));
  for (const name of ['link', 'file']) {
    const reply = await server.send('MOVE', `/home/${name}`, { headers: { destination: `/home/d/${name}` } });
    assert.notEqual(reply.status, 201, name);
  }
  assert.equal((await server.put('/home/to-d/x', 'bad')).status, 422);
  mkdirSync(join(server.home, 'tree'));
  symlinkSync('../free', join(server.home, 'tree/link'));
  assert.equal((await server.send('MOVE', '/home/tree/', { headers: { destination: '/home/d/tree/' } })).status, 422);
  assert.deepEqual(visible(join(server.home, 'd')), []);
});

test('a deleted folder takes its held uploads with it, and a moved one keeps them', async (t) => {
  const server = await inspecting(t);
  mkdirSync(join(server.home, 'd/sub'));
  await server.put('/home/d/sub/name', 'odd');
  assert.equal((await server.send('MOVE', '/home/d/sub/', { headers: { destination: '/home/d/next/' } })).status, 201);
  assert.equal((await heldOf(server))[0]?.path, '/d/next/name');
  assert.equal((await control(t, join(server.folder, 'data'), 'held', 'release', String((await heldOf(server))[0]?.id))).code, 0);
  assert.deepEqual(visible(join(server.home, 'd/next')), ['name']);
  await server.put('/home/d/next/other', 'odd');
  assert.equal((await server.send('DELETE', '/home/d/next/')).status, 204);
  assert.deepEqual(await heldOf(server), []);
});

test('a release repeats the checks of an upload, and an upload that cannot be put in its place stays held', async (t) => {
  const server = await inspecting(t, {}, { group: { inspections: [['check']], quota_size: 10 } });
  const release = async () => control(t, join(server.folder, 'data'), 'held', 'release', String((await heldOf(server))[0]?.id));
  await server.send('PUT', '/home/name', { body: 'odd', headers: { 'if-none-match': '*' } });
  writeFileSync(join(server.home, 'name'), 'other');
  const refused = await release();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /name was taken/);
  assert.equal((await heldOf(server)).length, 1);
  assert.equal((await server.put('/home/more', Buffer.alloc(8))).status, 507);
});

test('held uploads are listed, shown, discarded and inspected again by commands', async (t) => {
  const server = await inspecting(t);
  const held = (...args: string[]) => control(t, join(server.folder, 'data'), 'held', ...args);
  await server.put('/home/d/name', 'odd');
  const { stdout } = await held('list', '--json');
  const item = JSON.parse(stdout);
  assert.deepEqual(Object.keys(item), ['id', 'account', 'path', 'size', 'time', 'digest', 'state', 'reason', 'verdicts', 'real_path']);
  assert.equal(item.verdicts[0].message, 'Somebody has to look.');
  assert.equal(readFileSync(item.real_path, 'utf8'), 'odd');
  assert.deepEqual(JSON.parse((await held('show', item.id, '--json')).stdout), item);
  assert.match((await held('show', item.id)).stdout, /verdict: .* check hold Somebody has to look\./);
  assert.equal((await held('show', 'nothing')).code, 1);
  server.inspector.decide = () => ({ status: 204 });
  assert.equal((await held('inspect-again', item.id)).code, 0);
  await until('the file is visible', () => visible(join(server.home, 'd')).length === 1);
  await until('the held upload has ended', async () => (await heldOf(server)).length === 0);
  server.inspector.decide = undefined;
  await server.put('/home/d/name', 'odd');
  const [next] = await heldOf(server);
  assert.equal((await held('discard', String(next?.id), '--reason', 'No.')).code, 0);
  assert.equal((await held('discard', String(next?.id))).code, 1);
  const ended = (await server.events()).find(({ id }) => id === '40074');
  assert.deepEqual([ended?.data.reason, ended?.data.administrator, ended?.data.details], ['discarded', userInfo().username, 'No.']);
});

test('an upload that is held too long is discarded', async (t) => {
  const clock = new ShiftedClock();
  const inspector = await startInspector(t);
  const sections = { inspections: { check: { type: 'http', url: inspector.url } }, group: { inspections: [['check']] } };
  const server = await startServer(t, { ...sections, server: { held: { days: 2 } } }, clock);
  await server.put('/home/name', 'odd');
  clock.shift(86_400_000);
  assert.equal((await heldOf(server)).length, 1);
  clock.shift(86_400_001);
  await until('the held upload has ended', async () => (await heldOf(server)).length === 0);
  await until('its end is reported', async () => (await server.eventIds()).includes(40074));
  assert.deepEqual(hidden(server.home), []);
});

test('if a reload removes an inspection that has not answered, its refusal still counts; new files are not inspected', async (t) => {
  const server = await inspecting(t, { answer_within: 0.1 });
  assert.equal((await server.put('/home/d/name', 'wait')).status, 202);
  await server.service.reload(await testConfig(server.folder, {}));
  server.inspector.answerAll(422);
  await until('the upload is no longer held', async () => (await heldOf(server)).length === 0);
  assert.deepEqual(visible(join(server.home, 'd')), []);
  assert.equal((await server.put('/home/d/name', 'bad')).status, 201);
});

test('replies that come too early, are no HTTP, or never come are failures; an early refusal is a refusal', async (t) => {
  const big = Buffer.alloc(8 * 1024 * 1024, 'x');
  const raw: [string, (socket: Socket) => void, number][] = [
    ['early accept', (socket) => socket.once('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n')), 202],
    ['early refusal', (socket) => socket.once('data', () => socket.write('HTTP/1.1 422 No\r\ncontent-length: 0\r\n\r\n')), 422],
    ['no HTTP', (socket) => socket.on('data', () => socket.write('what?\r\n\r\n')), 202],
    ['closes', (socket) => socket.once('data', () => socket.destroy()), 202],
    ['silent', () => {}, 202],
  ];
  for (const [what, answer, status] of raw) {
    const url = await rawEndpoint(t, answer);
    const options = { url, timeout: 1, test_at_start: false };
    const server = await startServer(t, {
      inspections: { check: { type: 'http', ...options } },
      group: { inspections: [['check']] },
    });
    assert.equal((await server.put('/home/name', big)).status, status, what);
    assert.deepEqual(visible(server.home), []);
  }
});

test('a file from an uninspected folder is inspected when it is restored to an inspected one', async (t) => {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check'], ['/tmp/*']], trash: { days: 1 } },
  });
  mkdirSync(join(server.home, 'tmp'));
  const restore = async (content: string) => {
    assert.equal((await server.put('/home/tmp/x', content)).status, 201);
    assert.equal((await server.send('DELETE', '/home/tmp/x')).status, 204);
    const { trash } = (await server.send('GET', '/home/__svc__/trash')).json<{ trash: { id: string }[] }>();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ path: '/name' });
    return server.send('POST', `/home/__svc__/trash/${trash[0]?.id}/restore`, { headers, body });
  };
  const refused = await restore('bad');
  assert.equal(refused.status, 422, refused.text);
  assert.deepEqual(visible(server.home), ['tmp']);
  assert.equal((await restore('odd')).status, 202);
  assert.deepEqual(visible(server.home), ['tmp']);
  assert.equal((await restore('fine')).status, 201);
  assert.deepEqual(visible(server.home), ['name', 'tmp']);
});

test('a numbered name does not evade the inspections of that name', async (t) => {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check'], ['/a.csv']], permissions: [['allow-create-file', 'allow-list']], on_name_taken: 'number' },
  });
  assert.equal((await server.put('/home/a.csv', 'bad')).status, 201);
  const { status } = await server.put('/home/a.csv', 'bad');
  assert.ok(status >= 400, String(status));
  assert.deepEqual(visible(server.home), ['a.csv']);
});
