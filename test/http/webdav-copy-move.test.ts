import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { plant, smallTree, tree } from '../support/tree.ts';

interface Case {
  name: string;
  method: 'COPY' | 'MOVE';
  target: string;
  to: string;
  headers?: Record<string, string>;
  status: number;
  /** Changes in the tree: new content, or null if removed. */
  change?: Record<string, string | null>;
  events: number[];
}

const cases: Case[] = [
  { name: 'COPY to a free name', method: 'COPY', target: 'a', to: 'n', status: 201, change: { n: 'A' }, events: [40061, 40068] },
  { name: 'COPY over a file', method: 'COPY', target: 'a', to: 'b', status: 204, change: { b: 'A' }, events: [40061, 40068] },
  { name: 'COPY into a folder', method: 'COPY', target: 'a', to: 'd/n', status: 201, change: { 'd/n': 'A' }, events: [40061, 40068] },
  {
    name: 'COPY to a free name, Overwrite: F',
    method: 'COPY',
    target: 'a',
    to: 'n',
    headers: { overwrite: 'F' },
    status: 201,
    change: { n: 'A' },
    events: [40061, 40068],
  },
  {
    name: 'COPY over a file, Overwrite: F',
    method: 'COPY',
    target: 'a',
    to: 'b',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40067],
  },
  {
    name: 'COPY over a file, Overwrite: T',
    method: 'COPY',
    target: 'a',
    to: 'b',
    headers: { overwrite: 'T' },
    status: 204,
    change: { b: 'A' },
    events: [40061, 40068],
  },
  { name: 'COPY to itself', method: 'COPY', target: 'a', to: 'a', status: 403, events: [40067] },
  { name: 'COPY of nothing', method: 'COPY', target: 'none', to: 'n', status: 404, events: [40067] },
  { name: 'COPY of a folder', method: 'COPY', target: 'd/', to: 'n/', status: 403, events: [40067] },
  { name: 'COPY of a folder without its slash', method: 'COPY', target: 'd', to: 'n', status: 403, events: [40067] },
  { name: 'COPY without a parent', method: 'COPY', target: 'a', to: 'none/n', status: 409, events: [40067] },
  { name: 'COPY over a folder', method: 'COPY', target: 'a', to: 'e', status: 409, events: [40067] },
  {
    name: 'COPY over a folder, Overwrite: T',
    method: 'COPY',
    target: 'a',
    to: 'e',
    headers: { overwrite: 'T' },
    status: 409,
    events: [40067],
  },
  {
    name: 'COPY over a folder, Overwrite: F',
    method: 'COPY',
    target: 'a',
    to: 'e/',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40067],
  },
  { name: 'COPY of a file to the URL of a folder', method: 'COPY', target: 'a', to: 'n/', status: 409, events: [40067] },
  { name: 'COPY to itself, Overwrite: F', method: 'COPY', target: 'a', to: 'a', headers: { overwrite: 'F' }, status: 412, events: [40067] },
  {
    name: 'COPY of nothing, Overwrite: F',
    method: 'COPY',
    target: 'none',
    to: 'b',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40067],
  },
  {
    name: 'COPY of a folder, Overwrite: F',
    method: 'COPY',
    target: 'd/',
    to: 'e/',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40067],
  },
  { name: 'COPY onto the folder that holds it', method: 'COPY', target: 'd/x', to: 'd', status: 403, events: [40067] },
  { name: 'COPY below itself', method: 'COPY', target: 'a', to: 'a/n', status: 403, events: [40067] },
  { name: 'MOVE of a file', method: 'MOVE', target: 'a', to: 'n', status: 201, change: { a: null, n: 'A' }, events: [40062, 40055] },
  { name: 'MOVE over a file', method: 'MOVE', target: 'a', to: 'b', status: 204, change: { a: null, b: 'A' }, events: [40062, 40055] },
  {
    name: 'MOVE into a folder',
    method: 'MOVE',
    target: 'a',
    to: 'd/n',
    status: 201,
    change: { a: null, 'd/n': 'A' },
    events: [40062, 40055],
  },
  {
    name: 'MOVE over a file, Overwrite: F',
    method: 'MOVE',
    target: 'a',
    to: 'b',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40056],
  },
  {
    name: 'MOVE to a free name, Overwrite: F',
    method: 'MOVE',
    target: 'a',
    to: 'n',
    headers: { overwrite: 'F' },
    status: 201,
    change: { a: null, n: 'A' },
    events: [40062, 40055],
  },
  { name: 'MOVE to itself', method: 'MOVE', target: 'a', to: 'a', status: 403, events: [40056] },
  { name: 'MOVE of nothing', method: 'MOVE', target: 'none', to: 'n', status: 404, events: [40056] },
  { name: 'MOVE without a parent', method: 'MOVE', target: 'a', to: 'none/n', status: 409, events: [40056] },
  {
    name: 'MOVE of a folder',
    method: 'MOVE',
    target: 'd/',
    to: 'n/',
    status: 201,
    change: { 'd/': null, 'd/x': null, 'd/sub/': null, 'd/sub/y': null, 'n/': '', 'n/x': 'X', 'n/sub/': '', 'n/sub/y': 'Y' },
    events: [40063, 40065],
  },
  {
    name: 'MOVE of a folder, destination without slash',
    method: 'MOVE',
    target: 'e/',
    to: 'n',
    status: 201,
    change: { 'e/': null, 'e/z': null, 'n/': '', 'n/z': 'Z' },
    events: [40063, 40065],
  },
  { name: 'MOVE of a folder without its slash', method: 'MOVE', target: 'd', to: 'n', status: 307, events: [40056] },
  { name: 'MOVE of a folder over a folder', method: 'MOVE', target: 'd/', to: 'e/', status: 412, events: [40056] },
  { name: 'MOVE of a folder over a folder, no slash', method: 'MOVE', target: 'd/', to: 'e', status: 412, events: [40056] },
  {
    name: 'MOVE of a folder over a folder, Overwrite: T',
    method: 'MOVE',
    target: 'd/',
    to: 'e/',
    headers: { overwrite: 'T' },
    status: 204,
    change: { 'd/': null, 'd/x': null, 'd/sub/': null, 'd/sub/y': null, 'e/z': null, 'e/x': 'X', 'e/sub/': '', 'e/sub/y': 'Y' },
    events: [40063, 40026, 40065],
  },
  { name: 'MOVE of a folder over a file', method: 'MOVE', target: 'e/', to: 'b', status: 409, events: [40056] },
  {
    name: 'MOVE of a folder over a file, Overwrite: T',
    method: 'MOVE',
    target: 'e/',
    to: 'b',
    headers: { overwrite: 'T' },
    status: 409,
    events: [40056],
  },
  { name: 'MOVE of a file over a folder', method: 'MOVE', target: 'a', to: 'e', status: 409, events: [40056] },
  {
    name: 'MOVE of a file over a folder, Overwrite: T',
    method: 'MOVE',
    target: 'a',
    to: 'e',
    headers: { overwrite: 'T' },
    status: 409,
    events: [40056],
  },
  { name: 'MOVE of a file to the URL of a folder', method: 'MOVE', target: 'a', to: 'e/', status: 409, events: [40056] },
  { name: 'MOVE of a file to the URL of a free folder', method: 'MOVE', target: 'a', to: 'n/', status: 409, events: [40056] },
  {
    name: 'MOVE into itself, Overwrite: F',
    method: 'MOVE',
    target: 'd/',
    to: 'd/sub/',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40056],
  },
  {
    name: 'MOVE of a folder over a folder, Overwrite: F',
    method: 'MOVE',
    target: 'd/',
    to: 'e/',
    headers: { overwrite: 'F' },
    status: 412,
    events: [40056],
  },
  { name: 'MOVE of a folder into itself', method: 'MOVE', target: 'd/', to: 'd/sub/d/', status: 403, events: [40056] },
  { name: 'MOVE of a folder to itself', method: 'MOVE', target: 'd/', to: 'd', status: 403, events: [40056] },
  { name: 'MOVE of a folder onto its parent', method: 'MOVE', target: 'd/sub/', to: 'd/', status: 403, events: [40056] },
  { name: 'MOVE of the home folder', method: 'MOVE', target: '', to: 'n/', status: 403, events: [40056] },
  { name: 'MOVE onto the home folder', method: 'MOVE', target: 'd/', to: '', status: 403, events: [40056] },
  { name: 'MOVE of a file by the URL of a folder', method: 'MOVE', target: 'a/', to: 'n/', status: 404, events: [40056] },
  { name: 'MOVE to a temporary name', method: 'MOVE', target: 'a', to: '.svc-0123456789abcdef01234567.part', status: 403, events: [40056] },
];

