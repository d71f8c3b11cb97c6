import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { type SshTestServer, startSsh } from '../support/ssh.ts';
import { tree } from '../support/tree.ts';

const large = randomBytes(1_500_000).toString('hex');

/** A small tree in the client's folder, `up`, with names of all kinds. */
function plantLocal(folder: string): Record<string, string> {
  const up = join(folder, 'up');
  mkdirSync(join(up, 'sub folder'), { recursive: true });
  for (const name of ['a', 'b #?%25&', 'ümlaut 😀', 'sub folder/x']) writeFileSync(join(up, name), `content of ${name}`);
  writeFileSync(join(up, 'large'), large);
  return tree(up);
}

/** Runs a client in its folder and wants it to succeed. */
async function succeeds(
  server: SshTestServer,
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { code, output } = await runProgram(program, args, { cwd: server.clientFolder, env });
  assert.equal(code, 0, `${program}: ${output}`);
  return output;
}

/** How programs that start `ssh` themselves have to call it. */
function sshCommand(server: SshTestServer): string[] {
  const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(server.clientFolder, 'known')}`, 'LogLevel=ERROR'];
  return ['ssh', '-F', '/dev/null', '-p', String(server.sshPort), '-i', server.key, ...options.flatMap((option) => ['-o', option])];
}

async function uploads(server: SshTestServer): Promise<unknown[]> {
  return (await server.events()).filter(({ id }) => id === '30068').map(({ data }) => data.path);
}

test('OpenSSH sftp: all that it can do', async (t) => {
  if (!hasProgram(t, 'sftp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  writeFileSync(join(server.clientFolder, 'part'), large.slice(0, 1_000_000));
  const batch = [
    'put -rp up',
    'get -rp up down',
    'mkdir made',
    'put up/a made/a',
    'chmod 600 made/a',
    'rename made/a made/b',
    'put part made/resumed',
    'put -a up/large made/resumed',
    '-rmdir made',
    'rm made/b',
    'ls -la made',
    'df',
    'pwd',
  ];
  const { code, output } = await server.openssh('sftp', ['-b', '-', 'alice@127.0.0.1'], { input: `${batch.join('\n')}\n` });
  assert.equal(code, 0, output);
  assert.match(output, /-rw-\S+ +1 alice +alice +3000000 .* resumed\n/);
  assert.deepEqual(tree(join(server.clientFolder, 'down')), planted);
  assert.deepEqual(tree(join(server.home, 'up')), planted);
  assert.deepEqual((await uploads(server)).length, Object.keys(planted).filter((path) => !path.endsWith('/')).length + 3);
  assert.equal(readFileSync(join(server.home, 'made/resumed'), 'utf8'), large);
});

test('scp: up, over an old file, down', async (t) => {
  if (!hasProgram(t, 'scp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  writeFileSync(join(server.home, 'a'), 'an old content that is longer than the new one');
  for (const args of [
    ['up/a', 'alice@127.0.0.1:a'],
    ['-rp', 'up', 'alice@127.0.0.1:'],
    ['-r', 'alice@127.0.0.1:up', 'down'],
  ]) {
    const { code, output } = await server.openssh('scp', ['-s', ...args]);
    assert.equal(code, 0, output);
  }
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), planted.a);
  assert.deepEqual(Object.keys(tree(join(server.home, 'up'))), Object.keys(planted));
  assert.deepEqual(tree(join(server.home, 'up')), planted);
  assert.deepEqual(tree(join(server.clientFolder, 'down')), planted);
  const old = await server.openssh('scp', ['-O', 'up/a', 'alice@127.0.0.1:o']);
  assert.notEqual(old.code, 0);
  assert.match(old.output, /takes no commands, only SFTP/);
});

test('rclone: copy, check with hashes, sync', async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const server = await startSsh(t, { checksum_commands: true });
  const planted = plantLocal(server.clientFolder);
  const config = `[svc]\ntype = sftp\nhost = 127.0.0.1\nport = ${server.sshPort}\nuser = alice\nkey_file = ${server.key}\n`;
  writeFileSync(join(server.clientFolder, 'rclone.conf'), config);
  const rclone = (...args: string[]) => succeeds(server, 'rclone', ['--config', 'rclone.conf', ...args]);
  await rclone('copy', 'up', 'svc:copied');
  assert.deepEqual(tree(join(server.home, 'copied')), planted);
  assert.match(await rclone('check', 'up', 'svc:copied'), /0 differences found/);
  assert.doesNotMatch(await rclone('check', 'up', 'svc:copied', '-v'), /could not be checked|hashes could not/);
  writeFileSync(join(server.clientFolder, 'up/a'), 'other content');
  await rclone('sync', 'up', 'svc:copied');
  assert.equal(readFileSync(join(server.home, 'copied/a'), 'utf8'), 'other content');
  await rclone('copy', 'svc:copied', 'down');
  assert.deepEqual(tree(join(server.clientFolder, 'down')), tree(join(server.clientFolder, 'up')));
});

test('lftp: mirror up and down', async (t) => {
  if (!hasProgram(t, 'lftp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  const connect = `set sftp:connect-program "${sshCommand(server).concat('-a', '-x').join(' ')}"`;
  await succeeds(server, 'lftp', [
    '-c',
    `${connect}; open sftp://alice:@127.0.0.1; mirror -R up up; mirror up down; mv up/a moved; rm moved`,
  ]);
  assert.deepEqual(tree(join(server.clientFolder, 'down')), planted);
  assert.equal(tree(join(server.home, 'up')).a, undefined);
});

