import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasProgram } from '../support/requires.ts';
import { startServer } from '../support/server.ts';

const readZip = `
import sys, zipfile, json
z = zipfile.ZipFile(sys.argv[1])
bad = z.testzip()
print(json.dumps({"bad": bad, "names": z.namelist(), "first": z.read(z.namelist()[0]).decode("utf8", "replace")[:80], "count": len(z.namelist())}))
`;

import { testUser } from '../support/secrets.ts';

function zipWith(path: string): { bad: string | null; names: string[]; count: number } {
  return JSON.parse(execFileSync('python3', ['-c', readZip, path], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
}

test('a folder comes as a ZIP with full paths, exact length, links left out', async (t) => {
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
  const head = await server.send('HEAD', '/home/d/', { headers: { accept: 'application/zip' } });
  assert.equal(head.headers['content-length'], reply.headers['content-length']);
});

test('what may not be read is left out', async (t) => {
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

test('more than 65,535 members need ZIP64', async (t) => {
  if (!hasProgram(t, 'python3') || !hasProgram(t, 'unzip')) return;
  const server = await startServer(t);
  for (let folder = 0; folder < 70; folder++) {
    mkdirSync(join(server.home, `d${folder}`));
    for (let file = 0; file < 1000; file++) writeFileSync(join(server.home, `d${folder}/f${file}`), `${folder} ${file}`);
  }
  const reply = await server.get('/home/', { headers: { accept: 'application/zip' } });
  assert.equal(Number(reply.headers['content-length']), reply.body.length);
  const file = join(server.folder, 'x.zip');
  writeFileSync(file, reply.body);
  const zip = zipWith(file);
  assert.deepEqual([zip.bad, zip.count], [null, 70_070]);
  assert.match(execFileSync('unzip', ['-tq', file], { encoding: 'utf8' }), /No errors detected/);
});

test('a member over 4 GiB needs ZIP64; the archive streams with an exact length', async (t) => {
  if (!hasProgram(t, 'python3') || !hasProgram(t, 'curl')) return;
  const server = await startServer(t);
  writeFileSync(join(server.home, 'big'), '');
  truncateSync(join(server.home, 'big'), 5 * 1024 ** 3);
  writeFileSync(join(server.home, 'small'), 'after the big one');
  const file = join(server.folder, 'big.zip');
  const script = `
import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
i = z.getinfo("big")
assert i.file_size == 5 * 1024 ** 3, i.file_size
f = z.open("big"); n = 0
while True:
    b = f.read(1 << 24)
    if not b: break
    n += len(b)
assert n == i.file_size
assert z.read("small") == b"after the big one"
print("ok", n)
`;
  const curl = spawn('curl', [
    '-sS',
    '-u',
    testUser,
    '-H',
    'Accept: application/zip',
    '-o',
    file,
    '-w',
    '%{size_download} %{header_json}',
    `${server.url}/home/`,
  ]);
  let printed = '';
  curl.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  assert.equal(await new Promise((resolve) => curl.on('close', resolve)), 0);
  const [size = '', json = ''] = [printed.slice(0, printed.indexOf(' ')), printed.slice(printed.indexOf(' '))];
  assert.equal(JSON.parse(json)['content-length'][0], size);
  assert.match(execFileSync('python3', ['-c', script, file], { encoding: 'utf8' }), /^ok 5368709120/);
});
