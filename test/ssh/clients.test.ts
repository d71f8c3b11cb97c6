import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { control } from '../support/control.ts';
import { heldOf, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { type SshTestServer, startSsh } from '../support/ssh.ts';
import {
  canMount,
  digestTree,
  large,
  namesAndStreams,
  plantLocal,
  rcloneConfig,
  rcloneInfo,
  resticOn,
  runMounted,
  sshCommand,
  succeeds,
} from '../support/ssh-clients.ts';

/** Gives all files of a tree an old time. @returns the time in seconds */
function backdate(folder: string): number {
  const timeS = 1_234_567_890;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) utimesSync(join(entry.parentPath, entry.name), timeS, timeS);
  return timeS;
}

function modifiedS(path: string): number {
  return Math.floor(statSync(path).mtimeMs / 1000);
}

async function uploads(server: SshTestServer): Promise<unknown[]> {
  return (await server.events()).filter(({ id }) => id === '30068').map(({ data }) => data.path);
}

test('sftp of OpenSSH transfers trees, resumes an upload, and lists and changes items', async (t) => {
  if (!hasProgram(t, 'sftp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  const oldS = backdate(join(server.clientFolder, 'up'));
  writeFileSync(join(server.clientFolder, 'part'), large.slice(0, 200_000));
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
  assert.match(output, /-rw-\S+ +1 alice +alice +600000 .* resumed\n/);
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
  assert.deepEqual(digestTree(join(server.home, 'up')), planted);
  assert.equal(modifiedS(join(server.home, 'up/large')), oldS);
  assert.equal(modifiedS(join(server.clientFolder, 'down/large')), oldS);
  assert.deepEqual((await uploads(server)).length, Object.keys(planted).filter((path) => !path.endsWith('/')).length + 3);
  assert.equal(readFileSync(join(server.home, 'made/resumed'), 'utf8'), large);
});

test('scp uploads, also over an old file, and downloads; its older protocol is refused', async (t) => {
  if (!hasProgram(t, 'scp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  const oldS = backdate(join(server.clientFolder, 'up'));
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
  assert.deepEqual(Object.keys(digestTree(join(server.home, 'up'))), Object.keys(planted));
  assert.deepEqual(digestTree(join(server.home, 'up')), planted);
  assert.equal(modifiedS(join(server.home, 'up/large')), oldS);
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
  const old = await server.openssh('scp', ['-O', 'up/a', 'alice@127.0.0.1:o']);
  assert.notEqual(old.code, 0);
  assert.match(old.output, /offers no commands, only SFTP/);
});

test('rclone copies, checks with hashes, and syncs', async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const server = await startSsh(t, { checksum_commands: true });
  const planted = plantLocal(server.clientFolder);
  const oldS = backdate(join(server.clientFolder, 'up'));
  const config = rcloneConfig(server);
  const rclone = (...args: string[]) => succeeds(server, 'rclone', ['--config', config, ...args]);
  await rclone('copy', 'up', 'svc:copied');
  assert.deepEqual(digestTree(join(server.home, 'copied')), planted);
  assert.equal(modifiedS(join(server.home, 'copied/large')), oldS);
  const checked = await rclone('check', 'up', 'svc:copied', '-v');
  assert.match(checked, /Using (md5|sha1) for hash comparisons.*0 differences found/s);
  assert.doesNotMatch(checked, /could not be checked|hashes could not/);
  writeFileSync(join(server.clientFolder, 'up/a'), 'other content');
  await rclone('sync', 'up', 'svc:copied');
  assert.equal(readFileSync(join(server.home, 'copied/a'), 'utf8'), 'other content');
  await rclone('copy', 'svc:copied', 'down');
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), digestTree(join(server.clientFolder, 'up')));
});

test('rclone test info: names may be as long as the disk allows, and stay unchanged; streams work', async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const checks = ['--check-length', '--check-normalization', '--check-streaming'];
  assert.equal(await rcloneInfo(await startSsh(t), ...checks), namesAndStreams);
});

