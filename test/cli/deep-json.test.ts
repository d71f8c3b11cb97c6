import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { testEvent } from '../contracts/event-log.ts';
import { run, startMock } from '../support/child.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** Returns a journal line of an event with `levels` nested lists in its data. */
function lineOf(uuid: string, levels: number): string {
  const event = testEvent();
  const line = JSON.stringify({ ...event, uuid, data: { ...event.data, response: 'HERE' } });
  return `${line.replace('"HERE"', levels === 0 ? 'null' : lists(levels))}\n`;
}

/** Creates a data folder with a journal of three events: one contains a reply of 64 levels, one is nested deeper, and one is ordinary. */
function journal(t: TestContext): string {
  const folder = join(temporaryFolder(t), 'data');
  mkdirSync(join(folder, 'journal'), { recursive: true });
  writeFileSync(join(folder, 'journal', 'events-00000001.ndjson'), lineOf('reply', 64) + lineOf('deep', 100_000) + lineOf('plain', 0));
  return folder;
}

test('a journal line that is nested too deeply is reported and skipped', async (t) => {
  const folder = journal(t);
  const end = await run(t, ['events', '--json', '--data-folder', folder], { cwd: temporaryFolder(t) });
  const uuids = end.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).uuid);
  assert.deepEqual(uuids, ['reply', 'plain'], end.stderr);
  assert.match(end.stderr, /nested deeper than 66 levels/);
  assert.doesNotMatch(end.stderr, /should not happen/);
});

test('webhook-replay accepts a file with events as deeply nested as those of the journal, and no deeper', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = temporaryFolder(t);
  for (const [name, content, hasBadLine, sent] of [
    ['lines', lineOf('a', 64) + lineOf('b', 100_000), true, 1],
    ['body', `{"events":[${lineOf('c', 64).trim()}]}`, false, 1],
    ['deep body', `{"events":[${lineOf('d', 100_000).trim()}]}`, true, 0],
  ] as const) {
    const before = receiver.requests.length;
    writeFileSync(join(cwd, 'events.ndjson'), content);
    const end = await run(t, ['webhook-replay', 'events.ndjson', '--url', receiver.url], { cwd });
    assert.equal(receiver.requests.length - before, sent, `${name}: ${end.stdout}${end.stderr}`);
    assert.equal(/events\.ndjson:\d+: it is nested deeper than 68 levels/.test(end.stderr), hasBadLine, end.stderr);
    assert.doesNotMatch(end.stderr, /should not happen/);
  }
});

test('the mocks of a receiver and of an authentication endpoint survive requests of 100,000 levels', async (t) => {
  const cwd = temporaryFolder(t);
  for (const [kind, ...args] of [
    ['webhook', '--record', join(cwd, 'record.ndjson')],
    ['auth', '--default', 'reject'],
  ] as const) {
    const { url } = await startMock(t, [kind, ...args], cwd);
    const body = `{"events":[${lists(100_000)}],"credentials":{"username":${lists(100_000)}}}`;
    for (let time = 0; time < 2; time++) {
      const reply = await fetch(url, { method: 'POST', body });
      assert.equal(reply.status, kind === 'webhook' ? 200 : 403, kind);
    }
  }
  assert.equal(readFileSync(join(cwd, 'record.ndjson'), 'utf8').trim().split('\n').length, 2);
});
