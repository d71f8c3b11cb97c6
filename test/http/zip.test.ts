import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { takeSendBuffers } from '../../src/lib/send-buffers.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { startServer, testSections } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { zipWith } from '../support/zips.ts';

test('a folder becomes a ZIP with full paths and exact length, without symbolic links', async (t) => {
  if (!hasProgram(t, 'python3') || !hasProgram(t, 'unzip')) return;
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd/empty'), { recursive: true });
  mkdirSync(join(server.home, 'd/s'));
  writeFileSync(join(server.home, 'd/a.txt'), 'hello');
  utimesSync(join(server.home, 'd/a.txt'), 1_700_000_000, 1_700_000_000);
  writeFileSync(join(server.home, 'd/s/ü 😀.txt'), 'unicode');
  writeFileSync(join(server.home, 'd/s/large'), Buffer.alloc(3_000_000, 'z'));
  writeFileSync(join(server.home, 'd/none'), '');
  symlinkSync('a.txt', join(server.home, 'd/link'));
  const reply = await server.get('/home/d/', { headers: { accept: 'application/zip' } });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['content-type'], 'application/zip');
  assert.equal(Number(reply.headers['content-length']), reply.body.length);
  assert.match(String(reply.headers['content-disposition']), /filename="d\.zip"/);
  const file = join(server.folder, 'x.zip');
  writeFileSync(file, reply.body);
  const zip = zipWith(file);
  assert.equal(zip.bad, null);
  assert.deepEqual(zip.names.toSorted(), ['d/a.txt', 'd/empty/', 'd/none', 'd/s/', 'd/s/large', 'd/s/ü 😀.txt']);
  assert.match(execFileSync('unzip', ['-t', file], { encoding: 'utf8' }), /No errors detected/);
  execFileSync('unzip', ['-q', file, '-d', join(server.folder, 'out')]);
  assert.equal(execFileSync('stat', ['-c', '%Y', join(server.folder, 'out/d/a.txt')], { encoding: 'utf8' }).trim(), '1700000000');
  assert.deepEqual((await server.eventIds()).slice(-2), [40016, 40025]);
  const whole = await server.send('HEAD', '/home/', { headers: { accept: 'application/zip' } });
  assert.match(String(whole.headers['content-disposition']), /filename="Files\.zip"/);
  const head = await server.send('HEAD', '/home/d/', { headers: { accept: 'application/zip' } });
  assert.equal(head.headers['content-length'], reply.headers['content-length']);
});

test('no member name leads out of the folder where Windows unpacks the archive', async (t) => {
  if (!hasProgram(t, 'python3')) return;
  const server = await startServer(t);
  const top = join(server.home, 'C:top');
  const unpacked: Record<string, string> = {
    '..\\..\\up.txt': '.._.._up.txt',
    'C:\\abs.txt': 'C__abs.txt',
    'c:rel.txt': 'c_rel.txt',
    'a\\b.txt': 'a_b (2).txt',
    'a_b.txt': 'a_b.txt',
    '\\\\host\\share': '__host_share',
    'x\\y/in.txt': 'x_y (3)/in.txt',
    'x_y (2)/in.txt': 'x_y (2)/in.txt',
    'x:y': 'x_y',
    'ab:c': 'ab:c',
    'z\\': 'z_ (2)',
    z_: 'z_',
    '.h\\': '.h_ (2)',
    '.h_': '.h_',
  };
  for (const name of Object.keys(unpacked)) {
    const path = join(top, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, name);
  }
  const contentsOf = (name: string, body: Buffer): Record<string, string> => {
    const path = join(server.folder, name);
    writeFileSync(path, body);
    const script =
      'import sys, zipfile, json; z = zipfile.ZipFile(sys.argv[1]); print(json.dumps([[n, z.read(n).decode()] for n in z.namelist() if not n.endswith("/")]))';
    const pairs = JSON.parse(execFileSync('python3', ['-c', script, path], { encoding: 'utf8' })) as [string, string][];
    assert.equal(new Set(pairs.map(([member]) => member)).size, pairs.length, 'each name occurs once');
    return Object.fromEntries(pairs.map(([member, content]) => [content, member]));
  };
  const whole = await server.get('/home/C:top/', { headers: { accept: 'application/zip' } });
  assert.equal(Number(whole.headers['content-length']), whole.body.length);
  assert.deepEqual(
    contentsOf('whole.zip', whole.body),
    Object.fromEntries(Object.entries(unpacked).map(([name, safe]) => [name, `C_top/${safe}`])),
  );
  const chosen = await server.send('POST', '/home/', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'action=download-members&selected-members=C%3Atop&selected-members=C%3Atop',
  });
  assert.equal(Number(chosen.headers['content-length']), chosen.body.length);
  assert.deepEqual(
    contentsOf('chosen.zip', chosen.body),
    Object.fromEntries(Object.entries(unpacked).map(([name, safe]) => [name, `C_top/${safe}`])),
  );
  writeFileSync(join(server.home, 'C_top'), 'taken');
  const both = await server.send('POST', '/home/', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'action=download-members&selected-members=C%3Atop&selected-members=C_top',
  });
  const { taken, ...others } = contentsOf('both.zip', both.body);
  assert.equal(taken, 'C_top');
  assert.ok(Object.values(others).every((name) => name.startsWith('C_top (2)/')));
});

