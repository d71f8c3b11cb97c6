import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, renameSync, unlinkSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { RedisValues } from '../../src/lib/redis/redis-values.ts';
import { fileRecords } from '../../src/state/memory/delivery-records.ts';
import { HandlerPositions } from '../../src/state/memory/handler-positions.ts';
import { redisRecords } from '../../src/state/redis/delivery-records.ts';
import { DeliveryHistory } from '../../src/webhooks/records/delivery-history.ts';
import { DeliveryLog, type DeliveryLogOptions, readDeliveries } from '../../src/webhooks/records/delivery-log.ts';
import type { DeliveryRecord } from '../../src/webhooks/records/delivery-record.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

function record(uuid: string, more: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return { time: 't', handler: 'crm', outcome: 'delivered', events: [{ id: '40017', uuid }], attempts: [], method: 'POST', ...more };
}

function setup(t: TestContext, more: Partial<DeliveryLogOptions> = {}) {
  const folder = temporaryFolder(t);
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', clock, write: (line) => lines.push(line) });
  return { folder, clock, lines, options: { folder, maximumFileSizeBytes: 1000, retentionDays: 1, clock, log, ...more } };
}

async function all(folder: string, kind: 'deliveries' | 'replays' = 'deliveries') {
  const records: DeliveryRecord[] = [];
  const bad: string[] = [];
  for await (const read of readDeliveries(folder, kind, undefined, (reason) => bad.push(reason))) records.push(read.record);
  return { uuids: records.map(({ events }) => events[0]?.uuid), bad };
}

test('records are read in order across files, in spite of a torn end and of invalid lines', async (t) => {
  const { folder, options, lines } = setup(t);
  const first = DeliveryLog.open(options);
  for (let index = 0; index < 20; index++) first.append(record(String(index)));
  await first.close();
  const files = readdirSync(folder).filter((name) => name.startsWith('deliveries-'));
  assert.ok(files.length > 1);
  appendFileSync(join(folder, files.at(-1) ?? ''), '{"handler":"crm","eve');
  const second = DeliveryLog.open(options);
  second.append(record('last'));
  await second.close();
  appendFileSync(join(folder, files[0] ?? ''), 'no JSON\n{"handler":1}\n');
  const { uuids, bad } = await all(folder);
  assert.deepEqual(uuids, [...Array.from({ length: 20 }, (_, index) => String(index)), 'last']);
  assert.equal(bad.length, 2);
  assert.ok(lines.some((line) => line.includes('torn')));
});

test('on a full disk records are lost and counted, with a line in the log each second; later records are written', async (t) => {
  let isFull = false;
  const { folder, options, lines, clock } = setup(t, {
    write: (fd, bytes) => {
      if (isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return writeSync(fd, bytes);
    },
  });
  const log = DeliveryLog.open(options);
  log.append(record('before'));
  isFull = true;
  for (let index = 0; index < 50; index++) log.append(record('lost'));
  assert.equal(lines.filter((line) => line.includes('could not be recorded')).length, 1);
  clock.advance(1000);
  log.append(record('lost'));
  assert.ok(lines.at(-1)?.includes('"lost":51'));
  isFull = false;
  log.append(record('after'));
  await log.close();
  assert.deepEqual((await all(folder)).uuids, ['before', 'after']);
});

test('concurrent replays write separate files, and their records count as deliveries', async (t) => {
  const { folder, options } = setup(t);
  const service = DeliveryLog.open(options);
  const [one, two] = [DeliveryLog.create(options), DeliveryLog.create(options)];
  service.append(record('a', { outcome: 'failed', events: [{ id: '1', uuid: 'a', position: '00000001:10' }] }));
  service.append(record('b', { outcome: 'failed' }));
  one.append(record('a', { source: 'replay', events: [{ id: '1', uuid: 'a', position: '00000001:10' }] }));
  two.append(record('c', { source: 'replay' }));
  await Promise.all([service, one, two].map((log) => log.close()));
  assert.deepEqual((await all(folder, 'replays')).uuids, ['a', 'c']);
  const history = await DeliveryHistory.read(fileRecords(folder), assert.fail);
  assert.deepEqual(history.handlers, ['crm']);
  assert.equal(history.isDelivered('crm', 'a', { segment: 1, offset: 10 }), true);
  assert.equal(history.isUndelivered('crm', 'a', { segment: 1, offset: 10 }), false);
  assert.equal(history.isUndelivered('crm', 'b', undefined), true);
  assert.equal(history.isDelivered('other', 'a', { segment: 1, offset: 10 }), false);
});

test('old files are removed, including those of replays; the current file stays', async (t) => {
  const { folder, options, clock } = setup(t);
  const replay = DeliveryLog.create(options);
  replay.append(record('r'));
  await replay.close();
  const log = DeliveryLog.open(options);
  for (let index = 0; index < 20; index++) log.append(record(String(index)));
  const old = new Date(clock.nowMs() - 2 * 86_400_000);
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
  const last = readdirSync(folder)
    .filter((name) => name.startsWith('deliveries-'))
    .at(-1);
  clock.advance(3_600_000);
  assert.deepEqual(readdirSync(folder), [last]);
  await log.close();
});

test('if the folder of records cannot be read at present, this is logged, and the delivery log continues', async (t) => {
  const { folder, options, clock, lines } = setup(t);
  const log = DeliveryLog.open(options);
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'no folder');
  clock.advance(3_600_000);
  assert.ok(lines.some((line) => line.includes('ENOTDIR')));
  unlinkSync(folder);
  renameSync(`${folder}.away`, folder);
  await log.close();
});

