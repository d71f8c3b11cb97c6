import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { eventIds } from '../../src/events/event-ids.ts';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';
import { crm, project } from '../support/webhook-project.ts';

async function served(t: TestContext): Promise<{ cwd: string; server: ReturnType<typeof start>; client: Client }> {
  const receiver = await startReceiver(t);
  const cwd = project(t, crm(receiver.url));
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  for (const name of ['a', 'b']) await client.put(`/home/${name}`, 'x', { user: null });
  return { cwd, server, client };
}

const journalOf = (cwd: string) => {
  const data = readdirSync(cwd).find((name) => readdirSync(join(cwd, name)).includes('journal.key')) as string;
  return { data: join(cwd, data), journal: join(cwd, data, 'journal') };
};

test('svc journal verify: whole after a stop, undecided after a kill; a changed byte is found', async (t) => {
  const { cwd, server } = await served(t);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
  const whole = await run(t, ['journal', 'verify', '--json'], { cwd });
  assert.equal(whole.code, 0, whole.stderr);
  const result = jsonOutputs['journal-verify'].parse(JSON.parse(whole.stdout));
  assert.deepEqual([result.outcome, result.segments], ['whole', 1]);
  const { data, journal } = journalOf(cwd);
  assert.equal(statSync(join(data, 'journal.key')).mode & 0o777, 0o600);
  assert.equal(result.bytes, statSync(join(journal, 'events-00000001.ndjson')).size);

  const second = start(t, ['serve'], { cwd });
  const client = new Client((await second.line(/(http:\S+)\/\n/))[1] ?? '');
  await client.put('/home/c', 'x', { user: null });
  second.child.kill('SIGKILL');
  await second.ended;
  const undecided = await run(t, ['journal', 'verify', journal], { cwd });
  assert.equal(undecided.code, 4, undecided.stdout);
  assert.match(undecided.stdout, /^cannot be decided: no checkpoint covers \d+ bytes since \d{4}-/);

  const third = start(t, ['serve'], { cwd });
  await third.line(/http:\S+\/\n/);
  third.child.kill('SIGTERM');
  assert.equal((await third.ended).code, 0);
  assert.equal((await run(t, ['journal', 'verify'], { cwd })).code, 0);
  const path = join(journal, 'events-00000001.ndjson');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"/home/b"', '"/home/B"').replace('"/b"', '"/B"'));
  const changed = await run(t, ['journal', 'verify'], { cwd });
  assert.equal(changed.code, 3);
  assert.match(changed.stdout, /^does not fit: segment 1, byte 0: bytes were changed between byte 0 and \d+, before the checkpoint of /);
  assert.equal(
    (await run(t, ['journal', 'verify', '--since', '2099-01-01'], { cwd })).code,
    0,
    'with --since, older parts are not verified',
  );
});

test('svc journal export writes the events of one account as NDJSON or CSV; a change in any file of the export is found', async (t) => {
  const { cwd, server, client } = await served(t);
  await client.put(`/home/${encodeURIComponent('=1+1, "x"')}`, 'x', { user: null });
  server.child.kill('SIGTERM');
  await server.ended;
  const key = await run(t, ['journal', 'key', 'show'], { cwd });
  writeFileSync(join(cwd, 'known.pem'), key.stdout);
  for (const format of ['ndjson', 'csv']) {
    const out = join(temporaryFolder(t), 'export');
    const args = ['journal', 'export', '--since', '1h', '--account', 'anonymous', '--format', format, '--out', out];
    const end = await run(t, [...args, '--json'], { cwd });
    assert.equal(end.code, 0, end.stderr);
    const { events } = jsonOutputs['journal-export'].parse(JSON.parse(end.stdout));
    const text = readFileSync(join(out, `events.${format}`), 'utf8');
    assert.ok(events >= 3);
    assert.equal(text.split(format === 'csv' ? '\r\n' : '\n').length - 1, events + (format === 'csv' ? 1 : 0));
    assert.ok(!text.includes('The server started'), 'events of other accounts are not exported');
    const check = () => run(t, ['journal', 'verify', out, '--public-key', 'known.pem'], { cwd });
    assert.equal((await check()).code, 0);
    for (const name of readdirSync(out).filter((file) => file !== 'public-key.pem')) {
      const before = readFileSync(join(out, name), 'utf8');
      writeFileSync(join(out, name), before.replace(/20/, '21'));
      assert.equal((await check()).code, 3, name);
      writeFileSync(join(out, name), before);
    }
    assert.equal((await check()).code, 0);
    const again = await run(t, args, { cwd });
    assert.deepEqual([again.code, again.stderr], [2, `svc: --out ${out} is not empty; name a new folder.\n`]);
  }
});

