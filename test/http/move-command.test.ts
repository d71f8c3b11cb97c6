import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configFromObject } from '../../src/config/reading/load.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

interface Item {
  target: string;
  message: string | null;
}

const asForm = { 'content-type': 'application/x-www-form-urlencoded' };

test('files and folders are moved and copied to an absolute or a relative path; a taken name is an error of its target only', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in/folder'), { recursive: true });
  mkdirSync(join(server.home, '50% off/deep'), { recursive: true });
  for (const name of ['in/a', 'in/b', 'in/folder/c', '50% off/b']) writeFileSync(join(server.home, name), name);
  const moved = await server.commands('/home/in/', [
    { command: 'move', target: ['a', 'b', 'folder', 'missing'], destination: '/home/50% off' },
  ]);
  assert.equal(moved.status, 422);
  const { errors } = moved.json<{ errors: Item[] }>();
  assert.deepEqual(
    errors.map(({ target, message }) => [target, message]),
    [
      ['a', null],
      ['b', 'The name is taken at the destination.'],
      ['folder', null],
      ['missing', 'Path not found.'],
    ],
  );
  assert.deepEqual(readdirSync(join(server.home, '50% off')).sort(), ['a', 'b', 'deep', 'folder']);
  assert.equal(readFileSync(join(server.home, '50% off/b'), 'utf8'), '50% off/b', 'nothing is overwritten');

  const copied = await server.commands('/home/50% off/'.replace('%', '%25').replace(' ', '%20'), [
    { command: 'copy', target: 'a', destination: 'deep/' },
    { command: 'copy', target: 'folder', destination: 'deep' },
    { command: 'move', target: 'b', destination: 'nowhere' },
    { command: 'move', target: 'deep', destination: 'deep' },
    { command: 'copy', target: 'folder', destination: 'deep' },
  ]);
  assert.deepEqual(
    copied.json<{ errors: Item[] }>().errors.map(({ message }) => message === null),
    [true, true, false, false, false],
  );
  assert.deepEqual(readdirSync(join(server.home, '50% off/deep')), ['a', 'folder']);
  const replaced = await server.commands('/home/in/', [{ command: 'move', target: 'b', destination: '/home/50% off/', overwrite: true }]);
  assert.equal(replaced.status, 200, replaced.text);
  assert.equal(readFileSync(join(server.home, '50% off/b'), 'utf8'), 'in/b');
  const onFolder = await server.commands('/home/50%25%20off/', [{ command: 'move', target: 'a', destination: '/home/', overwrite: true }]);
  assert.equal(onFolder.status, 200);
  mkdirSync(join(server.home, 'in/a'));
  const refused = await server.commands('/home/', [{ command: 'move', target: 'a', destination: 'in', overwrite: true }]);
  assert.equal(refused.status, 422, 'a file never takes the place of a folder');
  const ids = await server.eventIds();
  for (const id of [40062, 40063, 40055, 40065, 40056, 40061, 40068, 40067]) assert.ok(ids.includes(id), `${id}`);
});

test('a request with one malformed destination is refused as a whole', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'a'), '');
  const good = { command: 'move', target: 'a', destination: 'd' };
  const bad = [
    { command: 'move', target: 'a' },
    { ...good, destination: 5 },
    { ...good, destination: '' },
    { ...good, destination: '/' },
    { ...good, destination: '/etc' },
    { ...good, destination: '../d' },
    { ...good, destination: 'd/./' },
    { ...good, destination: '/home/__svc__/' },
    { ...good, overwrite: 'yes' },
    { ...good, new_name: 5 },
    { ...good, target: ['a'], new_name: 'b' },
    { ...good, command: 'delete' },
    { ...good, more: 1 },
  ];
  for (const command of bad) {
    const reply = await server.commands('/home/', [good, command]);
    assert.equal(reply.status, 400, JSON.stringify(command));
  }
  assert.deepEqual(readdirSync(server.home).sort(), ['a', 'd']);
});

test('a single target can get a new name, also in its own folder, but no name that is taken or impossible', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd/inner'), { recursive: true });
  for (const name of ['a', 'b', 'd/a']) writeFileSync(join(server.home, name), name);
  const run = (command: string, target: string, destination: string, newName: string) =>
    server.commands('/home/', [{ command, target, destination, new_name: newName }]);
  assert.equal((await run('copy', 'a', '/home/', 'a (2)')).status, 200);
  assert.equal((await run('copy', 'd', '/home/', 'd (2)')).status, 200);
  assert.equal((await run('move', 'b', 'd', 'c')).status, 200);
  for (const name of ['a', 'x/y', '..', '', 'x\\y']) assert.equal((await run('move', 'a', 'd', name)).status, 422, name);
  const all = readdirSync(server.home, { recursive: true }).map(String);
  assert.deepEqual(all.sort(), ['a', 'a (2)', 'd', 'd (2)', 'd (2)/a', 'd (2)/inner', 'd/a', 'd/c', 'd/inner']);
});