test('the position of a handler is the furthest one in positions.json and in newer records', async (t) => {
  const { folder, options } = setup(t);
  const log = DeliveryLog.open(options);
  log.append(record('a', { resume: '00000001:500' }));
  const between = log.end;
  log.append(record('b', { resume: '00000002:7' }));
  log.append(record('c', { handler: 'chat', resume: '00000001:9' }));
  log.append(record('d', { source: 'upload' }));
  await log.close();
  const text = (handlers: object, deliveries?: object) => JSON.stringify({ handlers, ...deliveries });
  const open = () => HandlerPositions.open(folder, options.log);
  assert.deepEqual((await open()).get('crm'), { segment: 2, offset: 7 });
  writeFileSync(join(folder, 'positions.json'), text({ crm: '00000003:1', gone: '00000001:1', bad: 'x' }));
  const positions = await open();
  assert.deepEqual(
    [positions.get('crm'), positions.get('chat'), positions.get('bad')],
    [{ segment: 3, offset: 1 }, { segment: 1, offset: 9 }, undefined],
  );
  assert.deepEqual(positions.oldest(['crm', 'gone', 'nobody']), { segment: 1, offset: 1 });
  positions.keepOnly(new Set(['crm']));
  assert.equal(positions.get('gone'), undefined);
  writeFileSync(join(folder, 'positions.json'), text({ crm: '00000001:1' }, { deliveries: `00000001:${between.offset}` }));
  assert.deepEqual((await open()).get('crm'), { segment: 2, offset: 7 }, 'records that are newer than the file are added');
});

test('records in files and in Redis are validated alike', async (t) => {
  const { folder } = setup(t);
  const whole = record('whole');
  const lines = [
    JSON.stringify(whole),
    ...(['handler', 'outcome', 'time', 'attempts', 'events'] as const).map((name) => JSON.stringify({ ...whole, [name]: undefined })),
    JSON.stringify({ ...whole, events: [{ id: 1, uuid: 'number' }] }),
    '['.repeat(1000) + ']'.repeat(1000),
    'null',
    '{',
  ];
  writeFileSync(join(folder, 'deliveries-00000001.ndjson'), lines.map((line) => `${line}\n`).join(''));
  const entries = lines.map((line, index) => [`${index + 1}-0`, ['record', line]]);
  const redis = redisRecords({
    key: (...parts: string[]) => parts.join(':'),
    call: async () => entries,
    values: new RedisValues(silentLog),
  });
  for (const records of [fileRecords(folder), redis]) {
    const good: string[] = [];
    const bad: string[] = [];
    for await (const { record } of records.read('deliveries', undefined, (reason) => bad.push(reason)))
      good.push(record.events[0]?.uuid ?? '');
    assert.deepEqual([good, bad.length], [['whole'], lines.length - 1]);
  }
});