test('members that the account may not read are left out of an archive', async (t) => {
  if (!hasProgram(t, 'python3')) return;
  const server = await startServer(t, {
    group: {
      permissions: [
        ['allow-read', 'allow-list'],
        ['*/secret*', 'deny-full-control'],
      ],
    },
  });
  for (const folder of ['d/secrets', 'd/open']) mkdirSync(join(server.home, folder), { recursive: true });
  for (const name of ['d/secret.txt', 'd/secrets/x', 'd/open/y']) writeFileSync(join(server.home, name), 'x');
  writeFileSync(join(server.folder, 'x.zip'), (await server.get('/home/d/', { headers: { accept: 'application/zip' } })).body);
  assert.deepEqual(zipWith(join(server.folder, 'x.zip')).names, ['d/open/', 'd/secrets/', 'd/open/y']);
});

test('a virtual folder hides a file of the same name in an archive, too', async (t) => {
  if (!hasProgram(t, 'unzip')) return;
  const elsewhere = join(temporaryFolder(t), 'file');
  writeFileSync(elsewhere, 'from elsewhere');
  const server = await startServer(t, { group: { virtual_folders: [['/v', elsewhere]] } });
  writeFileSync(join(server.home, 'v'), 'hidden by it!!');
  writeFileSync(join(server.home, 'w'), 'beside it');
  assert.equal((await server.get('/home/v')).text, 'from elsewhere');
  const reply = await server.send('POST', '/home/', {
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/zip' },
    body: 'action=download-members&selected-members=v&selected-members=w',
  });
  assert.equal(reply.status, 200);
  const file = join(server.folder, 'x.zip');
  writeFileSync(file, reply.body);
  assert.equal(execFileSync('unzip', ['-p', file, 'v'], { encoding: 'utf8' }), 'from elsewhere');
  assert.equal(execFileSync('unzip', ['-p', file, 'w'], { encoding: 'utf8' }), 'beside it');
});

test('a readable file in a folder that may only be traversed is in the archive', async (t) => {
  if (!hasProgram(t, 'unzip')) return;
  if (process.getuid?.() !== 0) return t.skip('needs root to start the server as another user');
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'home/passable'), { recursive: true });
  writeFileSync(join(folder, 'home/passable/file'), 'by its name');
  chmodSync(join(folder, 'home/passable'), 0o711);
  const config = await testSections(folder, { server: { data_folder_path: join(folder, 'data/d') } });
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config), { mode: 0o644 });
  mkdirSync(join(folder, 'data'));
  chownSync(join(folder, 'data'), 65534, 65534);
  chmodSync(folder, 0o755);
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder, uid: 65534 });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  assert.equal((await client.get('/home/passable/', { headers: { accept: 'application/json' } })).status, 403);
  const reply = await client.send('POST', '/home/passable/', {
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/zip' },
    body: 'action=download-members&selected-members=file',
  });
  assert.equal(reply.status, 200);
  const file = join(folder, 'x.zip');
  writeFileSync(file, reply.body);
  assert.equal(execFileSync('unzip', ['-p', file], { encoding: 'utf8' }), 'by its name');
});