test('svc journal key: a rotated key still verifies the journal; a witness shows that the end is missing', async (t) => {
  const { cwd, server } = await served(t);
  const old = await run(t, ['journal', 'key', 'show'], { cwd });
  assert.match(old.stdout, /^-----BEGIN PUBLIC KEY-----\n/);
  const rotated = await run(t, ['journal', 'key', 'rotate'], { cwd });
  assert.equal(rotated.code, 0, rotated.stderr);
  const twice = await run(t, ['journal', 'key', 'rotate'], { cwd });
  assert.equal(twice.code, 2);
  assert.match(twice.stderr, /already waits for the next checkpoint/);
  server.child.kill('SIGTERM');
  await server.ended;
  const shown = await run(t, ['journal', 'key', 'show'], { cwd });
  assert.notEqual(shown.stdout, old.stdout);
  writeFileSync(join(cwd, 'old.pem'), old.stdout);
  assert.equal((await run(t, ['journal', 'verify', '--public-key', 'old.pem'], { cwd })).code, 0);

  const { journal } = journalOf(cwd);
  const lines = readFileSync(join(journal, 'checkpoints.ndjson'), 'utf8').trimEnd().split('\n');
  const event = (line: string) => JSON.stringify({ id: String(eventIds.journalCheckpoint), data: JSON.parse(line) });
  writeFileSync(join(cwd, 'witness'), `${lines[0]}\n${event(lines[1] as string)}\n`);
  assert.equal((await run(t, ['journal', 'verify', '--witness', 'witness'], { cwd })).code, 0);
  writeFileSync(
    join(cwd, 'witness'),
    `${(lines[1] as string).replace('"position":', '"position":9')}\n`.replace(/"signature":"../, '"signature":"aa'),
  );
  const end = await run(t, ['journal', 'verify', '--witness', 'witness'], { cwd });
  assert.equal(end.code, 3);
  assert.match(end.stdout, /the end is missing: the witness has a checkpoint of /);

  writeFileSync(join(cwd, 'bad'), 'x\n');
  for (const [args, said] of [
    [['verify', 'nowhere'], 'svc: There is no journal in nowhere; name the folder that has one.\n'],
    [['verify', '--public-key', 'bad'], 'svc: --public-key bad: it is not a key in PEM.\n'],
    [['verify', '--witness', 'bad'], 'svc: --witness bad, line 1: it is not a checkpoint.\n'],
    [['export', '--since', '1h', '--out', 'bad'], 'svc: --out bad: it is a file, not a folder.\n'],
  ] as const) {
    const wrong = await run(t, ['journal', ...args], { cwd });
    assert.deepEqual([wrong.code, wrong.stderr], [2, said]);
  }
});

test('svc receipt: the event of an upload is proved in the journal and in an export, or found uncovered, missing or changed', async (t) => {
  const { cwd, server, client } = await served(t);
  const stored = await client.put('/home/c', 'receipt', { user: null });
  const id = String(stored.headers['event-id']);
  assert.match(id, /^[0-9a-f-]{36}$/);
  const check = async (uuid: string, ...args: string[]) => {
    const { code, stdout } = await run(t, ['receipt', uuid, ...args, '--json'], { cwd });
    return { code, ...jsonOutputs.receipt.parse(JSON.parse(stdout)) };
  };
  server.child.kill('SIGTERM');
  await server.ended;
  const proved = await check(id);
  assert.deepEqual([proved.code, proved.outcome, proved.found?.path, proved.found?.size], [0, 'proved', '/c', 7]);
  const missing = await check('00000000-0000-4000-8000-00000000dead');
  assert.deepEqual([missing.code, missing.outcome, missing.found], [3, 'missing', null]);
  const out = join(temporaryFolder(t), 'export');
  assert.equal((await run(t, ['journal', 'export', '--since', '1h', '--out', out], { cwd })).code, 0);
  assert.equal((await check(id, out)).outcome, 'proved');

  const second = start(t, ['serve'], { cwd });
  const again = new Client((await second.line(/(http:\S+)\/\n/))[1] ?? '');
  const late = String((await again.put('/home/d', 'x', { user: null })).headers['event-id']);
  second.child.kill('SIGKILL');
  await second.ended;
  const uncovered = await check(late);
  assert.deepEqual([uncovered.code, uncovered.outcome, uncovered.found?.path], [4, 'undecided', '/d']);
  assert.equal((await check(id)).outcome, 'proved', 'events before the uncovered end are covered');
  const path = join(journalOf(cwd).journal, 'events-00000001.ndjson');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"total_write":7', '"total_write":8'));
  assert.deepEqual([(await check(id)).code, (await check(id)).outcome], [3, 'fault']);
});
