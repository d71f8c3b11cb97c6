import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

test('commands run in order, with an event for each target', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  const reply = await server.commands('/home/', [
    { command: 'create-folder', target: 'd' },
    { command: 'create-folder-if-missing', target: 'd' },
    { command: 'delete', target: ['a', 'd'] },
  ]);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers['server-path'], '/');
  assert.deepEqual(readdirSync(server.home), []);
  assert.deepEqual(await server.eventIds(), [40010, 40030, 40012, 40026]);
});

test('if a command fails, the status is 422, with null for each success, and the other commands still run', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  mkdirSync(join(server.home, 'd'));
  const reply = await server.commands('/home/', [
    { command: 'create-folder', target: 'd' },
    { command: 'create-folder', target: 'e' },
    { command: 'explode', target: 'd' },
    { command: '', target: ['d', 'e'] },
    ...['', '.', '..', 'a/b', 'a\\b', '__svc__'].map((target) => ({ command: 'delete', target })),
    { command: 'delete', target: 'missing' },
    { command: 'Delete', target: 'd' },
    { command: 'create-folder', target: '__svc__' },
  ]);
  assert.equal(reply.status, 422);
  const { errors } = reply.json<{ errors: { message: string | null; target: string }[] }>();
  assert.deepEqual(
    errors.map((item) => [item.target, item.message === null]),
    [
      ['d', false],
      ['e', true],
      ['d', false],
      ['d', false],
      ['e', false],
      ['', false],
      ['.', false],
      ['..', false],
      ['a/b', false],
      ['a\\b', false],
      ['__svc__', false],
      ['missing', false],
      ['d', false],
      ['__svc__', false],
    ],
  );
  assert.deepEqual(readdirSync(server.home).sort(), ['d', 'e']);
});

test('commands on a missing folder get 404; without rights, missing and existing folders get the same 422', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['/secret*', 'deny-full-control']] } });
  for (const folder of ['d', 'secret']) mkdirSync(join(server.home, folder));
  writeFileSync(join(server.home, 'f'), '');
  for (const command of ['create-folder', 'create-folder-if-missing', 'delete', 'unknown']) {
    const answers = await Promise.all(
      ['missing', 'd/missing', 'f', 'secret', 'secret-missing'].map((name) =>
        server.commands(`/home/${name}/`, [{ command, target: 'x' }]),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 422, 422],
      command,
    );
    assert.equal(answers[3]?.text, answers[4]?.text, command);
  }
  assert.equal((await server.commands('/home/missing/', [])).status, 400, 'a malformed request is refused before the folder is looked for');
  assert.deepEqual(readdirSync(server.home).sort(), ['d', 'f', 'secret']);
});

test('a malformed request is refused as a whole', async (t) => {
  const server = await startServer(t);
  const good = { command: 'create-folder', target: 'd' };
  const bad: unknown[] = [
    [],
    'x',
    null,
    1,
    [good, { command: 'delete' }],
    [good, { target: 'x' }],
    [good, { command: 1, target: 'x' }],
    [good, { command: 'delete', target: 5 }],
    [good, { command: 'delete', target: [] }],
    [good, { command: 'delete', target: ['a', 1] }],
    [good, { command: 'create-folder', target: ['x'] }],
    [good, { command: 'delete', target: 'x', more: 1 }],
    [good, 'delete'],
  ];
  for (const commands of bad) {
    const reply = await server.commands('/home/', commands);
    assert.equal(reply.status, 400, JSON.stringify(commands));
    assert.equal(typeof reply.json<{ errors: { message: string }[] }>().errors[0]?.message, 'string');
  }
  const json = { 'content-type': 'application/json; charset=utf-8' };
  for (const body of ['{"commands": [', '', '[]', '"x"', Buffer.from([0x7b, 0xff, 0x7d]), '{"commands":[],"x":1}', '['.repeat(200_000)]) {
    assert.equal((await server.send('POST', '/home/', { body, headers: json })).status, 400);
  }
  assert.equal((await server.send('POST', '/home/', { body: 'x', headers: { 'content-type': 'text/plain' } })).status, 415);
  assert.equal((await server.send('POST', '/home/', { body: `{"commands":"${'x'.repeat(1_100_000)}"}`, headers: json })).status, 413);
  assert.deepEqual(readdirSync(server.home), []);
});