test('files of sizes around every limit of the read buffers are archived unchanged', async (t) => {
  if (!hasProgram(t, 'unzip')) return;
  const server = await startServer(t);
  const sizes = [0, 1, 10_240, 131_071, 131_072, 131_073, 500_000, 1_048_575, 1_048_576, 1_048_577, 3_000_000, 0, 5];
  const content = (index: number) => Buffer.alloc(sizes[index % sizes.length] as number, `file ${index} `);
  for (const folder of ['a', 'a/b', 'c']) {
    mkdirSync(join(server.home, 'd', folder), { recursive: true });
    for (let index = 0; index < 40; index++) writeFileSync(join(server.home, 'd', folder, `${index}`), content(index));
  }
  const reply = await server.get('/home/d/', { headers: { accept: 'application/zip' } });
  assert.equal(Number(reply.headers['content-length']), reply.body.length);
  const file = join(server.folder, 'x.zip');
  writeFileSync(file, reply.body);
  execFileSync('unzip', ['-q', file, '-d', join(server.folder, 'out')]);
  for (const folder of ['a', 'a/b', 'c'])
    for (let index = 0; index < 40; index++)
      assert.ok(readFileSync(join(server.folder, 'out/d', folder, `${index}`)).equals(content(index)), `${folder}/${index}`);
  const held = Array.from({ length: 32 }, () => takeSendBuffers(false));
  try {
    const { pair } = takeSendBuffers(false);
    assert.ok(pair[0].length < 100_000, 'clients beyond the first have small buffers');
    const another = await server.get('/home/d/', { headers: { accept: 'application/zip' } });
    assert.ok(another.body.equals(reply.body), 'the archive is the same with small buffers');
  } finally {
    for (const buffers of held) buffers.release(true);
  }
});

for (const [what, swap] of [
  ['a symbolic link that leads outside', (path: string, outside: string) => symlinkSync(outside, path)],
  ['a shorter file', (path: string) => writeFileSync(path, 'short')],
  ['nothing', () => {}],
] as const) {
  test(`if a small file is replaced by ${what} while the archive is sent, the archive is cut, and no other content is sent`, async (t) => {
    const server = await startServer(t);
    const outside = join(server.folder, 'outside');
    writeFileSync(outside, 'not for you '.repeat(1000));
    mkdirSync(join(server.home, 'd'));
    for (let index = 100; index < 700; index++) writeFileSync(join(server.home, `d/${index}`), Buffer.alloc(100_000, 'x'));
    const victim = join(server.home, 'd/699');
    const incoming = await new Promise<IncomingMessage>((resolve) => {
      const url = new URL('/home/d/', server.url);
      request(url, { auth: testUser, headers: { accept: 'application/zip' } }, resolve).end();
    });
    unlinkSync(victim);
    swap(victim, outside);
    const chunks: Buffer[] = [];
    const failure = await new Promise<Error | undefined>((resolve) => {
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => resolve(undefined));
      incoming.on('error', resolve);
    });
    assert.match(String(failure), /aborted/);
    const body = Buffer.concat(chunks);
    assert.ok(body.length > 1_000_000 && body.length < Number(incoming.headers['content-length']), String(body.length));
    assert.equal(body.includes('not for you'), false);
    const ids = await server.eventIds();
    assert.deepEqual(
      [40016, 40041, 40025, 40003].map((id) => ids.filter((one) => one === id).length),
      [1, 1, 0, 0],
    );
    assert.equal((await server.get('/home/d/100')).status, 200);
  });
}