test('curl: sftp:// up and down, with the older MACs that libssh2 has', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startSsh(t, { ssh_cipher_list: 'all' });
  const planted = plantLocal(server.clientFolder);
  const url = `sftp://127.0.0.1:${server.sshPort}`;
  const login = ['-sSk', '-u', 'alice:', '--key', server.key, '--pubkey', `${server.key}.pub`];
  await succeeds(server, 'curl', [...login, '-T', 'up/large', `${url}/large`]);
  await succeeds(server, 'curl', [...login, '-o', 'down', `${url}/large`]);
  assert.equal(readFileSync(join(server.clientFolder, 'down'), 'utf8'), large);
  assert.equal(readFileSync(join(server.home, 'large'), 'utf8'), planted.large);
});

test('psftp: up, down, renamed, removed', async (t) => {
  if (!hasProgram(t, 'psftp')) return;
  const server = await startSsh(t);
  plantLocal(server.clientFolder);
  writeFileSync(
    join(server.clientFolder, 'batch'),
    'put up/large large\nget large down\nren large other\nls\nmkdir d\nrmdir d\ndel other\n',
  );
  await server.openssh('sftp', ['-b', '-', 'alice@127.0.0.1'], { input: 'pwd\n' });
  const fingerprint = (await succeeds(server, 'ssh-keygen', ['-lf', 'known'])).split(' ')[1] as string;
  const args = ['-batch', '-hostkey', fingerprint, '-P', String(server.sshPort), '-pw', testPassword, '-b', 'batch', 'alice@127.0.0.1'];
  await succeeds(server, 'psftp', args);
  assert.equal(readFileSync(join(server.clientFolder, 'down'), 'utf8'), large);
  assert.deepEqual(tree(server.home), {});
});

/** Runs a script for Debian's Python, where the module is there. */
async function python(t: TestContext, server: SshTestServer, module: string, script: string): Promise<void> {
  const program = '/usr/bin/python3';
  const { code } = await runProgram(program, ['-c', `import ${module}`], { cwd: server.clientFolder });
  if (code !== 0) {
    if (process.env.CI === 'true') throw new Error(`python3-${module} is not installed, and under CI nothing may be skipped.`);
    console.log(`skipped: ${t.name}: python3-${module} is not installed`);
    t.skip(`python3-${module} is not installed`);
    return;
  }
  await succeeds(server, program, ['-W', 'ignore', '-c', script], { KEY: server.key, PORT: String(server.sshPort) });
}

test('paramiko: files, check, exclusive creation, posix_rename', async (t) => {
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  await python(
    t,
    server,
    'paramiko',
    `
import hashlib, os, paramiko
client = paramiko.SSHClient()
client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
client.connect('127.0.0.1', int(os.environ['PORT']), 'alice', key_filename=os.environ['KEY'], look_for_keys=False, allow_agent=False)
sftp = client.open_sftp()
sftp.put('up/large', 'large')
sftp.get('large', 'down')
content = open('up/large', 'rb').read()
assert open('down', 'rb').read() == content
with sftp.open('large') as file:
    assert file.check('sha256') == hashlib.sha256(content).digest()
    blocks = [content[at:at + 65536] for at in range(0, len(content), 65536)]
    assert file.check('md5', block_size=65536) == b''.join(hashlib.md5(block).digest() for block in blocks)
with sftp.open('new', 'wx') as file: file.write('x')
try:
    sftp.open('new', 'x')
    raise SystemExit('created twice')
except OSError: pass
with sftp.open('new', 'a') as file: file.write('y')
with sftp.open('new', 'r+') as file:
    file.seek(1)
    file.write('z')
    file.truncate(5)
    file.seek(0)
    assert file.read() == b'xz\\0\\0\\0', 'read while it is written'
sftp.posix_rename('new', 'large')
sftp.utime('large', (1, 2))
assert sftp.stat('large').st_mtime == 2
assert sftp.listdir() == ['large']
assert sftp.normalize('a/..') == '/'
`,
  );
  assert.deepEqual(Object.keys(tree(server.home)), ['large']);
  assert.ok(planted.large);
});

