import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
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

test('svc inspect asks the inspections of a path about a local file, and its exit code is the verdict', async (t) => {
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

test('svc mock inspection answers as it is told, and records what it got', async (t) => {
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
