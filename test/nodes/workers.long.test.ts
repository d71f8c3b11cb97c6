import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { run } from '../support/child.ts';
import { Client, within } from '../support/client.ts';
import { hasProgram } from '../support/requires.ts';
import { writeConfig } from '../support/server.ts';
import { startSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a reload reaches all nodes or none; sessions and addresses stay', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, { service: { headers: { 'X-Version': '1' } } });
  const session = await svc.login();
  const versions = async () =>
    new Set((await svc.everywhere(2, () => svc.get('/home/', within(session)))).map(({ headers }) => headers['x-version']));
  const reload = () => run(t, ['reload'], { cwd: svc.folder });
  assert.deepEqual([...(await versions())], ['1']);
  await svc.configure({ service: { headers: { 'X-Version': '2' } } });
  const good = await reload();
  assert.deepEqual([good.code, good.stdout], [0, 'reloaded: 1 change\n  services.web.headers\n'], good.stderr);
  assert.deepEqual([...(await versions())], ['2']);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const home = { type: 'http', port: 0, headers: { 'X-Version': '3' } };
  await svc.configure({ services: { web: home, second: { type: 'http', port } } });
  const bad = await reload();
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /the port is in use/);
  assert.deepEqual([...(await versions())], ['2'], 'no node has the new configuration');
  await svc.configure({ services: { web: home, second: { type: 'http', port: 0, name: 'Second' } } });
  assert.equal((await reload()).code, 0);
  assert.deepEqual([...(await versions())], ['3']);
  const started = (await svc.events()).filter(({ id }) => id === '20076');
  assert.deepEqual(
    started.map(({ component, server }) => `${component.uuid} ${server.name}`).toSorted(),
    ['second test-1', 'second test-2', 'web test-1', 'web test-2'],
    'each node reports its own services, with the name of the node',
  );
  const second = new Client(`http://127.0.0.1:${started.find(({ component }) => component.uuid === 'second')?.data.port}`);
  await svc.everywhere(2, () => second.get('/home/', { headers: { accept: 'application/json' } }));
  await svc.kill(svc.nodes());
  await svc.ready(2);
  assert.deepEqual([...(await versions())], ['3']);
  assert.equal((await second.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
  assert.equal(await svc.count(20012), 4, 'two reloads of two nodes');
  assert.ok((await svc.count(20077)) >= 1);
  assert.equal(await svc.stop(), 0);
});

test('--workers without Redis is refused, and the message has the line that the configuration lacks; invalid numbers are usage errors', async (t) => {
  const cwd = temporaryFolder(t);
  await writeConfig(cwd);
  for (const args of [
    ['serve', '--workers', '2'],
    ['serve', '--workers', '2', '--root', '.'],
    ['validate', '--workers', '2'],
  ]) {
    const refused = await run(t, args, { cwd: args.includes('--root') ? temporaryFolder(t) : cwd });
    assert.deepEqual([refused.code, refused.stdout], [args[0] === 'serve' ? 2 : 1, ''], refused.stderr);
    assert.match(refused.stderr, /--workers 2 starts nodes that share Redis; write under "server": {2}state: \{type: redis, url: /);
  }
  const wrong = await run(t, ['serve', '--workers', 'many'], { cwd });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /auto/);
  await writeConfig(cwd, { server: { state: { type: 'redis', url: 'redis://127.0.0.1:1' } } });
  assert.equal((await run(t, ['validate', '--workers', '2'], { cwd })).code, 0);
});

test('validate: nodes on several machines do not share host keys and the accounts file; the nodes of --workers share them', async (t) => {
  const cwd = temporaryFolder(t);
  const validated = async (isChangeable: boolean, ...args: string[]) => {
    await writeConfig(cwd, {
      server: { state: { type: 'redis', url: 'redis://127.0.0.1:1' } },
      group: { allow_own_password_change: isChangeable },
      services: { web: { type: 'http' }, files: { type: 'ssh' } },
    });
    const { code, stdout } = await run(t, ['validate', '--json', ...args], { cwd });
    const { findings } = JSON.parse(stdout) as { findings: { severity: string; code: string; message: string }[] };
    const own = findings.filter((finding) => finding.code.endsWith('-own'));
    return { code, own: own.map((finding) => `${finding.severity} ${finding.code}`), texts: own.map(({ message }) => message).join() };
  };
  const both = ['warning accounts-file-own', 'warning host-key-own'];
  assert.deepEqual(await validated(false), { code: 0, own: both, texts: (await validated(false, '--workers', '1')).texts });
  assert.deepEqual((await validated(false, '--workers', '2')).own, []);
  assert.deepEqual((await validated(true)).code, 1, 'the old password would be good on the other nodes');
  const shared = await validated(true, '--workers', '2');
  assert.deepEqual([shared.code, shared.own], [0, ['warning accounts-file-own']]);
  assert.match(shared.texts, /if other machines share this Redis, after a password change .* the old password would still work on them/);
});
