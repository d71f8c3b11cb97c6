import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ProgramEnd, runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { allowSecrets } from '../support/secret-watch.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const bigBytes = 2 ** 26;

const awkward = [
  'a b.txt',
  'ü ñ 漢字.txt',
  '😀.bin',
  '100%.txt',
  "it's;&=+$,@!.txt",
  '#hash?.txt',
  '"quoted".txt',
  '..hidden',
  '-rf',
  'a%20b',
];

/** Configures rclone with a server's home folder as the remote `svc:`. */
async function rclone(t: TestContext, server: TestServer) {
  const cwd = temporaryFolder(t);
  const obscured = await runProgram('rclone', ['obscure', testPassword], { cwd });
  const env = {
    RCLONE_CONFIG: join(cwd, 'rclone.conf'),
    RCLONE_CONFIG_SVC_TYPE: 'webdav',
    RCLONE_CONFIG_SVC_URL: `${server.url}/home/`,
    RCLONE_CONFIG_SVC_VENDOR: 'owncloud',
    RCLONE_CONFIG_SVC_USER: 'alice',
    RCLONE_CONFIG_SVC_PASS: obscured.output.trim(),
  };
  return {
    cwd,
    async run(...args: string[]): Promise<ProgramEnd> {
      const end = await runProgram(
        'rclone',
        [...args, '--retries', '1', '--low-level-retries', '1', '--transfers', '8', '--checkers', '8'],
        { cwd, env, timeoutMs: 100_000 },
      );
      assert.equal(end.code, 0, `rclone ${args.join(' ')}: ${end.output}`);
      return end;
    },
  };
}

function plant(folder: string): number {
  mkdirSync(join(folder, 'sub/deep er'), { recursive: true });
  let count = 0;
  for (let index = 0; index < 60 - awkward.length - 1; index++, count++) {
    const path = join(folder, index % 3 === 0 ? 'sub' : index % 3 === 1 ? 'sub/deep er' : '', `file ${index}.txt`);
    writeFileSync(path, `content ${index}`);
    utimesSync(path, 1_600_000_000 + index, 1_600_000_000 + index);
  }
  for (const name of awkward) writeFileSync(join(folder, name), name);
  const block = Buffer.alloc(64 * 1024 * 1024, 'svc');
  for (let written = 0; written < bigBytes; written += block.length) appendFileSync(join(folder, 'big.bin'), block);
  return count + awkward.length + 1;
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

test('rclone copies, checks, syncs, moves and purges 60 files, and keeps their times', { timeout: 120_000 }, async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const server = await startServer(t);
  const { cwd, run } = await rclone(t, server);
  const local = join(cwd, 'local');
  mkdirSync(local);
  assert.equal(plant(local), 60);
  await run('copy', local, 'svc:there');
  const remote = join(server.home, 'there');
  const names = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  assert.deepEqual(names(remote), names(local));
  assert.equal(digest(join(remote, 'big.bin')), digest(join(local, 'big.bin')));
  assert.equal(Math.floor(statSync(join(remote, 'sub/file 0.txt')).mtimeMs), 1_600_000_000_000, 'X-OC-Mtime is kept');
  await run('check', local, 'svc:there');
  await run('check', '--download', join(local, 'sub'), 'svc:there/sub');

  writeFileSync(join(local, 'sub/file 0.txt'), 'changed content');
  const again = await run('sync', '-v', local, 'svc:there');
  assert.match(again.output, /file 0\.txt: Copied/);
  assert.equal(again.output.match(/: Copied/g)?.length, 1, 'only the changed file is sent again');
  await run('check', local, 'svc:there');

  await run('move', 'svc:there/sub', 'svc:moved');
  await run('copyto', 'svc:there/100%.txt', 'svc:there/100% again.txt');
  assert.equal(readFileSync(join(remote, '100% again.txt'), 'utf8'), '100%.txt');
  assert.deepEqual(names(join(server.home, 'moved')), names(join(local, 'sub')));
  await run('about', 'svc:');
  await run('purge', 'svc:there');
  assert.deepEqual(readdirSync(server.home), ['moved']);
  assert.ok(!(await server.eventIds()).includes(40003), 'no internal error');
});