test('COPY and MOVE have the expected status, headers, tree and events in each case', async (t) => {
  for (const { name, method, target, to, headers, status, change, events } of cases) {
    await t.test(name, async (sub) => {
      const server = await startServer(sub);
      plant(server, smallTree);
      const before = tree(server.home);
      const reply = await server.send(method, `/home/${target}`, { headers: { destination: `/home/${to}`, ...headers } });
      assert.equal(reply.status, status, reply.text);
      if (status === 201) assert.equal(reply.headers.location?.replace(/\/$/, ''), `/home/${to}`.replace(/\/$/, ''));
      if (status === 403) assert.match(reply.json<{ errors: [{ message: string }] }>().errors[0].message, /\w+ /);
      assert.equal(reply.headers['server-path'], `/${target}`.replace(/(.)\/$/, '$1'));
      const expected: Record<string, string> = { ...before };
      for (const [path, content] of Object.entries(change ?? {})) {
        if (content === null) delete expected[path];
        else expected[path] = content;
      }
      assert.deepEqual(tree(server.home), expected);
      assert.deepEqual(await server.eventIds(), events);
    });
  }
});

test('the event of a MOVE has source and destination', async (t) => {
  const server = await startServer(t);
  plant(server, smallTree);
  await server.send('MOVE', '/home/d/x', { headers: { destination: '/home/d/new' } });
  const event = (await server.events()).find(({ id }) => id === '40055');
  const { request_id, ...data } = event?.data ?? {};
  assert.match(String(request_id), /^[\w-]{8,}$/);
  assert.deepEqual(data, {
    path: '/d/x',
    real_path: join(server.home, 'd/x'),
    file_name: 'x',
    directory_name: '/d',
    real_file_name: 'x',
    real_directory_name: join(server.home, 'd'),
    destination: '/d/new',
  });
});