test('asyncssh: many files at once, statvfs, limits', async (t) => {
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  await python(
    t,
    server,
    'asyncssh',
    `
import asyncio, asyncssh, os
async def main():
    async with asyncssh.connect('127.0.0.1', int(os.environ['PORT']), username='alice', client_keys=[os.environ['KEY']], known_hosts=None, config=None) as client:
        async with client.start_sftp_client() as sftp:
            await sftp.put('up', recurse=True, preserve=True)
            await asyncio.gather(*(sftp.put('up/large', f'many{index}') for index in range(8)))
            await asyncio.gather(*(sftp.remove(f'many{index}') for index in range(8)))
            await sftp.get('up', 'down', recurse=True)
            assert (await sftp.statvfs('/')).bsize > 0
asyncio.run(main())
`,
  );
  assert.deepEqual(tree(join(server.clientFolder, 'down')), planted);
  assert.deepEqual(tree(join(server.home, 'up')), planted);
});

test('sshfs: git and SQLite work on a mounted folder', async (t) => {
  for (const program of ['sshfs', 'git', 'sqlite3']) if (!hasProgram(t, program)) return;
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    console.log(`skipped: ${t.name}: this machine lets nobody mount FUSE`);
    t.skip('no FUSE');
    return;
  }
  const server = await startSsh(t);
  const mount = join(server.clientFolder, 'mount');
  mkdirSync(mount);
  const options = `IdentityFile=${server.key},StrictHostKeyChecking=no,UserKnownHostsFile=${join(server.clientFolder, 'known')}`;
  await succeeds(server, 'sshfs', ['alice@127.0.0.1:/', mount, '-p', String(server.sshPort), '-o', options]);
  t.after(() => runProgram('fusermount', ['-u', mount], { cwd: '/' }));
  const script = `set -e
cd mount; mkdir work; cd work; git init -q .
git config user.email a@example.com; git config user.name A
for i in 1 2 3; do echo $i >> f; git add .; git commit -qm "$i"; done
git fsck; git gc -q; test -z "$(git status -s)"; git log --oneline | wc -l
echo a > h; echo b >> h; cat h
sqlite3 db 'create table t(a)'
for i in 1 2 3 4 5; do sqlite3 db "insert into t values($i)"; done
sqlite3 db 'select sum(a) from t; pragma integrity_check'`;
  assert.equal(await succeeds(server, 'bash', ['-c', script]), '3\na\nb\n15\nok\n');
});

test('restic: backup, and a check that reads all data', async (t) => {
  if (!hasProgram(t, 'restic')) return;
  const server = await startSsh(t);
  plantLocal(server.clientFolder);
  const command = `sftp.command=${sshCommand(server).join(' ')} alice@127.0.0.1 -s sftp`;
  const restic = (...args: string[]) =>
    succeeds(server, 'restic', ['-o', command, '-r', 'sftp:alice@127.0.0.1:/repository', ...args], {
      RESTIC_PASSWORD: 'of-this-test-only',
    });
  await restic('init', '-q');
  await restic('backup', '-q', 'up');
  assert.match(await restic('check', '--read-data'), /no errors were found/);
});

test('the server-path of an HTTP reply given to sftp gets the file, for odd names, too', async (t) => {
  if (!hasProgram(t, 'sftp')) return;
  const server = await startSsh(t);
  const names = [
    'plain',
    'with space',
    'a#b?c%20&d',
    'ümlaut 😀',
    "quote's",
    '"double"',
    'back\\slash',
    '*[a]?',
    '-dash',
    '%',
    'a;b|c$d`e`',
  ];
  for (const [index, name] of names.entries()) {
    const reply = await server.put(`/home/${encodeURIComponent(name)}`, `content ${index}`);
    assert.equal(reply.status, 201, name);
    const path = Buffer.from(String(reply.headers['server-path']), 'latin1').toString('utf8');
    const quoted = `"${path.replace(/[\\"]/g, '\\$&')}"`;
    const { code, output } = await server.openssh('sftp', ['-b', '-', 'alice@127.0.0.1'], { input: `get ${quoted} got${index}\n` });
    assert.equal(code, 0, output);
    assert.equal(readFileSync(join(server.clientFolder, `got${index}`), 'utf8'), `content ${index}`, name);
  }
});
