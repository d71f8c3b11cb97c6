import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { run, start } from '../support/child.ts';
import { freePort } from '../support/redis.ts';
import { temporaryFolder } from '../support/temp.ts';

async function answering(t: TestContext, status: number, body: string): Promise<{ url: string; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((incoming, outgoing) => {
    paths.push(incoming.url ?? '');
    outgoing.writeHead(status, { location: '/elsewhere' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

test('svc health asks the monitor of the configuration: exit code 0 if the service is ready, 3 without a reply', async (t) => {
  const cwd = temporaryFolder(t);
  const port = await freePort();
  for (const address of ['127.0.0.1', '0.0.0.0']) {
    writeFileSync(
      join(cwd, 'svc.config.yaml'),
      `services: {web: {type: http, port: 0}, off: {type: monitor, enabled: no, port: 1}, status: {type: monitor, address: ${address}, port: ${port}}}
groups: {DEFAULT_GROUP: {home_folder_path: ./f}}\n`,
    );
    const away = await run(t, ['health'], { cwd });
    assert.deepEqual([away.code, away.stdout], [3, '']);
    assert.match(away.stderr, new RegExp(`^svc: http://127\\.0\\.0\\.1:${port}/ready does not answer: .*\\.\\n$`));
    const server = start(t, ['serve'], { cwd });
    await server.line(/status listening/);
    const ready = await run(t, ['health'], { cwd });
    assert.deepEqual([ready.code, ready.stdout, ready.stderr], [0, 'ready\n', '']);
    const json = await run(t, ['health', '--json'], { cwd });
    const report = jsonOutputs.health.parse(JSON.parse(json.stdout));
    assert.deepEqual([json.code, report.ready, report.status, report.checks.server], [0, true, 200, 'ok']);
    server.child.kill('SIGTERM');
    await server.ended;
  }
});

test('svc health: exit code 1, with the reasons, if the service is not ready or the server is not svc', async (t) => {
  const cwd = temporaryFolder(t);
  const ask = (url: string, ...more: string[]) => run(t, ['health', '--url', url, ...more], { cwd });
  const unready = await answering(t, 503, '{"status":"not-ready","checks":{"server":"ok","state":"Redis is\\u001b away"}}');
  const end = await ask(unready.url);
  assert.deepEqual([end.code, end.stdout], [1, 'not ready: state (Redis is\\u001b away)\n']);
  assert.equal((await ask(`${unready.url}/behind/ready?x=1`)).code, 1);
  assert.deepEqual(unready.paths, ['/ready', '/behind/ready?x=1']);
  const report = jsonOutputs.health.parse(JSON.parse((await ask(unready.url, '--json')).stdout));
  assert.deepEqual([report.ready, report.status], [false, 503]);
  for (const [status, body] of [
    [404, 'nothing'],
    [302, ''],
    [500, '{"checks":null}'],
    [503, `{"checks":"${'x'.repeat(200_000)}"}`],
  ] as const) {
    const other = await ask((await answering(t, status, body)).url);
    assert.deepEqual([other.code, other.stdout], [1, `not ready: status ${status}\n`]);
  }
});

test('svc health: exit code 3 if there is no reply in time, or a reply that is not HTTP', async (t) => {
  const cwd = temporaryFolder(t);
  for (const greeting of ['', 'SSH-2.0-x\r\n']) {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write(greeting);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const end = await run(t, ['health', '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`, '--timeout', '0.5'], {
      cwd,
    });
    assert.deepEqual([end.code, end.stdout], [3, '']);
    assert.match(end.stderr, /does not answer/);
  }
});

test('svc health: exit code 2 on a usage error: no configuration, no monitor, an unknown port, an invalid URL', async (t) => {
  const cwd = temporaryFolder(t);
  const groups = 'groups: {DEFAULT_GROUP: {home_folder_path: ./f}}';
  writeFileSync(join(cwd, 'none.yaml'), `services: {web: {type: http, port: 0}}\n${groups}\n`);
  writeFileSync(join(cwd, 'any.yaml'), `services: {m: {type: monitor, port: 0}}\n${groups}\n`);
  const cases: [string[], RegExp][] = [
    [[], /No configuration file was found/],
    [['--config', 'none.yaml'], /no service of type monitor that is enabled; name a URL with --url/],
    [['--config', 'any.yaml'], /any free port when it starts; name its URL with --url/],
    [['--url', 'nonsense'], /--url takes an http or https URL/],
    [['--url', 'http://u:p@127.0.0.1/'], /without a user name/],
    [['--timeout', 'soon', '--url', 'http://127.0.0.1:1'], /number of seconds/],
  ];
  for (const [args, message] of cases) {
    const end = await run(t, ['health', ...args], { cwd });
    assert.deepEqual([end.code, end.stdout], [2, ''], args.join(' '));
    assert.match(end.stderr, message);
  }
});
