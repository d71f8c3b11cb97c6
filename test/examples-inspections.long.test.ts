import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { run, start } from './support/child.ts';
import { eicar, startClamd } from './support/clamd.ts';
import { Client } from './support/client.ts';
import { copyOf, examples, program } from './support/examples.ts';
import { until } from './support/receiver.ts';
import { freePort, isFree } from './support/redis.ts';
import { hasPackage, hasProgram } from './support/requires.ts';
import { allowSecrets } from './support/secret-watch.ts';
import { temporaryFolder } from './support/temp.ts';

const user = 'acme:correct horse';
const python = '/usr/bin/python3';

async function serve(t: TestContext, cwd: string, env: Record<string, string>): Promise<Client> {
  const checked = await run(t, ['validate', '--online'], { cwd, env });
  assert.equal(checked.code, 0, checked.stderr);
  return new Client((await start(t, ['serve'], { cwd, env }).line(/web listening on (http:\S+)\/\n/))[1] ?? '');
}

async function release(t: TestContext, cwd: string, path: string): Promise<void> {
  const listed = await run(t, ['held', 'list', '--json'], { cwd });
  const items = listed.stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  const [item] = items.filter((one) => one.path === path);
  assert.equal((await run(t, ['held', 'release', item.id], { cwd })).code, 0);
}

test('JSON Schema: valid orders are stored, invalid JSON is refused with the places of its faults, other files are held', async (t) => {
  if (!hasPackage(t, 'python3-jsonschema', '/usr/lib/python3/dist-packages/jsonschema')) return;
  const cwd = copyOf(t, 'inspections');
  allowSecrets(t, /^README\.md$/, 'the password of the example');
  const endpoint = await program(t, cwd, python, 'endpoint.py');
  const client = await serve(t, cwd, { INSPECT_URL: endpoint.url });
  const put = (name: string, content: string) => client.put(`/home/in/${name}`, content, { user });
  assert.equal((await put('a.json', '{"id": 1, "customer": "x", "lines": [{"article": "a", "count": 2}]}')).status, 201);
  const refused = await put('b.json', '{"id": "1", "customer": "x", "lines": [{"article": "a", "count": 0}]}');
  assert.equal(refused.status, 422);
  const [error] = refused.json<{ errors: { response: { faults: string[] } }[] }>().errors;
  assert.deepEqual(error?.response.faults, ["$.id: '1' is not of type 'integer'", '$.lines[0].count: 0 is less than the minimum of 1']);
  for (const broken of ['{', '['.repeat(100_000)]) assert.match((await put('c.json', broken)).text, /does not parse/);
  assert.equal((await put('d.pdf', '%PDF')).status, 202);
  await release(t, cwd, '/in/d.pdf');
  assert.deepEqual(await client.names('/home/in/', { user }), ['a.json', 'd.pdf']);
});

test('clamd: infected files are refused with the virus name, large ones are held; the compose file joins svc and clamd', async (t) => {
  if (!hasProgram(t, 'clamd')) return;
  const cwd = copyOf(t, 'inspections/clamd');
  const clamd = await startClamd(t, '25M');
  const [, tcp] = clamd.urls;
  const client = await serve(t, cwd, { CLAMD_URL: String(tcp) });
  assert.equal((await client.put('/home/clean', 'hello', { user })).status, 201);
  const refused = await client.put('/home/virus', eicar, { user });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /Eicar-Test/);
  assert.equal((await client.put('/home/large', Buffer.alloc(26_214_401), { user })).status, 202);
  assert.deepEqual(await client.names('/home/', { user }), ['clean']);
  const compose = parse(readFileSync(join(examples, 'inspections/clamd/compose.yaml'), 'utf8'));
  assert.equal(compose.services.svc.environment.CLAMD_URL, 'tcp://clamd:3310');
  for (const { volumes } of Object.values<{ volumes: string[] }>(compose.services))
    for (const [name = ''] of volumes.map((volume) => volume.split(':'))) assert.ok(name.startsWith('.') || name in compose.volumes, name);
});