test('a custom trigger emits one event with the existing targets', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success', 'Secret, danger, OTHER'] }, groups: { OTHER: {} } });
  for (const name of ['a', 'b']) writeFileSync(join(server.home, name), '');
  const reply = await server.commands('/home/', [{ command: 'Approve', target: ['a', 'gone', 'b'] }]);
  assert.equal(reply.status, 422);
  assert.deepEqual(
    reply.json<{ errors: { message: string | null }[] }>().errors.map((item) => item.message === null),
    [true, false, true],
  );
  const event = (await server.events()).find((candidate) => candidate.id === '40043');
  assert.deepEqual([event?.data.name, event?.data.files, event?.data.path], ['Approve', ['a', 'b'], '/']);
  assert.equal((await server.commands('/home/', [{ command: 'Secret', target: 'a' }])).status, 422, 'the trigger is for another group');
  assert.equal((await server.commands('/home/', [{ command: 'approve', target: 'a' }])).status, 422, 'names are case-sensitive');
});

test('POST on a file URL is not supported; on a folder URL without a slash it is redirected', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  mkdirSync(join(server.home, 'd'));
  const reply = await server.commands('/home/a', []);
  assert.equal(reply.status, 405);
  assert.match(String(reply.headers.allow), /GET.*PUT/);
  assert.equal((await server.commands('/home/d', [])).status, 307);
  assert.equal((await server.send('BREW', '/home/', { mayFail: true })).status, 400, 'the parser knows no such method');
  assert.equal((await server.send('PATCH', '/home/a')).status, 405);
  assert.equal((await server.send('LOCK', '/home/a')).status, 405);
});

test('commands with 100,000 nested levels are refused like invalid JSON', async (t) => {
  const server = await startServer(t);
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  for (const [levels, reason] of [
    [61, /"commands\[0\]"\.target must be/],
    [62, /nested deeper than 64 levels/],
    [100_000, /nested deeper than 64 levels/],
  ] as const) {
    const body = `{"commands":[{"command":"delete","target":${'['.repeat(levels)}${']'.repeat(levels)}}]}`;
    const reply = await server.send('POST', '/home/', { headers, body });
    assert.equal(reply.status, 400);
    assert.match(reply.json<{ errors: [{ message: string }] }>().errors[0].message, reason);
  }
});

test('many targets are checked one by one, and other requests run in between', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  writeFileSync(join(server.home, 'a'), 'x');
  const names = Array.from({ length: 400 }, (_, index) => `t${index}`);
  const form = (action: string, suffix = '') =>
    server.send('POST', '/home/', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `action=${action}${names.map((name) => `&selected-members=${name}${suffix}`).join('')}`,
    });
  const requests: Record<string, () => Promise<{ status: number }>> = {
    'one command': () => server.commands('/home/', [{ command: 'delete', target: names }]),
    'many commands': () =>
      server.commands(
        '/home/',
        names.map((target) => ({ command: 'delete', target })),
      ),
    'a trigger': () => server.commands('/home/', [{ command: 'Approve', target: names }]),
    'the form that deletes': () => form('delete-members'),
    'the form that asks': () => form('confirm-delete'),
    'the form of a trigger': () => form('Approve'),
    'the form of an archive': () => form('download-members'),
    'names with line breaks': () => form('download-members', '%0D%0A'),
  };
  for (const [what, send] of Object.entries(requests)) {
    let isOver = false;
    const reply = send().finally(() => {
      isOver = true;
    });
    let answered = 0;
    while (!isOver) {
      assert.equal((await server.get('/home/a')).status, 200);
      answered++;
    }
    assert.notEqual((await reply).status, 500);
    assert.ok(answered > 8, `${what}: ${answered} others were answered meanwhile`);
  }
});
