import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { zipWith } from '../support/zips.ts';

test('an archive with more than 65,535 members, which needs ZIP64, can be read', async (t) => {
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

test('an archive with a member over 4 GiB, which needs ZIP64, can be read, and is streamed with an exact length', async (t) => {
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
