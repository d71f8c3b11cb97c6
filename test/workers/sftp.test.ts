import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, chownSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { run } from '../support/child.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { temporaryFolder } from '../support/temp.ts';
import { startFleet, type TestFleet } from '../support/workers.ts';

const { write, create, truncate } = openFlags;
const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } };

async function sftpPort(fleet: TestFleet): Promise<number> {
  const [, port] = await fleet.running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  return Number(port);
}

/** Opens a file of each of two sessions that two workers serve. @returns them with the process ID of each */
async function sessionsOfTwo(t: Parameters<typeof loginSftp>[0], fleet: TestFleet, port: number) {
  const found = new Map<number, Awaited<ReturnType<typeof loginSftp>> & { handle: Buffer; name: string }>();
  for (let number = 0; found.size < 2; number++) {
    assert.ok(number < 50, 'one worker has all connections');
    const login = await loginSftp(t, port);
    const name = `file${number}`;
    const handle = await login.sftp.open(name, write | create | truncate);
    const pid = fleet.workers().find((worker) => openFiles(worker).some((path) => path.startsWith(fleet.home)) && !found.has(worker));
    if (pid !== undefined) found.set(pid, { ...login, handle, name });
    else login.client.end();
  }
  return [...found];
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(join(folder, fd))];
    } catch {
      return [];
    }
  });
}

test('SFTP by two workers: sessions of both, an upload survives the end of the other, which leaves nothing behind', async (t) => {
  const fleet = await startFleet(t, 2, { services });
  const port = await sftpPort(fleet);
  const [victim, other] = await sessionsOfTwo(t, fleet, port);
  assert.ok(victim && other);
  writeFileSync(join(fleet.home, 'shared'), 'old');
  for (const [, { sftp, handle }] of [victim, other]) assert.equal(await sftp.write(handle, 0, 'half of it'), 0);
  await fleet.kill([victim[0]]);
  await victim[1].ended;
  await fleet.ready(2);
  assert.equal(await other[1].sftp.write(other[1].handle, 10, ', and the rest'), 0);
  assert.equal(await other[1].sftp.close(other[1].handle), 0);
  assert.equal(readFileSync(join(fleet.home, other[1].name), 'utf8'), 'half of it, and the rest');
  const again = await loginSftp(t, port);
  await again.sftp.put(victim[1].name, 'whole');
  assert.equal(readFileSync(join(fleet.home, victim[1].name), 'utf8'), 'whole');
  assert.deepEqual(
    readdirSync(fleet.home).filter((name) => name.startsWith('.')),
    [],
  );
  const uploads = (await fleet.events()).filter(({ id }) => id === '30068').map(({ data }) => data.path);
  assert.deepEqual(uploads.sort(), [`/${other[1].name}`, `/${victim[1].name}`].sort());
  assert.equal(await fleet.stop(), 0);
});

test('workers that are not root have the host keys that only root may read: those that come later, and after a reload', async (t) => {
  if (process.getuid?.() !== 0) {
    if (process.env.CI === 'true') assert.fail('This test needs root, and under CI nothing may be skipped.');
    return t.skip('only root can become another account');
  }
  const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1]);
  const hostKey = join(temporaryFolder(t), 'host_key');
  writeFileSync(hostKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const sftp = { ...services.sftp, host_key_paths: [hostKey] };
  const config = { server: { user: 'nobody' }, services: { ...services, sftp } };
  const fleet = await startFleet(t, 2, config);
  chmodSync(fleet.folder, 0o755);
  chownSync(fleet.home, nobody, nobody);
  const port = await sftpPort(fleet);
  const check = async (name: string) => {
    const { sftp: client } = await loginSftp(t, port);
    await client.put(name, 'x');
  };
  await check('a');
  await fleet.kill(fleet.workers());
  await fleet.ready(2);
  await check('b');
  await fleet.configure({ ...config, services: { ...services, sftp: { ...sftp, before_login_message: 'Hello' } } });
  const reloaded = await run(t, ['reload'], { cwd: fleet.folder });
  assert.equal(reloaded.code, 0, `${reloaded.stdout}${reloaded.stderr}`);
  await check('c');
});
