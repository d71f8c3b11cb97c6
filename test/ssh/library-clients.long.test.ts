import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/receiver.ts';
import { hasPackage, hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { installedPackage, makeOpensshKey, type SshTestServer, startSsh, tryLogins } from '../support/ssh.ts';
import { digestTree, large, plantLocal, sshCommand, succeeds } from '../support/ssh-clients.ts';
import { temporaryFolder } from '../support/temp.ts';

const pythonModules = '/usr/lib/python3/dist-packages';

/** Runs a script with Debian's Python. */
async function python(server: SshTestServer, script: string): Promise<void> {
  await succeeds(server, '/usr/bin/python3', ['-W', 'ignore', '-c', script], { KEY: server.key, PORT: String(server.sshPort) });
}

test('paramiko transfers and checks files, creates one exclusively, and renames by posix_rename', async (t) => {
  if (!hasPackage(t, 'python3-paramiko', `${pythonModules}/paramiko`)) return;
  const server = await startSsh(t);
  plantLocal(server.clientFolder);
  await python(
    server,
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
  assert.deepEqual(Object.keys(digestTree(server.home)), ['large']);
});

test('asyncssh transfers many files concurrently, and gets statvfs and limits', async (t) => {
  if (!hasPackage(t, 'python3-asyncssh', `${pythonModules}/asyncssh`)) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  await python(
    server,
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
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
  assert.deepEqual(digestTree(join(server.home, 'up')), planted);
});

test('Net::SFTP::Foreign transfers trees, resumes uploads, uploads atomically, and writes at any offset', async (t) => {
  if (!hasProgram(t, 'perl') || !hasPackage(t, 'libnet-sftp-foreign-perl', '/usr/share/perl5/Net/SFTP/Foreign.pm')) return;
  const server = await startSsh(t);
  plantLocal(server.clientFolder);
  // The library takes local names as bytes and remote names as text. So the file whose name is not ASCII is left out.
  rmSync(join(server.clientFolder, 'up/ümlaut 😀'));
  const planted = digestTree(join(server.clientFolder, 'up'));
  writeFileSync(join(server.home, 'resumed'), large.slice(0, 200_000));
  const script = `
use strict; use warnings; use Fcntl qw(SEEK_SET); use Net::SFTP::Foreign; use Net::SFTP::Foreign::Constants qw(:flags);
my $sftp = Net::SFTP::Foreign->new(open2_cmd => [@ARGV, 'alice@127.0.0.1', '-s', 'sftp'], autodie => 1);
$sftp->rput('up', 'up');
$sftp->rget('up', 'down');
$sftp->put('up/large', 'resumed', resume => 1);
$sftp->put('up/large', 'up/a', atomic => 1);
my $file = $sftp->open('anywhere', SSH2_FXF_READ | SSH2_FXF_WRITE | SSH2_FXF_CREAT);
print $file 'a' x 100_000;
seek $file, 50_000, SEEK_SET;
print $file 'b';
seek $file, 49_999, SEEK_SET;
read $file, my $read, 3;
die "read $read" unless $read eq 'aba';
close $file;
$sftp->rename('anywhere', 'resumed', overwrite => 1);
$sftp->mkpath('one/two');
print join ' ', map { $_->{filename} } @{$sftp->ls('.', ordered => 1, no_wanted => qr/^\\.\\.?$/)};
$sftp->rremove('one');
die 'space' unless $sftp->statvfs('/')->{bsize} > 0;
`;
  assert.equal(await succeeds(server, 'perl', ['-e', script, ...sshCommand(server)]), 'one resumed up');
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
  assert.deepEqual(digestTree(join(server.home, 'up')), { ...planted, a: planted.large });
  assert.equal(readFileSync(join(server.home, 'resumed'), 'utf8'), `${'a'.repeat(50_000)}b${'a'.repeat(49_999)}`);
});

type Done<T = unknown> = (error: Error | null | undefined, result: T) => void;

interface SftpOfSsh2 {
  fastPut(from: string, to: string, done: Done): void;
  fastGet(from: string, to: string, done: Done): void;
  readdir(path: string, done: Done<{ filename: string; longname: string; attrs: { size: number } }[]>): void;
  rename(from: string, to: string, done: Done): void;
  ext_openssh_rename(from: string, to: string, done: Done): void;
  ext_openssh_fsync(handle: Buffer, done: Done): void;
  open(path: string, flags: string, done: Done<Buffer>): void;
  write(handle: Buffer, data: Buffer, offset: number, length: number, position: number, done: Done): void;
  read(handle: Buffer, data: Buffer, offset: number, length: number, position: number, done: Done): void;
  close(handle: Buffer, done: Done): void;
  unlink(path: string, done: Done): void;
}

function promised<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => call((error, result) => (error ? reject(error) : resolve(result))));
}

test('ssh2 transfers files in pieces, writes at any offset, and renames by RENAME and posix-rename', async (t) => {
  const server = await startSsh(t);
  const local = (name: string) => join(server.clientFolder, name);
  plantLocal(server.clientFolder);
  const { client } = await tryLogins(t, server.sshPort, [{ type: 'password', username: 'alice', password: testPassword }]);
  const sftp = await promised<SftpOfSsh2>((done) => (client as unknown as { sftp(done: Done<SftpOfSsh2>): void }).sftp(done));
  await promised((done) => sftp.fastPut(local('up/large'), 'large', done));
  await promised((done) => sftp.fastGet('large', local('down'), done));
  assert.equal(readFileSync(local('down'), 'utf8'), large);
  const handle = await promised<Buffer>((done) => sftp.open('large', 'r+', done));
  for (const at of [500_000, 0, 250_000, 599_999]) await promised((done) => sftp.write(handle, Buffer.from('X'), 0, 1, at, done));
  await promised((done) => sftp.ext_openssh_fsync(handle, done));
  const piece = Buffer.alloc(3);
  await promised((done) => sftp.read(handle, piece, 0, 3, 249_999, done));
  assert.equal(piece[1], 'X'.charCodeAt(0));
  assert.equal(readFileSync(join(server.home, 'large'), 'utf8'), large, 'others see the old file until it is closed');
  await promised((done) => sftp.close(handle, done));
  const written = [...large];
  for (const at of [500_000, 0, 250_000, 599_999]) written[at] = 'X';
  assert.equal(readFileSync(join(server.home, 'large'), 'utf8'), written.join(''));
  await promised((done) => sftp.fastPut(local('up/a'), 'a', done));
  await assert.rejects(
    promised((done) => sftp.rename('a', 'large', done)),
    /exist/i,
  );
  await promised((done) => sftp.ext_openssh_rename('a', 'large', done));
  const [entry, ...others] = await promised<{ filename: string; attrs: { size: number } }[]>((done) => sftp.readdir('.', done));
  assert.deepEqual([entry?.filename, entry?.attrs.size, others.length], ['large', 'content of a'.length, 0]);
  await promised((done) => sftp.unlink('large', done));
  assert.deepEqual(digestTree(server.home), {});
});

test('russh exchanges keys with ML-KEM, and transfers files', async (t) => {
  const server = await startSsh(t);
  const { KeyPair, OPEN_CREATE, OPEN_READ, OPEN_TRUNCATE, OPEN_WRITE, SSHClient, SshTransport } =
    installedPackage<typeof import('russh')>('russh');
  const client = await SSHClient.connect(await SshTransport.newSocket(`127.0.0.1:${server.sshPort}`), async () => true, {
    preferred: { kex: ['mlkem768x25519-sha256'] },
  });
  const login = await client.authenticateWithKeyPair('alice', await KeyPair.parse(readFileSync(server.key, 'utf8')), null);
  assert.ok('openSessionChannel' in login);
  const sftp = await login.activateSFTP(await login.openSessionChannel());
  await sftp.createDirectory('d');
  const upload = await sftp.open('d/large', OPEN_WRITE | OPEN_CREATE | OPEN_TRUNCATE);
  await upload.writeAll(Buffer.from(large));
  await upload.shutdown();
  await sftp.rename('d/large', 'd/other');
  assert.deepEqual(
    (await sftp.readDirectory('d')).map(({ name, metadata }) => [name, metadata.size]),
    [['other', large.length]],
  );
  const download = await sftp.open('d/other', OPEN_READ);
  const pieces: Uint8Array[] = [];
  do pieces.push(await download.read(100_000));
  while (pieces.at(-1)?.length);
  await download.shutdown();
  assert.equal(Buffer.concat(pieces).toString(), large);
  await sftp.removeFile('d/other');
  await sftp.removeDirectory('d');
  assert.deepEqual(digestTree(server.home), {});
  await login.disconnect();
  await until('the connection ended', async () => (await server.events()).some(({ id }) => id === '30015'));
  const ended = (await server.events()).find(({ id }) => id === '30015');
  assert.match(JSON.stringify(ended?.data.algorithms), /"kex":"mlkem768x25519-sha256"/);
});

test('JSch works with its older algorithms, and resumes and appends uploads', async (t) => {
  if (!hasProgram(t, 'java') || !hasProgram(t, 'ssh-keygen')) return;
  const [jsch, rhino] = ['/usr/share/java/jsch.jar', '/usr/share/java/rhino.jar'];
  if (!hasPackage(t, 'libjsch-java', jsch) || !hasPackage(t, 'librhino-java', rhino)) return;
  const keys = temporaryFolder(t);
  const hostKey = await makeOpensshKey(keys, 'ecdsa', '-t', 'ecdsa', '-b', '256');
  const server = await startSsh(t, { ssh_cipher_list: 'all', host_key_paths: [hostKey] });
  const planted = plantLocal(server.clientFolder);
  writeFileSync(join(server.home, 'resumed'), large.slice(0, 200_000));
  const script = `
importPackage(com.jcraft.jsch);
var session = new JSch().getSession('alice', '127.0.0.1', ${server.sshPort});
session.setPassword(java.lang.System.getenv('TEST_PASSWORD'));
session.setConfig('StrictHostKeyChecking', 'no');
session.connect();
var sftp = session.openChannel('sftp');
sftp.connect();
sftp.lcd('${server.clientFolder}');
sftp.mkdir('d');
sftp.cd('d');
sftp.put('up/large', 'large');
sftp.put('up/large', '../resumed', ChannelSftp.RESUME);
sftp.put('up/a', 'appended');
sftp.put('up/a', 'appended', ChannelSftp.APPEND);
sftp.rename('large', 'renamed');
sftp.chmod(parseInt('600', 8), 'renamed');
sftp.setMtime('renamed', 1000000000);
sftp.get('renamed', 'down');
var names = [];
var entries = sftp.ls('/d').toArray();
for (var i in entries) names.push(entries[i].getFilename() + ' ' + entries[i].getAttrs().getSize());
print(names.sort().join(', ') + ' in ' + sftp.pwd());
sftp.rm('renamed');
sftp.quit();
session.disconnect();
`;
  const args = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', `${jsch}:${rhino}`, 'org.mozilla.javascript.tools.shell.Main'];
  const output = await succeeds(server, 'java', [...args, '-opt', '-1', '-e', script], { TEST_PASSWORD: testPassword });
  assert.equal(output, `appended 24, renamed ${large.length} in /d\n`);
  assert.equal(readFileSync(join(server.clientFolder, 'down'), 'utf8'), large);
  assert.deepEqual(digestTree(server.home), { 'd/': '', 'd/appended': 'content of a'.repeat(2), resumed: planted.large });
});