test('forms can move and copy, too', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  for (const name of ['a', 'b', 'd/b']) writeFileSync(join(server.home, name), name);
  const send = (fields: string) => server.send('POST', '/home/', { headers: { ...asForm, accept: 'text/html' }, body: fields });
  const copied = await send('action=copy&selected-members=a&destination=d');
  assert.equal(copied.status, 303);
  assert.match(String(copied.headers['set-cookie']), /SVC_FLASH=copied-1/);
  assert.equal((await send('action=move&selected-members=b&destination=/home/d/')).status, 409);
  assert.equal((await send('action=move&selected-members=b&destination=d&overwrite=true')).status, 303);
  assert.equal((await send('action=move&selected-members=a')).status, 400);
  assert.deepEqual(readdirSync(server.home).sort(), ['a', 'd']);
  assert.deepEqual(readdirSync(join(server.home, 'd')).sort(), ['a', 'b']);
});

test('a client that accepts lines gets one line after each target; if the client leaves, the work continues', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
  for (const name of names) writeFileSync(join(server.home, name), '');
  const lines = { accept: 'application/x-ndjson, application/json' };
  const reply = await server.commands('/home/', [{ command: 'move', target: ['f0', 'gone', 'f1'], destination: 'd' }], { headers: lines });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['content-type'], 'application/x-ndjson');
  const items = reply.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Item);
  assert.deepEqual(items, [
    { target: 'f0', message: null },
    { target: 'gone', message: 'Path not found.', status: 404 },
    { target: 'f1', message: null },
  ]);
  assert.equal((await server.commands('/home/', [{ command: 'move' }], { headers: lines })).status, 400);
  assert.equal((await server.commands('/home/gone/', [{ command: 'delete', target: 'x' }], { headers: lines })).status, 404);

  const rest = names.slice(2);
  const gone = new AbortController();
  const authorization = `session ${await server.login()}`;
  const begun = await fetch(`${server.url}/home/`, {
    method: 'POST',
    headers: { ...lines, authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ commands: [{ command: 'move', target: rest, destination: 'd' }] }),
    signal: gone.signal,
  });
  await begun.body?.getReader().read();
  gone.abort();
  await until('all are moved', () => !rest.some((name) => existsSync(join(server.home, name))));
  assert.equal(readdirSync(join(server.home, 'd')).length, names.length);
});

test('with stop-when-gone, the work ends when the client leaves: between two targets, and within a folder', async (t) => {
  const server = await startServer(t);
  const authorization = `session ${await server.login()}`;
  /** Sends a command, and leaves after the first line. */
  const leave = async (command: object) => {
    const gone = new AbortController();
    const begun = await fetch(`${server.url}/home/`, {
      method: 'POST',
      headers: { accept: 'application/x-ndjson', authorization, 'content-type': 'application/json', prefer: 'stop-when-gone' },
      body: JSON.stringify({ commands: [command] }),
      signal: gone.signal,
    });
    await begun.body?.getReader().read();
    gone.abort();
  };
  const names = Array.from({ length: 3_000 }, (_, index) => `f${index}`);
  for (const name of names) writeFileSync(join(server.home, name), '');
  await leave({ command: 'delete', target: names });
  let left = names.length;
  let sameLooks = 0;
  await until('nothing is deleted any longer', () => {
    const now = readdirSync(server.home).length;
    sameLooks = now === left ? sameLooks + 1 : 0;
    left = now;
    return sameLooks === 5;
  });
  assert.ok(left > 0 && left < names.length, `${left} are left`);

  mkdirSync(join(server.home, 'full'));
  for (const name of names) writeFileSync(join(server.home, 'full', name), '');
  writeFileSync(join(server.home, 'first'), '');
  await leave({ command: 'delete', target: ['first', 'full', 'f2999'] });
  await until('the deletion has ended', async () => (await server.eventIds()).includes(40027));
  assert.ok(readdirSync(join(server.home, 'full')).length > 0, 'the rest of the folder is there');
  assert.ok(existsSync(join(server.home, 'f2999')), 'the target after the folder is there');
});

test('a trigger cannot have the name of a command', () => {
  for (const name of ['move', 'copy']) {
    const services = { web: { type: 'http', triggers: [`${name}, success`] } };
    assert.throws(() => configFromObject({ services }, '.'), /built-in/, name);
  }
});
