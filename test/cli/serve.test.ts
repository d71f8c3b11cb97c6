import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const listening = /listening on (http:\S+)\/\n/;
const json = { accept: 'application/json' };

test('without a configuration, svc serve creates ./files, and prints a password once on stderr and the URL on stdout', async (t) => {
  const folder = temporaryFolder(t);
  const server = start(t, ['serve', '--port', '0'], { cwd: folder });
  const client = new Client((await server.line(listening))[1] ?? '');
  const password = /Account: admin {3}Password: (\S+)/.exec(server.stderr())?.[1] ?? '';
  assert.ok(password.length >= 16);
  assert.equal(server.stdout().includes(password), false);
  assert.equal((await client.put('/home/a', 'x', { user: `admin:${password}` })).status, 201);
  assert.ok(existsSync(join(folder, 'files/a')));
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended.then(({ code, signal }) => [code, signal]), [0, null]);
  assert.equal(existsSync(join(folder, 'svc-data/svc.pid')), false);
  assert.equal(readFileSync(join(folder, 'svc-data/journal/events-00000001.ndjson'), 'utf8').includes(password), false);
});

test('--user, SVC_PASSWORD and --root apply; several servers can be started in one folder', async (t) => {
  const folder = temporaryFolder(t);
  const one = start(t, ['serve', '--port', '0', '--root', 'r', '--user', 'bob:pass:word'], { cwd: folder });
  const two = start(t, ['serve', '--port', '0', '--root', 'r'], { cwd: folder, env: { SVC_PASSWORD: 'from env' } });
  const first = new Client((await one.line(listening))[1] ?? '');
  const second = new Client((await two.line(listening))[1] ?? '');
  assert.equal((await first.put('/home/a', 'x', { user: 'bob:pass:word' })).status, 201);
  assert.equal((await second.get('/home/a', { user: 'admin:from env' })).text, 'x');
  assert.equal(one.stderr().includes('Password'), false, 'a configured password is not printed');
  const told = [one, two].map((server) => /^Folder: .*$/m.exec(server.stderr())?.[0]).sort();
  assert.deepEqual(told, [`Folder: ${join(folder, 'r')}`, `Folder: ${join(folder, 'r')}   (created)`]);
  assert.ok(existsSync(join(folder, 'svc-data-2')));
});