test('the quarantine: nobody sees a file until it is released, by a command or by a reviewer in the console', async (t) => {
  if (!hasProgram(t, 'python3')) return;
  const cwd = copyOf(t, 'inspections/quarantine');
  const endpoint = await program(t, cwd, python, 'quarantine.py');
  const server = start(t, ['serve'], { cwd, env: { QUARANTINE_URL: endpoint.url } });
  const urlOf = async (service: string) => (await server.line(new RegExp(`${service} listening on (http:\\S+)/\\n`)))[1] ?? '';
  const client = new Client(await urlOf('web'));
  for (const name of ['first', 'second']) assert.equal((await client.put(`/home/in/${name}`, name, { user })).status, 202);
  assert.deepEqual(await client.names('/home/in/', { user }), []);
  await release(t, cwd, '/in/first');
  const reviewer = new Client(await urlOf('console'));
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    reviewer.send('POST', path, {
      user: null,
      headers: { 'content-type': 'application/json', origin: reviewer.url, ...headers },
      body: JSON.stringify(body),
    });
  const login = await post('/api/login', { username: 'rita', password: 'correct horse' });
  assert.equal(login.status, 200, login.text);
  const cookie = String(login.headers['set-cookie']?.[0]).split(';', 1)[0] as string;
  const { items } = (await reviewer.get('/api/held', { user: null, headers: { cookie } })).json<{
    items: { id: string; path: string }[];
  }>();
  assert.deepEqual(
    items.map(({ path }) => path),
    ['/in/second'],
  );
  assert.equal((await post('/api/held/release', { ids: [items[0]?.id] }, { cookie })).status, 200);
  assert.deepEqual(await client.names('/home/in/', { user }), ['first', 'second']);
});

/** Starts Debian's c-icap with its virus scan, which asks a clamd. @returns the URL of the service */
async function startIcap(t: TestContext, clamdUrl: string): Promise<string> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const path = (name: string) => join(folder, name);
  const example = /```text\n([^`]*)```/.exec(readFileSync(join(examples, 'inspections/README.md'), 'utf8'))?.[1] ?? '';
  const lines = [
    `Port 127.0.0.1:${port}`,
    `PidFile ${path('pid')}`,
    `CommandsSocket ${path('ctl')}`,
    `ServerLog ${path('log')}`,
    `AccessLog ${path('access')}`,
    `TmpDir ${folder}`,
    'StartServers 1',
    'MaxServers 1',
    'TemplateDir /usr/share/c_icap/templates/',
    'LoadMagicFile /etc/c-icap/c-icap.magic',
    example.replace('/run/clamav/clamd.ctl', clamdUrl.replace('unix:', '')),
  ];
  writeFileSync(path('conf'), `${lines.join('\n')}\n`);
  const child = spawn('c-icap', ['-N', '-f', path('conf')], { stdio: 'ignore' });
  t.after(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await ended;
  });
  await until('c-icap listens', async () => {
    assert.equal(child.exitCode, null, 'c-icap ended');
    return !(await isFree(port));
  });
  return `icap://127.0.0.1:${port}/virus_scan`;
}

test('ICAP: c-icap accepts and refuses through the bridge; a missing, an altering and an early reply are failures', async (t) => {
  if (!hasProgram(t, 'clamd') || !hasProgram(t, 'c-icap')) return;
  if (!hasPackage(t, 'libc-icap-mod-virus-scan', '/etc/c-icap/virus_scan.conf')) return;
  const clamd = await startClamd(t);
  const cwd = copyOf(t, 'inspections/icap');
  const bridge = await program(t, cwd, process.execPath, 'bridge.mjs', { ICAP_URL: await startIcap(t, String(clamd.urls[0])) });
  const client = await serve(t, cwd, { BRIDGE_URL: bridge.url });
  assert.equal((await client.put('/home/clean.txt', 'hello', { user })).status, 201);
  assert.equal((await client.put('/home/empty', '', { user })).status, 201);
  assert.equal((await client.put('/home/large.bin', Buffer.alloc(20_000_000, 'x'), { user })).status, 201);
  for (const content of [eicar, Buffer.concat([Buffer.alloc(3_000_000, 'x'), Buffer.from(eicar)])]) {
    const refused = await client.put('/home/virus.txt', content, { user });
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.text, /Eicar-Test/);
  }
  assert.deepEqual((await client.names('/home/', { user })).sort(), ['clean.txt', 'empty', 'large.bin']);
  for (const reply of ['ICAP/1.0 200 OK\r\nEncapsulated: null-body=0\r\n\r\n', 'ICAP/1.0 204 No\r\n\r\n', '']) {
    const fake = createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(reply)));
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    t.after(() => fake.close());
    const { port } = fake.address() as { port: number };
    const other = await program(t, cwd, process.execPath, 'bridge.mjs', { ICAP_URL: `icap://127.0.0.1:${port}/x` });
    const headers = { inspection: ':e30=:', 'content-type': 'text/plain' };
    const asked = await fetch(other.url, { method: 'POST', headers, body: 'x'.repeat(30_000_000) });
    assert.equal(asked.status, 502, reply);
  }
});
