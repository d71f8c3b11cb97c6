import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { allowSecrets } from '../support/secret-watch.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Returns whether a mount is possible. It needs root and a FUSE device, which many containers do not have. */
function canMount(t: TestContext): boolean {
  let reason = process.getuid?.() === 0 ? '' : 'mounting needs root';
  try {
    closeSync(openSync('/dev/fuse', 'r+'));
  } catch {
    reason = 'there is no FUSE device';
  }
  if (reason === '') return true;
  console.log(`skipped: ${t.name}: ${reason}`);
  t.skip(reason);
  return false;
}

test('davfs2: files are written, read, renamed and removed through a mount', { timeout: 60_000 }, async (t) => {
  if (!canMount(t) || !hasProgram(t, 'mount.davfs')) return;
  const server = await startServer(t);
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const [mount, cache, secrets, conf] = ['mnt', 'cache', 'secrets', 'davfs2.conf'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  mkdirSync(mount);
  mkdirSync(cache);
  // davfs2 gives up root and runs as its own user, which must be able to write to the cache.
  chmodSync(cache, 0o777);
  const url = `${server.url}/home/`;
  writeFileSync(conf, `use_locks 0\nask_auth 0\ndelay_upload 0\ncache_dir ${cache}\nsecrets ${secrets}\n`);
  allowSecrets(t, /^secrets$/, 'davfs2 reads the password there');
  writeFileSync(secrets, `${url} alice ${testPassword}\n`, { mode: 0o600 });
  const run = (command: string, ...args: string[]) =>
    new Promise<number | null>((resolve) => spawn(command, args, { stdio: 'ignore', timeout: 20_000 }).on('close', resolve));
  assert.equal(await run('mount.davfs', url, mount, '-o', `conf=${conf}`), 0, 'the mount succeeds');
  t.after(() => existsSync(join(mount, 'in')) && execFileSync('umount', ['-l', mount], { stdio: 'ignore' }));
  assert.equal(await run('sh', '-c', `cd ${mount} && mkdir in && echo hello > a.txt && cp a.txt in/b.txt && mv a.txt 'in/ü c.txt'`), 0);
  assert.equal(await run('sh', '-c', `cd ${mount} && test "$(cat 'in/ü c.txt')" = hello && rm in/b.txt`), 0);
  assert.equal(await run('umount', mount), 0, 'the unmount succeeds, after everything was written back');
  await until('the file is there', () => existsSync(join(server.home, 'in/ü c.txt')));
  assert.equal(readFileSync(join(server.home, 'in/ü c.txt'), 'utf8'), 'hello\n');
  assert.deepEqual(await server.names('/home/in/'), ['ü c.txt']);
  const ids = await server.eventIds();
  for (const id of [40010, 40017, 40055, 40012]) assert.ok(ids.includes(id), String(id));
});