test('the event of a change says that it replaced an item; a replaced folder also has an event of its removal', async (t) => {
  const server = await startServer(t);
  plant(server, smallTree);
  const to = (destination: string) => ({ headers: { destination: `/home/${destination}`, overwrite: 'T' } });
  await server.put('/home/new', 'N');
  await server.put('/home/new', 'M');
  await server.send('COPY', '/home/a', to('c'));
  await server.send('COPY', '/home/a', to('c'));
  await server.send('MOVE', '/home/a', to('m'));
  await server.send('MOVE', '/home/m', to('b'));
  await server.send('MOVE', '/home/d/', to('f/'));
  await server.send('MOVE', '/home/e/', to('f/'));
  const changes = ['40017', '40026', '40055', '40065', '40068'];
  const told = (await server.events()).filter(({ id }) => changes.includes(id));
  assert.deepEqual(
    told.map(({ id, data }) => [id, data.path, data.destination, data.replaced]),
    [
      ['40017', '/new', undefined, undefined],
      ['40017', '/new', undefined, true],
      ['40068', '/a', '/c', undefined],
      ['40068', '/a', '/c', true],
      ['40055', '/a', '/m', undefined],
      ['40055', '/m', '/b', true],
      ['40065', '/d', '/f', undefined],
      ['40026', '/f', undefined, undefined],
      ['40065', '/e', '/f', true],
    ],
  );
});

test('with webdav_compatibility, files and folders may replace each other; folders are replaced only with Overwrite: T', async (t) => {
  const server = await startServer(t, { service: { webdav_compatibility: true } });
  const status = async (method: string, from: string, destination: string, overwrite?: string) => {
    plant(server, smallTree);
    const headers = { destination: `/home/${destination}`, ...(overwrite === undefined ? {} : { overwrite }) };
    return (await server.send(method, `/home/${from}`, { headers })).status;
  };
  for (const method of ['COPY', 'MOVE']) {
    assert.equal(await status(method, 'a', 'e'), 412, method);
    assert.equal(await status(method, 'a', 'e', 'F'), 412, method);
    assert.equal(await status(method, 'a', 'free/'), 201, method);
    rmSync(join(server.home, 'free'));
  }
  assert.equal(await status('MOVE', 'd/', 'e/'), 412);
  assert.deepEqual(tree(server.home), smallTree);
  for (const method of ['COPY', 'MOVE']) {
    assert.equal(await status(method, 'a', 'e', 'T'), 204, method);
    assert.equal(tree(server.home).e, 'A', method);
    rmSync(join(server.home, 'e'));
  }
  assert.equal(await status('MOVE', 'd/', 'b', 'T'), 204);
  assert.equal(tree(server.home)['b/x'], 'X');
  const ids = await server.eventIds();
  assert.equal(ids.filter((id) => id === 40026).length, 2);
});