test('the commands of cadaver work in one session', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'cadaver')) return;
  const server = await startServer(t);
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'local.txt'), 'from cadaver');
  const { hostname } = new URL(server.url);
  allowSecrets(t, /^\.netrc$/, 'cadaver reads the password there');
  writeFileSync(join(cwd, '.netrc'), `machine ${hostname}\nlogin alice\npassword ${testPassword}\n`, { mode: 0o600 });
  const commands = [
    'mkcol folder',
    'put local.txt',
    'copy local.txt copied.txt',
    'move copied.txt folder/moved.txt',
    'move folder/ other/',
    'cd other',
    'ls',
    'get moved.txt back.txt',
    'cd ..',
    'delete local.txt',
    'rmcol other',
    'mkcol last',
    'quit',
  ];
  const { output } = await runProgram('cadaver', [`${server.url}/home/`], { cwd, input: `${commands.join('\n')}\n` });
  assert.equal(readFileSync(join(cwd, 'back.txt'), 'utf8'), 'from cadaver', output);
  assert.match(output, /moved\.txt\s+12/);
  assert.deepEqual(readdirSync(server.home, { recursive: true }), ['last']);
});

test('PROPFIND, MKCOL, MOVE and COPY work with curl', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startServer(t);
  const cwd = temporaryFolder(t);
  const curl = async (...args: string[]) =>
    (await runProgram('curl', ['-s', '-o', 'body', '-w', '%{http_code}', '-u', testUser, ...args], { cwd })).output;
  assert.equal(await curl('-X', 'MKCOL', `${server.url}/home/d/`), '201');
  writeFileSync(join(cwd, 'f'), 'content');
  assert.equal(await curl('-T', 'f', `${server.url}/home/d/`), '201');
  assert.equal(await curl('-X', 'COPY', '-H', `Destination: ${server.url}/home/d/g`, `${server.url}/home/d/f`), '201');
  assert.equal(await curl('-X', 'MOVE', '-H', 'Destination: /home/e/', '--location', `${server.url}/home/d`), '201');
  assert.equal(await curl('-X', 'PROPFIND', '-H', 'Depth: 1', `${server.url}/home/e`), '207');
  assert.equal(readFileSync(join(cwd, 'body'), 'utf8').match(/<D:response>/g)?.length, 3);
});

test('the usual functions of the npm package webdav work', async (t) => {
  const server = await startServer(t);
  const { createClient } = await import('webdav');
  const client = createClient(`${server.url}/home`, { username: 'alice', password: testPassword });
  assert.equal(await client.exists('/d'), false);
  await client.createDirectory('/d');
  await client.createDirectory('/d/x/y', { recursive: true });
  for (const name of awkward) {
    assert.equal(await client.putFileContents(`/d/${name}`, name), true);
    assert.equal(await client.getFileContents(`/d/${name}`, { format: 'text' }), name);
  }
  assert.equal(await client.putFileContents('/d/a b.txt', 'other', { overwrite: false }), false);
  const listed = (await client.getDirectoryContents('/d')) as { basename: string; type: string; size: number; etag: string | null }[];
  assert.deepEqual(listed.map((item) => item.basename).toSorted(), [...awkward, 'x'].toSorted());
  assert.equal(listed.find((item) => item.basename === 'x')?.type, 'directory');
  const stat = (await client.stat('/d/a b.txt')) as { size: number; type: string; lastmod: string };
  assert.deepEqual([stat.size, stat.type], [7, 'file']);
  await client.copyFile('/d/a b.txt', '/d/copy ü.txt');
  await client.moveFile('/d/copy ü.txt', '/moved.txt');
  await client.moveFile('/d/', '/e/');
  assert.equal(readFileSync(join(server.home, 'moved.txt'), 'utf8'), 'a b.txt');
  await client.deleteFile('/e/');
  assert.deepEqual(readdirSync(server.home), ['moved.txt']);
});
