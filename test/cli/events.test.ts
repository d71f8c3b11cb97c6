import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run, start, startMock } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';
import { crm, project, upload } from '../support/webhook-project.ts';

test('svc events prints the journal as text or JSON, filters it and follows it; it also prints deliveries and the catalogue', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }] });
  const cwd = project(t, crm(receiver.url));
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const follow = start(t, ['events', '--follow', '--id', '40017', '--json'], { cwd });
  await client.put('/home/a%C2%9B31m', 'x', { user: null });
  await follow.line(/"id":"40017"/);
  await client.put('/home/b', 'x', { user: null });
  await follow.line(/"file_name":"b"/);
  follow.child.kill('SIGINT');
  assert.equal((await follow.ended).code, 130);
  await until(
    'the failed and the repeated delivery are in the journal',
    async () => (await run(t, ['events', '--id', '20174,20189'], { cwd })).stdout.split('\n').length === 3,
  );
  const text = (await run(t, ['events', '--id', '40017'], { cwd })).stdout;
  assert.match(text, /^\d{4}-\S+Z\t40017\tanonymous\t127\.0\.0\.1\tThe file "\/a\\u009b31m" was uploaded\.\n/);
  const failed = (await run(t, ['events', '--failed', '--json'], { cwd })).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ServiceEvent);
  assert.deepEqual(
    failed.map(({ id, data }) => [id, data.path]),
    [['40017', '/a\u009b31m']],
  );
  const deliveries = (await run(t, ['events', '--deliveries'], { cwd })).stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  assert.deepEqual(
    deliveries.map(([, handler, outcome, ids, , , status]) => [handler, outcome, ids, status]),
    [
      ['crm', 'failed', '40017', '500'],
      ['crm', 'delivered', '40017', '200'],
    ],
  );
  const records = (await run(t, ['events', '--deliveries', '--handler', 'crm', '--json'], { cwd })).stdout.trim().split('\n');
  for (const record of records.map((line) => JSON.parse(line)))
    assert.deepEqual(jsonOutputs['events-deliveries'].parse(record), record, 'svc schema names every member');
  const notDelivered = (await run(t, ['events', '--deliveries', '--failed', '--json'], { cwd })).stdout;
  assert.deepEqual(notDelivered, `${records[0]}\n`);
  assert.equal((await run(t, ['events', '--deliveries', '--handler', 'nobody'], { cwd })).stdout, '');
  assert.match((await run(t, ['events', '--catalogue'], { cwd })).stdout, /^20001 {2}The server is starting\./);
  server.child.kill('SIGTERM');
  await server.ended;
  const elsewhere = await run(t, ['events', '--data-folder', join(cwd, 'data'), '--limit', '1'], { cwd: temporaryFolder(t) });
  assert.match(elsewhere.stdout, /\t20001\t/);
});

test('svc events --data-folder needs no valid configuration, except with --failed, which reads its handlers', async (t) => {
  const cwd = project(t, crm('http://127.0.0.1:9/'));
  const server = start(t, ['serve'], { cwd });
  await server.line(/listening/);
  server.child.kill('SIGTERM');
  await server.ended;
  appendFileSync(join(cwd, 'svc.config.yaml'), '\nno_option: 1\n');
  for (const args of [
    ['--data-folder', 'data'],
    ['--deliveries', '--data-folder', 'data'],
  ]) {
    const { code, stderr } = await run(t, ['events', ...args], { cwd });
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  }
  for (const args of [['events'], ['events', '--failed', '--data-folder', 'data'], ['webhook-replay', '--data-folder', 'data']]) {
    const { code, stderr } = await run(t, args, { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /unknown option "no_option"/);
  }
  writeFileSync(join(cwd, 'svc.config.yaml'), 'services: [');
  assert.match((await run(t, ['events', '--data-folder', 'data'], { cwd })).stdout, /\t20001\t/);
  assert.equal((await run(t, ['events'], { cwd })).code, 1);
});

test('no file name reverses the text around it or sends a command to the terminal; JSON contains the exact name', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const cwd = project(t, crm(receiver.url));
  const name = 'a\u202egpj.exe\u2066\u200f\u061c\u009b31m';
  await upload(t, cwd, encodeURIComponent(name));
  const commands = [
    ['events'],
    ['events', '--json'],
    ['events', '--deliveries'],
    ['events', '--deliveries', '--json'],
    ['webhook-replay', '--dry-run'],
  ];
  for (const args of commands) {
    const { stdout, stderr } = await run(t, args, { cwd });
    assert.doesNotMatch(stdout + stderr, /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/, args.join(' '));
  }
  const lines = (await run(t, ['events', '--json', '--id', '40017'], { cwd })).stdout.trim().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as ServiceEvent).data.file_name),
    [name],
  );
  assert.match((await run(t, ['events', '--id', '40017'], { cwd })).stdout, /"\/a\\u202egpj\.exe\\u2066\\u200f\\u061c\\u009b31m"/);
});

test('svc mock webhook replies as its options say, refuses unsigned requests if it has a secret, and prints events', async (t) => {
  const cwd = temporaryFolder(t);
  const event = {
    id: '40017',
    uuid: 'u',
    message: 'm\u001b[31m',
    timestamp: { timestamp: '1.0' },
    data: {},
    account: { uuid: 'a', name: 'a', peer: { address: '' } },
    component: { uuid: 'c' },
    server: { uuid: 's' },
  };
  const post = async (args: string[], count = 1) => {
    const { url, stdout } = await startMock(t, ['webhook', ...args], cwd);
    const client = new Client(url);
    const replies = [];
    for (let index = 0; index < count; index++)
      replies.push(await client.send('POST', '/hook', { user: null, mayFail: true, body: JSON.stringify({ events: [event] }) }));
    return { replies, stdout };
  };
  const statuses = async (args: string[], count = 1) => (await post(args, count)).replies.map(({ status }) => status);
  assert.deepEqual(await statuses([]), [200]);
  assert.deepEqual(await statuses(['--status', '204']), [204]);
  assert.deepEqual(await statuses(['--fail-first', '2'], 3), [500, 500, 200]);
  assert.deepEqual(await statuses(['--fail-first', '1', '--status', '429'], 2), [429, 200]);
  assert.deepEqual(await statuses(['--secret', 'whsec_AAAA']), [401]);
  const busy = await post(['--retry-after', '60']);
  assert.deepEqual([busy.replies[0]?.status, busy.replies[0]?.headers['retry-after']], [503, '60']);
  const full = await post(['--header', 'X-Receipt: 42', '--body', '<Status>OK</Status>']);
  assert.deepEqual([full.replies[0]?.headers['x-receipt'], full.replies[0]?.text], ['42', '<Status>OK</Status>']);
  await until('the mock printed the event', () => full.stdout().includes('40017'));
  assert.match(full.stdout(), /POST \/hook 1 event -> 200\n {2}40017 u m\\u001b\[31m\n/);
  const { stdout } = await post(['--json']);
  await until('the mock printed the event', () => stdout().includes('40017'));
  const printed = stdout()
    .trim()
    .split('\n')
    .map((line) => jsonOutputs['mock-webhook'].parse(JSON.parse(line)));
  assert.ok('listening' in (printed[0] ?? {}) && 'event' in (printed[1] ?? {}));
  assert.equal((await run(t, ['mock', 'webhook', '--header', 'nonsense'], { cwd })).code, 2);
});