test('exit codes: 2 for wrong usage, 3 if the service cannot run, 1 for an invalid configuration', async (t) => {
  const folder = temporaryFolder(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const port = String((taken.address() as { port: number }).port);
  writeFileSync(join(folder, 'bad.yaml'), 'services: {web: {type: http, prot: 1}}\n');
  writeFileSync(join(folder, 'good.yaml'), 'groups: {DEFAULT_GROUP: {home_folder_path: ./f}}\nservices: {web: {type: http, port: 0}}\n');
  writeFileSync(join(folder, 'file'), '');
  writeFileSync(join(folder, 'file-as-data.yaml'), 'server: {data_folder_path: ./file}\nservices: {web: {type: http, port: 0}}\n');
  const cases: [string[], number, RegExp][] = [
    [['serve', '--port', 'x'], 2, /port/],
    [['serve', '--nonsense'], 2, /unknown option/],
    [['serve', '--user', 'nocolon'], 2, /NAME:PASSWORD/],
    [['serve', '--config', 'missing.yaml'], 2, /missing\.yaml.*does not exist/],
    [['serve', '--config', 'good.yaml', '--root', 'x'], 2, /--root cannot be used together/],
    [['serve', '--config', 'bad.yaml'], 1, /bad\.yaml:1:\d+: error\[unknown-option\]: services\.web\.prot.*did you mean "port"/],
    [['serve', '--port', port], 3, new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use`)],
    [['serve', '--port', '0', '--root', 'file'], 3, /file: it is a file, not a folder\.\n$/],
    [['serve', '--config', 'file-as-data.yaml'], 3, /data folder \S+\/file cannot be used: it is a file, not a folder\.\n$/],
    [['nonsense'], 2, /unknown command/],
  ];
  for (const [args, code, pattern] of cases) {
    const end = await run(t, args, { cwd: folder });
    assert.equal(end.code, code, `${args.join(' ')}\n${end.stderr}`);
    assert.match(end.stderr, pattern);
    assert.equal(/\n\s+at /.test(end.stderr), false, 'no stack trace is printed');
    assert.equal(end.stdout, '');
  }
  const debug = await run(t, ['--debug', 'serve', '--port', port], { cwd: folder });
  assert.match(debug.stderr, /\n\s+at /);
});

test('SIGTERM lets a running transfer finish; a second signal ends the process immediately', async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder);
  writeFileSync(join(folder, 'home/big'), Buffer.alloc(80_000_000));
  for (const signals of [1, 2]) {
    const server = start(t, ['serve'], { cwd: folder });
    const url = (await server.line(listening))[1] ?? '';
    const { get } = await import('node:http');
    const received = await new Promise<number>((resolve) => {
      get(`${url}/home/big`, { auth: testUser }, (incoming) => {
        let bytes = 0;
        incoming.once('data', async (chunk: Buffer) => {
          bytes += chunk.length;
          incoming.pause();
          server.child.kill('SIGTERM');
          await sleep(200);
          if (signals === 2) server.child.kill('SIGTERM');
          incoming.on('data', (more: Buffer) => {
            bytes += more.length;
          });
          incoming.resume();
        });
        incoming.on('error', () => {});
        incoming.on('close', () => resolve(bytes));
      });
    });
    const end = await server.ended;
    if (signals === 1) assert.deepEqual([end.code, received], [0, 80_000_000]);
    else {
      assert.equal(end.code, 143);
      assert.ok(received < 80_000_000);
    }
  }
});

test('SIGHUP reloads: sessions survive, an invalid configuration is refused, an address changes', async (t) => {
  const folder = temporaryFolder(t);
  const hash = await cheapHash(testPassword);
  const write = (more: string) =>
    writeFileSync(
      join(folder, 'svc.config.yaml'),
      `groups: {DEFAULT_GROUP: {home_folder_path: ./f}}\naccounts: {alice: {password: "${hash}"}}\nservices: {web: {type: http, port: 0${more}}}\n`,
    );
  write('');
  const server = start(t, ['serve'], { cwd: folder });
  const client = new Client((await server.line(listening))[1] ?? '');
  const headers = { ...json, authorization: `session ${await client.login()}` };
  const reload = async (pattern: RegExp) => {
    const before = server.stderr().length;
    server.child.kill('SIGHUP');
    for (let round = 0; round < 100 && !pattern.test(server.stderr().slice(before)); round++) await sleep(20);
    assert.match(server.stderr().slice(before), pattern);
  };
  write(', headers: {x-new: "1"}');
  await reload(/configuration reloaded.*services\.web\.headers/);
  const reply = await client.get('/home/', { user: null, headers });
  assert.deepEqual([reply.status, reply.headers['x-new']], [200, '1']);
  write(', prot: 1');
  await reload(/refused; the old one stays.*unknown-option/);
  assert.equal((await client.get('/home/', { user: null, headers })).headers['x-new'], '1');
  write(', address: 127.0.0.2');
  await reload(/configuration reloaded/);
  await assert.rejects(client.get('/home/', { user: null, headers }), 'the old address is closed');
  const journal = readFileSync(join(folder, 'svc-data/journal/events-00000001.ndjson'), 'utf8');
  assert.equal(journal.split('"id":"20012"').length - 1, 2);
  assert.match(journal, /"changes":\["services\.web\.headers"\]/);
});

test('requests for folders and files without permission on disk get 403 or 422, without real paths', async (t) => {
  if (process.getuid?.() !== 0) {
    console.log(`skipped: ${t.name}: needs root to start the server as another user`);
    if (process.env.CI === 'true') assert.fail('under CI nothing may be skipped');
    t.skip('needs root to start the server as another user');
    return;
  }
  const nobody = 65_534;
  const folder = temporaryFolder(t);
  chownSync(folder, nobody, nobody);
  await writeConfig(folder);
  mkdirSync(join(folder, 'home/locked'), { mode: 0o755 });
  chmodSync(join(folder, 'home/locked'), 0o000);
  mkdirSync(join(folder, 'home/readonly'));
  writeFileSync(join(folder, 'home/file'), 'x', { mode: 0o600 });
  const server = start(t, ['serve'], { cwd: folder, uid: nobody });
  const client = new Client((await server.line(listening))[1] ?? '');
  for (const [method, target] of [
    ['GET', 'locked/'],
    ['GET', 'file'],
    ['GET', 'locked/x'],
    ['PUT', 'readonly/x'],
    ['PUT', 'readonly/x/'],
    ['DELETE', 'readonly/'],
  ] as const) {
    const reply = await client.send(method, `/home/${target}`, { headers: json });
    assert.ok([403, 422].includes(reply.status), `${method} ${target}: ${reply.status} ${reply.text}`);
    assert.equal(reply.text.includes(folder), false);
  }
});