test('lftp mirrors a folder to the server and back', async (t) => {
  if (!hasProgram(t, 'lftp') || !hasProgram(t, 'ssh')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  const oldS = backdate(join(server.clientFolder, 'up'));
  const connect = `set sftp:connect-program "${sshCommand(server).concat('-a', '-x').join(' ')}"`;
  await succeeds(server, 'lftp', [
    '-c',
    `${connect}; open sftp://alice:@127.0.0.1; mirror -R up up; put up/large -o put; mirror up down; mv up/a moved; rm moved`,
  ]);
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
  for (const path of ['up/large', 'up/sub folder/x', 'put']) assert.equal(modifiedS(join(server.home, path)), oldS, path);
  assert.equal(modifiedS(join(server.clientFolder, 'down/a')), oldS, 'down/a');
  assert.equal(digestTree(join(server.home, 'up')).a, undefined);
});

test('rclone, and lftp with temporary names, treat a held upload as done; the released file has its original time', async (t) => {
  if (!hasProgram(t, 'rclone') || !hasProgram(t, 'lftp') || !hasProgram(t, 'ssh')) return;
  const inspector = await startInspector(t);
  inspector.decide = () => ({ status: 202 });
  const inspections = { check: { type: 'http', url: inspector.url } };
  const server = await startSsh(t, {}, { inspections, group: { inspections: [['check']] } });
  plantLocal(server.clientFolder);
  const oldS = backdate(join(server.clientFolder, 'up'));
  await succeeds(server, 'rclone', ['--config', rcloneConfig(server), '--retries', '1', 'copyto', 'up/large', 'svc:rclone']);
  const connect = `set sftp:connect-program "${sshCommand(server).concat('-a', '-x').join(' ')}"; set xfer:use-temp-file yes`;
  await succeeds(server, 'lftp', ['-c', `${connect}; open sftp://alice:@127.0.0.1; put up/large -o lftp`]);
  assert.deepEqual((await heldOf(server)).map(({ path }) => path).sort(), ['/lftp', '/rclone']);
  assert.deepEqual(inspector.requests.map(({ facts }) => facts.file.path).sort(), ['/lftp', '/rclone'], 'each file is inspected once');
  assert.deepEqual(visible(server.home), []);
  const ids = (await heldOf(server)).map(({ id }) => id);
  assert.equal((await control(t, join(server.folder, 'data'), 'held', 'release', ...ids)).code, 0);
  for (const path of ['rclone', 'lftp']) {
    assert.equal(readFileSync(join(server.home, path), 'utf8'), large);
    assert.equal(modifiedS(join(server.home, path)), oldS, path);
  }
});

test('curl uploads and downloads by sftp://, with the older MACs of libssh2', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startSsh(t, { ssh_cipher_list: 'all' });
  plantLocal(server.clientFolder);
  const url = `sftp://127.0.0.1:${server.sshPort}`;
  const login = ['-sSk', '-u', 'alice:', '--key', server.key, '--pubkey', `${server.key}.pub`];
  await succeeds(server, 'curl', [...login, '-T', 'up/large', `${url}/large`]);
  await succeeds(server, 'curl', [...login, '-o', 'down', `${url}/large`]);
  assert.equal(readFileSync(join(server.clientFolder, 'down'), 'utf8'), large);
  assert.equal(readFileSync(join(server.home, 'large'), 'utf8'), large);
});

test('psftp uploads, downloads, renames and removes', async (t) => {
  if (!hasProgram(t, 'psftp') || !hasProgram(t, 'ssh')) return;
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
  assert.deepEqual(digestTree(server.home), {});
});

test('sftp of OpenSSH works through the client of Dropbear', async (t) => {
  if (!hasProgram(t, 'dbclient') || !hasProgram(t, 'sftp')) return;
  const server = await startSsh(t);
  const planted = plantLocal(server.clientFolder);
  await succeeds(server, 'dropbearconvert', ['openssh', 'dropbear', server.key, 'id_dropbear']);
  const client = `dbclient -y -y -p ${server.sshPort} -i id_dropbear alice@127.0.0.1 -s sftp`;
  writeFileSync(join(server.clientFolder, 'batch'), 'put -r up\nget -r up down\n');
  await succeeds(server, 'sftp', ['-D', client, '-b', 'batch']);
  assert.deepEqual(digestTree(join(server.home, 'up')), planted);
  assert.deepEqual(digestTree(join(server.clientFolder, 'down')), planted);
});

test('sshfs: files grow, are renamed and truncated on a mounted folder, and SQLite works there', async (t) => {
  if (!canMount(t, 'sqlite3')) return;
  const server = await startSsh(t);
  const script = `set -e
echo a > f; echo b >> f; cat f; mv f g; truncate -s 1 g; mkdir d; mv g d; ls d; rm -r d
sqlite3 db 'create table t(a); insert into t values(1); insert into t values(2); select sum(a) from t; pragma integrity_check'`;
  assert.equal(await runMounted(server, script), 'a\nb\ng\n3\nok\n');
});

test('restic creates a repository', async (t) => {
  if (!hasProgram(t, 'restic') || !hasProgram(t, 'ssh')) return;
  const server = await startSsh(t);
  await resticOn(server)('init', '-q');
  assert.deepEqual(readdirSync(join(server.home, 'repository')).sort(), ['config', 'data', 'index', 'keys', 'locks', 'snapshots']);
});

test('the Server-Path of an HTTP reply, given to sftp, reaches the file, even with odd names', async (t) => {
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
  const batch: string[] = [];
  for (const [index, name] of names.entries()) {
    const reply = await server.put(`/home/${encodeURIComponent(name)}`, `content ${index}`);
    assert.equal(reply.status, 201, name);
    const path = Buffer.from(String(reply.headers['server-path']), 'latin1').toString('utf8');
    batch.push(`get "${path.replace(/[\\"]/g, '\\$&')}" got${index}\n`);
  }
  const { code, output } = await server.openssh('sftp', ['-b', '-', 'alice@127.0.0.1'], { input: batch.join('') });
  assert.equal(code, 0, output);
  for (const [index, name] of names.entries())
    assert.equal(readFileSync(join(server.clientFolder, `got${index}`), 'utf8'), `content ${index}`, name);
});
