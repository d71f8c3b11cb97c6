import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';

/** The tree below a folder: files with their content, folders with a slash. */
function tree(folder: string, below = ''): Record<string, string> {
  const result: Record<string, string> = {};
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) Object.assign(result, { [`${path}/`]: '' }, tree(folder, path));
    else result[path] = readFileSync(join(folder, path), 'utf8');
  }
  return result;
}

function plant(server: TestServer, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    if (path.endsWith('/')) mkdirSync(join(server.home, path), { recursive: true });
    else writeFileSync(join(server.home, path), content);
  }
}

const start = { a: 'A', b: 'B', 'd/': '', 'd/x': 'X', 'd/sub/': '', 'd/sub/y': 'Y', 'e/': '', 'e/z': 'Z' };

interface Case {
  name: string;
  method: 'COPY' | 'MOVE';
  target: string;
  to: string;
  headers?: Record<string, string>;
  status: number;
  /** What changes in the tree: new content, or null for gone. */
  change?: Record<string, string | null>;
  events: number[];
}

const cases: Case[] = [
  { name: 'COPY to a free name', method: 'COPY', target: 'a', to: 'n', status: 201, change: { n: 'A' }, events: [40061] },
  { name: 'COPY over a file', method: 'COPY', target: 'a', to: 'b', status: 204, change: { b: 'A' }, events: [40061] },
  { name: 'COPY into a folder', method: 'COPY', target: 'a', to: 'd/n', status: 201, change: { 'd/n': 'A' }, events: [40061] },
  {
    name: 'COPY, Overwrite: F, free',
    method: 'COPY',
    target: 'a',
    to: 'n',
    headers: { overwrite: 'F' },
    status: 201,
    change: { n: 'A' },
    events: [40061],
  },
  { name: 'COPY, Overwrite: F, taken', method: 'COPY', target: 'a', to: 'b', headers: { overwrite: 'F' }, status: 412, events: [40067] },
  {
    name: 'COPY, Overwrite: T, taken',
    method: 'COPY',
    target: 'a',
    to: 'b',
    headers: { overwrite: 'T' },
    status: 204,
    change: { b: 'A' },
    events: [40061],
  },
  { name: 'COPY to itself', method: 'COPY', target: 'a', to: 'a', status: 403, events: [40067] },
  { name: 'COPY of nothing', method: 'COPY', target: 'none', to: 'n', status: 404, events: [40067] },
  { name: 'COPY of a folder', method: 'COPY', target: 'd/', to: 'n/', status: 403, events: [40067] },
  { name: 'COPY of a folder without its slash', method: 'COPY', target: 'd', to: 'n', status: 403, events: [40067] },
  { name: 'COPY without a parent', method: 'COPY', target: 'a', to: 'none/n', status: 409, events: [40067] },
  {
    name: 'COPY over a folder',
    method: 'COPY',
    target: 'a',
    to: 'e',
    status: 204,
    change: { 'e/': null, 'e/z': null, e: 'A' },
    events: [40061],
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
  { name: 'MOVE, Overwrite: F, taken', method: 'MOVE', target: 'a', to: 'b', headers: { overwrite: 'F' }, status: 412, events: [40056] },
  {
    name: 'MOVE, Overwrite: F, free',
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
  {
    name: 'MOVE of a folder over a folder',
    method: 'MOVE',
    target: 'd/',
    to: 'e/',
    status: 204,
    change: { 'd/': null, 'd/x': null, 'd/sub/': null, 'd/sub/y': null, 'e/z': null, 'e/x': 'X', 'e/sub/': '', 'e/sub/y': 'Y' },
    events: [40063, 40065],
  },
  {
    name: 'MOVE of a folder over a file',
    method: 'MOVE',
    target: 'e/',
    to: 'b',
    status: 204,
    change: { 'e/': null, 'e/z': null, b: null, 'b/': '', 'b/z': 'Z' },
    events: [40063, 40065],
  },
  {
    name: 'MOVE of a file over a folder',
    method: 'MOVE',
    target: 'a',
    to: 'e/',
    status: 204,
    change: { a: null, 'e/': null, 'e/z': null, e: 'A' },
    events: [40062, 40055],
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
  { name: 'MOVE of a file named as a folder', method: 'MOVE', target: 'a/', to: 'n/', status: 404, events: [40056] },
  { name: 'MOVE to a temporary name', method: 'MOVE', target: 'a', to: '.svc-0123456789abcdef01234567.part', status: 403, events: [40056] },
];

test('COPY and MOVE: status, headers, the tree afterwards, events', async (t) => {
  for (const { name, method, target, to, headers, status, change, events } of cases) {
    await t.test(name, async (sub) => {
      const server = await startServer(sub);
      plant(server, start);
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

test('events carry both ends', async (t) => {
  const server = await startServer(t);
  plant(server, start);
  await server.send('MOVE', '/home/d/x', { headers: { destination: '/home/d/new' } });
  const event = (await server.events()).find(({ id }) => id === '40055');
  assert.deepEqual(event?.data, {
    path: '/d/x',
    real_path: join(server.home, 'd/x'),
    file_name: 'x',
    directory_name: '/d',
    real_file_name: 'x',
    real_directory_name: join(server.home, 'd'),
    destination: '/d/new',
  });
});

test('Destination: absolute or a path, decoded once, on this host, inside /home/', async (t) => {
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
    `COPY /home/a HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Basic ${Buffer.from('alice:secret').toString('base64')}\r\nDestination: /home/x\r\nDestination: /home/y\r\n\r\n`,
  );
  assert.match(twice, /^HTTP\/1\.1 400 /);
});

test('Overwrite and Depth: what is no value of theirs is refused', async (t) => {
  const server = await startServer(t);
  plant(server, start);
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

test('virtual folders stay: not moved, not replaced, and a real place reached twice is one place', async (t) => {
  const first = await startServer(t);
  await first.stop();
  const { home } = first;
  for (const name of ['d/inner', 'plain']) mkdirSync(join(home, name), { recursive: true });
  const server = await startServer(t, {
    group: {
      home_folder_path: home,
      virtual_folders: [
        ['/v', join(home, 'd/inner')],
        ['/p/q', join(home, 'plain')],
      ],
    },
  });
  writeFileSync(join(home, 'f'), 'F');
  writeFileSync(join(home, 'd/inner/g'), 'G');
  const move = async (from: string, to: string) => (await server.send('MOVE', from, { headers: { destination: to } })).status;
  assert.equal(await move('/home/v/', '/home/n/'), 403, 'the root of a virtual folder');
  assert.equal(await move('/home/p/', '/home/n/'), 403, 'its parent');
  assert.equal(await move('/home/f', '/home/v'), 403, 'over a virtual folder');
  assert.equal(await move('/home/plain/', '/home/v/'), 403);
  assert.equal(await move('/home/f', '/home/p/n'), 403, 'where only virtual folders are');
  assert.equal(await move('/home/d/', '/home/n/'), 403, 'it holds what a virtual folder shows');
  assert.equal(await move('/home/d/', '/home/v/n/'), 403, 'into itself, by another way');
  assert.equal(await move('/home/v/g', '/home/d/inner/g'), 403, 'the same file, by another way');
  assert.equal((await server.send('COPY', '/home/v/g', { headers: { destination: '/home/d/inner/g' } })).status, 403);
  assert.equal(readFileSync(join(home, 'd/inner/g'), 'utf8'), 'G');
  assert.equal(await move('/home/v/g', '/home/p/q/g'), 201, 'between virtual folders');
  assert.equal(readFileSync(join(home, 'plain/g'), 'utf8'), 'G');
});

test('permissions on both ends', async (t) => {
  const all = [
    'allow-read',
    'allow-list',
    'allow-write',
    'allow-rename',
    'allow-delete-file',
    'allow-delete-folder',
    'allow-create-folder',
  ];
  const without = (...missing: string[]) => all.filter((keyword) => !missing.includes(keyword));
  const table: [string, string, string[], string[], number][] = [
    ['COPY', 'n', ['allow-read'], ['allow-write'], 201],
    ['COPY', 'n', without('allow-read'), all, 403],
    ['COPY', 'n', all, without('allow-write'), 403],
    ['COPY', 'taken', ['allow-read'], ['allow-write'], 204],
    ['MOVE', 'n', ['allow-rename'], ['allow-rename'], 201],
    ['MOVE', 'n', without('allow-rename'), all, 403],
    ['MOVE', 'n', all, without('allow-rename'), 403],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename', 'allow-write'], 204],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename', 'allow-delete-file'], 204],
    ['MOVE', 'taken', ['allow-rename'], ['allow-rename'], 403],
    ['MOVE', 'folder', ['allow-rename'], without('allow-delete-folder'), 403],
    ['MOVE', 'folder', ['allow-rename'], ['allow-rename', 'allow-delete-file', 'allow-delete-folder'], 204],
    ['COPY', 'folder', ['allow-read'], ['allow-write'], 403],
    ['COPY', 'folder', ['allow-read'], ['allow-write', 'allow-delete-file', 'allow-delete-folder'], 204],
  ];
  for (const [method, name, source, destination, status] of table) {
    const server = await startServer(t, { group: { permissions: [[], ['/from/*', ...source], ['/to/*', ...destination]] } });
    plant(server, { 'from/': '', 'from/a': 'A', 'to/': '', 'to/taken': 'old', 'to/folder/': '', 'to/folder/m': 'M' });
    const before = tree(server.home);
    const reply = await server.send(method, '/home/from/a', { headers: { destination: `/home/to/${name}` } });
    assert.equal(reply.status, status, `${method} ${name} ${source} -> ${destination}`);
    if (status === 403) assert.deepEqual(tree(server.home), before);
    else assert.equal(readFileSync(join(server.home, 'to', name), 'utf8'), 'A');
    await server.stop();
  }
});

test('a refusal tells nothing about what exists at either end', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['/secret/*', 'deny-full-control']] } });
  plant(server, { a: 'A', 'secret/': '', 'secret/there': 'S' });
  for (const method of ['COPY', 'MOVE']) {
    const texts = new Set<string>();
    for (const [from, to] of [
      ['secret/there', 'n'],
      ['secret/none', 'n'],
      ['a', 'secret/there'],
      ['a', 'secret/none'],
    ]) {
      const reply = await server.send(method, `/home/${from}`, { headers: { destination: `/home/${to}`, overwrite: 'F' } });
      assert.equal(reply.status, 403);
      texts.add(reply.text);
    }
    assert.equal(texts.size, 1);
  }
});

test('a folder with a member that must not be renamed, or would land where it must not, stays', async (t) => {
  const server = await startServer(t, {
    group: { permissions: [['allow-full-control'], ['*.keep', 'allow-read'], ['/e/deep/*', 'allow-read']] },
  });
  plant(server, { 'd/': '', 'd/sub/': '', 'd/sub/x.keep': 'K', 'f/': '', 'f/deep/': '', 'f/deep/y': 'Y' });
  const before = tree(server.home);
  for (const [from, to] of [
    ['d', 'n'],
    ['f', 'e'],
  ])
    assert.equal((await server.send('MOVE', `/home/${from}/`, { headers: { destination: `/home/${to}/` } })).status, 403);
  assert.deepEqual(tree(server.home), before);
});

test('If-Match, If-None-Match and dates hold for the source of COPY and MOVE', async (t) => {
  const server = await startServer(t);
  plant(server, start);
  utimesSync(join(server.home, 'a'), 1_700_000_000, 1_700_000_000);
  const etag = String((await server.get('/home/a')).headers.etag);
  for (const method of ['COPY', 'MOVE']) {
    const send = async (headers: Record<string, string>) =>
      (await server.send(method, '/home/a', { headers: { destination: '/home/n', ...headers } })).status;
    for (const headers of [
      { 'if-match': '"other"' },
      { 'if-match': `W/${etag}` },
      { 'if-none-match': etag },
      { 'if-none-match': '*' },
      { 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' },
      { if: '(["other"])' },
      { if: `(Not [${etag}])` },
      { if: '(<urn:uuid:none>)' },
    ])
      assert.equal(await send(headers), 412, JSON.stringify(headers));
    assert.equal(existsSync(join(server.home, 'n')), false);
    assert.equal(await send({ 'if-match': etag, if: `(["other"]) ([${etag}])` }), 201);
    if (method === 'COPY') await server.send('DELETE', '/home/n');
  }
});

test('COPY: its own time unless one is given; quota and size limits hold', async (t) => {
  const server = await startServer(t, { group: { quota_size: 25, file_write_size: 12 } });
  plant(server, { a: '0123456789' });
  utimesSync(join(server.home, 'a'), 1_500_000_000, 1_500_000_000);
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/b' } })).status, 201);
  assert.ok(statSync(join(server.home, 'b')).mtimeMs > 1_600_000_000_000);
  const timed = await server.send('COPY', '/home/a', { headers: { destination: '/home/b', 'x-oc-mtime': '1500000000' } });
  assert.deepEqual([timed.status, timed.headers['x-oc-mtime']], [204, 'accepted']);
  assert.equal(statSync(join(server.home, 'b')).mtimeMs, 1_500_000_000_000);
  assert.equal((await server.send('COPY', '/home/a', { headers: { destination: '/home/c' } })).status, 507);
  writeFileSync(join(server.home, 'big'), 'x'.repeat(13));
  assert.equal((await server.send('COPY', '/home/big', { headers: { destination: '/home/b' } })).status, 413);
  assert.deepEqual(tree(server.home), { a: '0123456789', b: '0123456789', big: 'x'.repeat(13) });
});

test('links: a link is moved itself; a copy has the content; two names of one file become one', async (t) => {
  const server = await startServer(t);
  plant(server, start);
  symlinkSync('a', join(server.home, 'link'));
  symlinkSync('/etc/hostname', join(server.home, 'out'));
  assert.equal((await server.send('COPY', '/home/link', { headers: { destination: '/home/copied' } })).status, 201);
  assert.equal(readFileSync(join(server.home, 'copied'), 'utf8'), 'A');
  assert.equal((await server.send('MOVE', '/home/link', { headers: { destination: '/home/link2' } })).status, 201);
  assert.equal((await server.get('/home/link2')).text, 'A');
  for (const method of ['COPY', 'MOVE'])
    assert.equal((await server.send(method, '/home/out', { headers: { destination: '/home/n' } })).status, 404, method);
  linkSync(join(server.home, 'b'), join(server.home, 'b2'));
  assert.equal((await server.send('MOVE', '/home/b', { headers: { destination: '/home/b2' } })).status, 204);
  assert.deepEqual([existsSync(join(server.home, 'b')), readFileSync(join(server.home, 'b2'), 'utf8')], [false, 'B']);
});

test('of many moves to one free name with Overwrite: F exactly one wins, and nothing is lost', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 12; index++) writeFileSync(join(server.home, `f${index}`), String(index));
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      server.send('MOVE', `/home/f${index}`, { headers: { destination: '/home/n', overwrite: 'F' } }),
    ),
  );
  assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
  assert.equal(readdirSync(server.home).length, 12);
});
