import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readHostKey } from '../../../src/ssh/host-keys.ts';
import { runProgram } from '../../support/program.ts';
import { until } from '../../support/receiver.ts';
import { hasProgram } from '../../support/requires.ts';
import { s3Keys, startStorage } from '../../support/s3.ts';
import { testPassword } from '../../support/secrets.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { publicKey, type SshTestServer, startSsh } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
const mebibyte = 1024 * 1024;

/** Returns bytes that differ from part to part. */
function large(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes, 'abcdefg');
  for (let at = 0; at < sizeBytes; at += mebibyte) bytes.writeUInt32BE(at, at);
  return bytes;
}

const told = async (server: TestServer, id: number) =>
  (await server.events()).filter((event) => event.id === String(id)).map(({ data }) => data);
const untilTold = (server: TestServer, id: number, count = 1) =>
  until(`${count} events ${id}`, async () => (await told(server, id)).length >= count);

const keys = { access_key_id: s3Keys.accessKeyId, secret_access_key: s3Keys.secretAccessKey };

test('S3: a small file is sent in one request, a large one in parts, all signed; the reason of a refusal is reported', async (t) => {
  const storage = await startStorage(t, 'eu-north-1');
  const out = { type: 'forward', url: 's3://bucket/in/{account.name}/{path}', endpoint: storage.endpoint, region: 'eu-north-1', ...keys };
  const server = await startServer(t, { event_handlers: { out, wrong: { ...out, secret_access_key: 'not-the-right-key' } } });
  mkdirSync(join(server.home, 'a b'));
  await server.put("/home/a%20b/%C3%A4'(1)+&%25.txt", 'small');
  await untilTold(server, 20174);
  assert.match(String((await told(server, 20174))[0]?.details), /403 Forbidden \(SignatureDoesNotMatch: No & never\.\)/);
  const content = large(65 * mebibyte);
  await server.put('/home/large.bin', content);
  await untilTold(server, 20202, 2);
  assert.equal(storage.objects.get("in/alice/a b/ä'(1)+&%.txt")?.toString(), 'small');
  assert.ok(storage.objects.get('in/alice/large.bin')?.equals(content));
  assert.equal(storage.uploads.size, 0);
  assert.equal((await told(server, 20202))[1]?.digest, sha256(content));
  assert.equal(storage.asked.filter((line) => line.includes('partNumber')).length, 5, 'parts of 16 MiB, and none by the wrong key');
});

test('S3: the storage of the tests accepts signatures of rclone, and refuses another key', async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const storage = await startStorage(t);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'a.txt'), 'content');
  const copy = (secret: string) => {
    const remote = [
      ':s3',
      'provider=Other',
      `access_key_id=${s3Keys.accessKeyId}`,
      `secret_access_key=${secret}`,
      `endpoint="${storage.endpoint}"`,
    ];
    const options = [
      '--s3-no-check-bucket',
      '--s3-no-head',
      '--ignore-times',
      '--no-check-dest',
      '--retries',
      '1',
      '--low-level-retries',
      '1',
    ];
    return runProgram(
      'rclone',
      ['--config', '/dev/null', 'copyto', join(folder, 'a.txt'), `${remote.join(',')}:bucket/b.txt`, ...options],
      { cwd: folder },
    );
  };
  const good = await copy(s3Keys.secretAccessKey);
  assert.equal(good.code, 0, good.output);
  assert.equal(storage.objects.get('b.txt')?.toString(), 'content');
  storage.objects.clear();
  assert.notEqual((await copy('not-the-right-key')).code, 0);
  assert.equal(storage.objects.size, 0);
});

/** Returns a public key in the format of known hosts. @param path path of the private key */
function keyLine(path: string): string {
  writeFileSync(`${path}.openssh`, readHostKey(path).text);
  return publicKey(`${path}.openssh`);
}

function knownHosts(server: SshTestServer): string {
  const path = join(server.clientFolder, 'known_hosts');
  writeFileSync(path, `# comment\n[127.0.0.1]:${server.sshPort} ${keyLine(join(server.clientFolder, 'host_key'))}\n`);
  return path;
}

const startTarget = (t: TestContext) => startSsh(t, {}, { services: { web: { type: 'http', port: 0 } } });