test('Destination may be a URL or a path, is decoded once, and must be on this host and inside /home/', async (t) => {
  const server = await startServer(t);
  const { host } = new URL(server.url);
  const outcome = async (destination: string | undefined, headers: Record<string, string> = {}) => {
    writeFileSync(join(server.home, 'a'), 'A');
    const reply = await server.send('COPY', '/home/a', { headers: { ...(destination === undefined ? {} : { destination }), ...headers } });
    return reply.status;
  };
  const table: [string | undefined, number][] = [
    [undefined, 400],
    ['', 400],
    ['/home/p', 201],
    [`http://${host}/home/q`, 201],
    [`HTTP://${host}/home/q1`, 201],
    [`https://${host}/home/r`, 201],
    [`http://alice@${host}/home/s`, 201],
    ['http://elsewhere.example/home/n', 502],
    ['http://elsewhere.example:80/home/n', 502],
    [`http://${host}.elsewhere.example/home/n`, 502],
    [`http://${host}@elsewhere.example/home/n`, 502],
    [`ftp://${host}/home/n`, 502],
    ['http://', 400],
    ['http:///home/n', 400],
    ['http://:80/home/n', 400],
    ['https://alice@/home/n', 400],
    ['//elsewhere.example/home/n', 400],
    ['home/n', 400],
    ['n', 400],
    ['/', 403],
    ['/home', 403],
    ['/home/', 403],
    ['/etc/passwd', 403],
    ['/homes/n', 403],
    ['/__svc__/login', 403],
    ['/home/__svc__/n', 403],
    [`http://${host}`, 403],
    ['/home/../n', 400],
    ['/home/%2e%2e/n', 400],
    ['/home/d/../n', 400],
    ['/home/a%2fb', 400],
    ['/home/n%00', 400],
    ['/home/n%zz', 400],
    ['/home/n%ff', 400],
    ['/home/n#f', 400],
    ['/home/n?q=1', 400],
    ['/home/%252e%252e', 201],
    ['/home/%2561', 201],
    ['/home/%C3%BC', 201],
    [Buffer.from('/home/raw-ü b').toString('latin1'), 201],
  ];
  for (const [destination, status] of table) assert.equal(await outcome(destination), status, String(destination));
  assert.deepEqual(readdirSync(server.home).toSorted(), ['%2e%2e', '%61', 'a', 'p', 'q', 'q1', 'r', 'raw-ü b', 's', 'ü'].toSorted());
  const twice = await server.raw(
    `COPY /home/a HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${testBasic}\r\nDestination: /home/x\r\nDestination: /home/y\r\n\r\n`,
  );
  assert.match(twice, /^HTTP\/1\.1 400 /);
});

test('Overwrite and Depth: invalid values are refused', async (t) => {
  const server = await startServer(t);
  plant(server, smallTree);
  for (const overwrite of ['X', 'true', 'TF', 't', '']) {
    const reply = await server.send('MOVE', '/home/a', { headers: { destination: '/home/n', overwrite } });
    assert.equal(reply.status, 400, overwrite);
  }
  for (const [method, target, depth] of [
    ['MOVE', '/home/d/', '0'],
    ['MOVE', '/home/d/', '1'],
    ['MOVE', '/home/a', 'x'],
    ['COPY', '/home/a', '1'],
  ] as const)
    assert.equal((await server.send(method, target, { headers: { destination: '/home/n', depth } })).status, 400, `${method} ${depth}`);
  assert.equal((await server.send('MOVE', '/home/d/', { headers: { destination: '/home/n/', depth: 'infinity' } })).status, 201);
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/c', depth: '0' } })).status, 201);
});
