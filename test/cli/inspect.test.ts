import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run, start } from '../support/child.ts';
import { startInspector } from '../support/inspector.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

async function project(t: TestContext, url: string): Promise<string> {
  const folder = temporaryFolder(t);
  await writeConfig(folder, {
    inspections: { check: { type: 'http', url, timeout: 5 } },
    group: { inspections: [['check'], ['/tmp/*']] },
  });
  return folder;
}

test('svc inspect asks the inspections of a path about a local file; the exit code is the verdict', async (t) => {
  const { url } = await startInspector(t);
  const cwd = await project(t, url);
  for (const [content, code, outcome, verdict] of [
    ['fine', 0, 'accepted', 'accept'],
    ['bad', 3, 'refused', 'refuse'],
    ['odd', 4, 'held', 'hold'],
    ['fail', 11, 'failure', 'failure'],
  ] as const) {
    writeFileSync(join(cwd, 'file'), content);
    const end = await run(t, ['inspect', 'file', '--account', 'alice', '--path', '/in/x.csv', '--json'], { cwd });
    assert.equal(end.code, code, end.stdout + end.stderr);
    const report = JSON.parse(end.stdout);
    assert.deepEqual([report.outcome, report.path, report.account], [outcome, '/in/x.csv', 'alice']);
    assert.deepEqual(
      report.verdicts.map((item: { inspection: string; verdict: string }) => [item.inspection, item.verdict]),
      [['check', verdict]],
    );
  }
  const free = await run(t, ['inspect', 'file', '--account', 'alice', '--path', '/tmp/x'], { cwd });
  assert.deepEqual([free.code, free.stdout], [0, 'accepted\nnothing inspects this path\n']);
  assert.equal((await run(t, ['inspect', 'file', '--account', 'zoe', '--path', '/x'], { cwd })).code, 2);
  assert.equal((await run(t, ['inspect', 'none', '--account', 'alice', '--path', '/x'], { cwd })).code, 2);
});

test('svc mock inspection gives the configured replies, and records its requests', async (t) => {
  const cwd = temporaryFolder(t);
  const args = [
    'mock',
    'inspection',
    '--port',
    '0',
    '--reply',
    '422',
    '--body',
    '{"message": "Not this one."}',
    '--record',
    'requests.ndjson',
  ];
  const mock = start(t, args, { cwd });
  const url = (await mock.line(/listening on (http:\S+)/))[1] ?? '';
  const folder = await project(t, url);
  writeFileSync(join(folder, 'file'), 'content');
  const end = await run(t, ['inspect', 'file', '--account', 'alice', '--path', '/in/x.csv'], { cwd: folder });
  assert.deepEqual([end.code, end.stdout], [3, 'refused\ncheck: refuse: Not this one.\n']);
  const [line] = readFileSync(join(cwd, 'requests.ndjson'), 'utf8').trim().split('\n');
  const { status, size, request } = JSON.parse(line ?? '');
  assert.deepEqual([status, size, request.file.path], [422, 7, '/in/x.csv']);
});

test('validate --online pings each inspection: an endpoint by its test request, a clamd by PING', async (t) => {
  const { url } = await startInspector(t);
  const clamd = createServer((socket) => socket.once('data', (data) => socket.end(String(data) === 'zPING\0' ? 'PONG\0' : 'what?\0')));
  await new Promise<void>((resolve) => clamd.listen(0, '127.0.0.1', resolve));
  t.after(() => clamd.close());
  const tcp = `tcp://127.0.0.1:${(clamd.address() as AddressInfo).port}`;
  const checked = async (inspections: Record<string, Record<string, unknown>>) => {
    const cwd = temporaryFolder(t);
    await writeConfig(cwd, { inspections, group: { inspections: [Object.keys(inspections)] } });
    return run(t, ['validate', '--online'], { cwd });
  };
  const larger = { maximum_size: 1000, on_larger: 'hold' };
  const good = await checked({ schema: { type: 'http', url }, virus: { type: 'clamd', url: tcp, ...larger } });
  assert.equal(good.code, 0, good.stderr);
  clamd.close();
  const gone = `unix:${join(temporaryFolder(t), 'none')}`;
  const bad = await checked({ schema: { type: 'http', url: 'http://127.0.0.1:1/' }, virus: { type: 'clamd', url: gone, ...larger } });
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /error\[online\]: inspections\.schema\.url: http:\/\/127\.0\.0\.1:1\/: .*refused/);
  assert.match(bad.stderr, /error\[online\]: inspections\.virus\.url: unix:\S+: .*ENOENT/);
});