test('SFTP: files are sent with key or password, into created folders, and replace old ones; an unknown server gets nothing', async (t) => {
  const target = await startTarget(t);
  const known_hosts_path = knownHosts(target);
  const url = `sftp://alice@127.0.0.1:${target.sshPort}/in/{account.name}/{path}`;
  const byKey = { type: 'forward', url, key_path: target.key, known_hosts_path };
  const byPassword = { ...byKey, key_path: '', password: testPassword, url: url.replace('/in/', '/~/by-password/') };
  const stranger = join(temporaryFolder(t), 'known_hosts');
  writeFileSync(stranger, `[127.0.0.1]:${target.sshPort} ${keyLine(target.key)}\n`);
  const unknown = { ...byKey, known_hosts_path: stranger, target: 40017 };
  const server = await startServer(t, { event_handlers: { byKey, byPassword, unknown } });
  const content = large(5 * mebibyte + 7);
  await server.put('/home/a.bin', content);
  await untilTold(server, 20202, 2);
  await untilTold(server, 20174);
  assert.match(String((await told(server, 20174))[0]?.details), /the host key of 127\.0\.0\.1 is not the one in/);
  for (const folder of ['in', 'by-password']) assert.ok(readFileSync(join(target.home, folder, 'alice/a.bin')).equals(content));
  await server.put('/home/a.bin', 'another');
  await untilTold(server, 20202, 4);
  assert.equal(readFileSync(join(target.home, 'in/alice/a.bin'), 'utf8'), 'another');
  assert.deepEqual(readdirSync(join(target.home, 'in/alice')), ['a.bin'], 'no temporary name is left');
  const made = (await target.events()).filter(({ id }) => id === '30017').map(({ data }) => String(data.path));
  assert.ok(made.length >= 4 && made.every((path) => /\/\.[0-9a-f-]{36}\.part$/.test(path)), made.join());
});

test('SFTP: an attempt resumes where the previous one broke off; a different beginning is replaced', async (t) => {
  const target = await startTarget(t);
  const known = readFileSync(knownHosts(target));
  // Without this file no attempt succeeds.
  const known_hosts_path = join(target.clientFolder, 'later');
  const url = `sftp://alice@127.0.0.1:${target.sshPort}/{path}`;
  const out = { type: 'forward', url, key_path: target.key, known_hosts_path, retry_count: 1000, retry_increase: 0.01 };
  const server = await startServer(t, { event_handlers: { out } });
  const content = large(3 * mebibyte);
  const sent: number[] = [];
  for (const [round, beginning] of [content.subarray(0, mebibyte), Buffer.alloc(mebibyte, 'wrong')].entries()) {
    await server.put('/home/b.bin', content);
    const uuid = (await server.events()).findLast(({ id }) => id === '40017')?.uuid;
    writeFileSync(join(target.home, `.${uuid}.part`), beginning);
    writeFileSync(known_hosts_path, known);
    await untilTold(server, 20202, round + 1);
    rmSync(known_hosts_path);
    assert.ok(readFileSync(join(target.home, 'b.bin')).equals(content));
    const written = (await target.events()).filter(
      ({ data }) => data.total_write !== undefined && String(data.path).includes(String(uuid)),
    );
    sent.push(written.reduce((sum, { data }) => sum + Number(data.total_write), 0));
  }
  assert.deepEqual(
    sent,
    [2 * mebibyte, 5 * mebibyte],
    'the first round sends only the rest; the second one sends the rest, and then the whole file',
  );
});

test('SFTP: a file that changes while it is sent does not appear at the target under its name', async (t) => {
  const target = await startTarget(t);
  const url = `sftp://alice@127.0.0.1:${target.sshPort}/{path}`;
  const out = { type: 'forward', url, key_path: target.key, known_hosts_path: knownHosts(target) };
  const server = await startServer(t, { event_handlers: { out } });
  await server.put('/home/large.bin', large(40 * mebibyte));
  await until('the file is being sent', () => readdirSync(target.home).length > 0);
  const fd = openSync(join(server.home, 'large.bin'), 'r+');
  writeSync(fd, '!', 40 * mebibyte - 1);
  closeSync(fd);
  await untilTold(server, 20174);
  assert.match(String((await told(server, 20174))[0]?.details), /not sent: it changed while it was sent/);
  assert.deepEqual(
    readdirSync(target.home).filter((name) => !name.startsWith('.')),
    [],
  );
});
