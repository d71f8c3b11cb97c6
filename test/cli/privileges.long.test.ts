import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { executable, isBinary, run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1]);

function isRoot(t: TestContext): boolean {
  if (process.getuid?.() === 0) return true;
  if (process.env.CI === 'true') throw new Error('These tests need root, and under CI nothing may be skipped.');
  console.log(`skipped: ${t.name}: only root can become another account`);
  t.skip('only root can become another account');
  return false;
}

async function configure(t: TestContext, server: Record<string, unknown>, address = '127.0.0.1'): Promise<string> {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'home'));
  chownSync(join(folder, 'home'), nobody, nobody);
  chmodSync(folder, 0o755);
  const config = {
    server: { data_folder_path: 'data', ...server },
    groups: { DEFAULT_GROUP: { home_folder_path: './home' } },
    accounts: { alice: { password: await cheapHash(testPassword) } },
    services: { web: { type: 'http', port: 0, address } },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  return folder;
}

const listening = /listening on (http:\S+)\/\n/;

test('user, group and umask: root binds the ports, then another account serves and owns the files', async (t) => {
  if (!isRoot(t)) return;
  const folder = await configure(t, { user: 'nobody', umask: '027' });
  for (let round = 0; round < 2; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(listening))[1] ?? '');
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    assert.match(status, new RegExp(`^Uid:\\s+${nobody}\\s+${nobody}\\s+${nobody}\\s+${nobody}$`, 'm'));
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.equal(/^Groups:.*\b0\b/m.test(status), false, 'the group of root is dropped, too');
    assert.equal((await client.put(`/home/f${round}`, 'x')).status, 201);
    assert.equal((await client.send('MOVE', `/home/f${round}`, { headers: { destination: `/home/g${round}` } })).status, 201);
    const stats = statSync(join(folder, 'home', `g${round}`));
    assert.deepEqual([stats.uid, stats.mode & 0o777], [nobody, 0o640]);
    assert.equal((await client.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0, 'the other account can finish the work in the data folder');
  }
  assert.equal(statSync(join(folder, 'data/journal/events-00000001.ndjson')).uid, nobody);
});

test('root is refused if other machines can reach the service, unless the configuration allows it', async (t) => {
  if (!isRoot(t)) return;
  const refused = await run(t, ['serve'], { cwd: await configure(t, {}, '0.0.0.0'), env: { SVC_ALLOW_ROOT: '' } });
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /server\.user/);
  for (const [server, env] of [
    [{ user: 'root' }, { SVC_ALLOW_ROOT: '' }],
    [{}, { SVC_ALLOW_ROOT: '1' }],
  ] as const) {
    const child = start(t, ['serve', '--log-level', 'error'], { cwd: await configure(t, server, '0.0.0.0'), env });
    await child.line(listening);
    child.child.kill('SIGTERM');
    assert.equal((await child.ended).code, 0);
  }
  const missing = await run(t, ['serve'], { cwd: await configure(t, { user: 'no-such-account' }) });
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /no-such-account/);
});

test('an ordinary user cannot switch to another user', async (t) => {
  if (!isRoot(t)) return;
  const folder = await configure(t, { user: 'root' });
  chownSync(folder, nobody, nobody);
  const refused = await run(t, ['serve'], { cwd: folder, uid: nobody });
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /only root can become/);
});

test('with the permission model of Node.js, validate needs to read only the folder and the executable; serve is refused', async (t) => {
  const folder = await configure(t, {});
  const reads = [folder, executable].map((path) => `--allow-fs-read=${path}`);
  const isKnown = isBinary || process.allowedNodeEnvironmentFlags.has('--permission');
  const permission = isKnown ? '--permission' : '--experimental-permission';
  const under = ['env', `NODE_OPTIONS=${permission} --no-warnings ${reads.join(' ')}`];
  assert.equal((await run(t, ['validate', 'svc.config.json'], { cwd: folder, under })).code, 0);
  const outside = temporaryFolder(t);
  writeFileSync(join(outside, 'other.yaml'), '{}');
  assert.notEqual((await run(t, ['validate', join(outside, 'other.yaml')], { cwd: folder, under })).code, 0);
  const serve = await run(t, ['serve', '--config', 'svc.config.json'], { cwd: folder, under });
  assert.equal(serve.code, 3);
  assert.match(serve.stderr, /permission model/);
});
