import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { control, listed } from '../support/control.ts';
import { startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { temporaryFolder } from '../support/temp.ts';

const { read, write, create, truncate, exclusive } = openFlags;
const { ok, failure, permissionDenied } = statusCodes;

const portOf = ({ service }: TestNode) => Number(new URL(service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port);
const finder = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)' };
const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

async function sftpNodes(t: TestContext) {
  const hostKey = join(temporaryFolder(t), 'host_key');
  writeFileSync(hostKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const started = await startNodesOnRedis(t, 2, {
    server: { security_policy: { ban_after_failures: 3, ban_seconds: 600 } },
    services: {
      web: { type: 'http', port: 0, webdav_compatibility: true },
      sftp: { type: 'ssh', port: 0, host_key_paths: [hostKey] },
    },
  });
  if (!started) return undefined;
  const { nodes, folder, redis } = started;
  const [here, there] = nodes as [TestNode, TestNode];
  return { here, there, redis, home: join(folder, 'home'), dataOf: (name: string) => join(folder, name) };
}

test('SFTP on two nodes: files, exclusive names and locks are shared', async (t) => {
  const nodes = await sftpNodes(t);
  if (!nodes) return;
  const { here, there, home } = nodes;
  const [one, two] = [(await loginSftp(t, portOf(here))).sftp, (await loginSftp(t, portOf(there))).sftp];
  await one.put('f', 'old');
  const upload = await one.open('f', write | create | truncate);
  assert.equal(await one.write(upload, 0, 'newer'), ok);
  assert.equal(((await two.stat('f')) as { sizeBytes: number }).sizeBytes, 3, 'the old file stays until the CLOSE');
  assert.equal(await one.close(upload), ok);
  const reading = await two.open('f', read);
  assert.equal(String(await two.read(reading, 0, 100)), 'newer');
  assert.equal(await two.close(reading), ok);
  assert.equal((await there.get('/home/f')).text, 'newer');
  for (let round = 0; round < 5; round++) {
    const both = await Promise.all(
      [one, two].map(async (client, index) => {
        const handle = await client.open(`only-${round}`, write | create | exclusive);
        assert.equal(await client.write(handle, 0, `of ${index}`), ok);
        return client.close(handle);
      }),
    );
    assert.deepEqual(both.toSorted(), [ok, failure], 'one of the two creates the file');
    assert.equal(readFileSync(join(home, `only-${round}`), 'utf8'), `of ${both.indexOf(ok)}`);
  }
  const begun = await two.open('f', write | truncate);
  assert.equal(await two.write(begun, 0, 'under way'), ok);
  const lock = await here.send('LOCK', '/home/f', { body: lockBody, headers: { ...finder, depth: '0', timeout: 'Second-300' } });
  assert.equal(lock.status, 200);
  assert.equal(await two.close(begun), permissionDenied, 'the CLOSE is denied, because the other node has locked the file meanwhile');
  assert.equal(await two.onPath(packetTypes.remove, 'f'), permissionDenied);
  assert.equal(await two.rename('f', 'g'), permissionDenied);
  assert.equal(readFileSync(join(home, 'f'), 'utf8'), 'newer');
  const token = { ...finder, 'lock-token': String(lock.headers['lock-token']) };
  assert.equal((await there.send('UNLOCK', '/home/f', { headers: token })).status, 204);
  assert.equal(await two.rename('f', 'g'), ok);
  assert.deepEqual(
    readdirSync(home).filter((name) => name.startsWith('.')),
    [],
  );
});

test('SFTP on two nodes: each node lists and ends sessions of the other; sessions survive a loss of Redis; bans apply to both', async (t) => {
  const nodes = await sftpNodes(t);
  if (!nodes) return;
  const { here, there, redis, home, dataOf } = nodes;
  const { sftp, ended } = await loginSftp(t, portOf(here));
  const lost = await sftp.open('lost', write | create);
  assert.equal(await sftp.write(lost, 0, 'half'), ok);
  const [session, ...others] = await listed(t, dataOf('n1'), 'sessions');
  assert.deepEqual([session?.service, session?.account, others], ['sftp', 'alice', []]);
  assert.equal((await control(t, dataOf('n1'), 'sessions', 'remove', session?.id ?? '')).code, 0);
  await ended;
  await until('the upload of the session is removed', () => readdirSync(home).length === 0);
  assert.deepEqual(await listed(t, dataOf('n0'), 'sessions'), []);
  const again = await loginSftp(t, portOf(there));
  const upload = await again.sftp.open('f', write | create);
  assert.equal(await again.sftp.write(upload, 0, 'content'), ok);
  await redis.kill();
  const code = await again.sftp.close(upload);
  assert.deepEqual(readdirSync(home), code === ok ? ['f'] : [], 'the file exists exactly if the CLOSE was confirmed');
  await assert.rejects(loginSftp(t, portOf(here)), 'no login succeeds while checks are not possible');
  await redis.restart();
  await until('logins work again', () =>
    loginSftp(t, portOf(here)).then(
      ({ client }) => client.end() ?? true,
      () => false,
    ),
  );
  await until('the session continues', () =>
    again.sftp.put('g', 'content').then(
      () => true,
      () => false,
    ),
  );
  for (const [index, node] of [here, there, here].entries())
    await assert.rejects(loginSftp(t, portOf(node), { password: `wrong ${index}` }));
  for (const node of [here, there]) await assert.rejects(loginSftp(t, portOf(node)), 'even the right password is refused');
  assert.equal((await there.get('/home/')).status, 429, 'the ban also applies to HTTP');
});
