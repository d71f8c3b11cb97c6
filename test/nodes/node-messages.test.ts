import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { SummedCounts } from '../../src/server/console/sources.ts';
import { Installation, type NodeLink, nodeNames } from '../../src/server/nodes/installation.ts';
import { NodeBoard } from '../../src/server/nodes/node-board.ts';
import { maxMessageBytes, maxReportBytes, type NodeReport } from '../../src/server/nodes/node-messages.ts';
import { NodeQuestions } from '../../src/server/nodes/node-questions.ts';
import { RedisNodeTexts } from '../../src/state/redis/node-texts.ts';
import { until } from '../support/receiver.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';

const counts = { requests: 0, failures: 0, received_bytes: 0, sent_bytes: 0, events: 0, deliveries: 0, failed_deliveries: 0 };

const report = (name: string): NodeReport => ({
  name,
  host: 'here',
  version: '1.0.0',
  phase: 'ready',
  started: '2026-01-01T00:00:00.000Z',
  counts,
  connections: 1,
  memory_bytes: 1,
  services: [],
  methods: [],
  inspections: [],
  transfers: [],
  transfers_left_out: 0,
  errors: [],
  replays: [],
});

const job = '0b5cad00-1111-4222-8333-000000000001';

test('messages between nodes: a silent node is shown as gone and later removed; invalid messages are ignored and logged', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  const lines: string[] = [];
  const log = createLog({ level: 'debug', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const told = (text: string) => lines.filter((line) => line.includes(text)).length;
  const board = new NodeBoard(new RedisNodeTexts(link), log);
  const [reports, times] = [link.key('node-reports'), link.key('node-times')];
  const put = async (node: string, text: string, agoMs = 0) => {
    await link.call(['HSET', reports, node, text]);
    await link.call(['ZADD', times, String(Date.now() - agoMs), node]);
  };

  await board.tell('a', report('one'));
  await put('b', JSON.stringify({ ...report('two'), newer: { than: 'this' } }), 11_000);
  assert.deepEqual(
    (await board.read()).map(({ uuid, isGone, report: { name } }) => [uuid, isGone, name]),
    [
      ['a', false, 'one'],
      ['b', true, 'two'],
    ],
  );
  await put('b', JSON.stringify(report('two')), 700_000);
  await board.tell('a', report('one'));
  assert.deepEqual(
    (await board.read()).map(({ uuid }) => uuid),
    ['a'],
  );
  assert.equal(await link.call(['HEXISTS', reports, 'b']), 0);
  assert.ok(Number(await link.call(['PTTL', reports])) > 0 && Number(await link.call(['PTTL', times])) > 0, 'everything expires');

  const bad = {
    text: 'no JSON',
    list: '[]',
    deep: '['.repeat(5000) + ']'.repeat(5000),
    huge: JSON.stringify({ ...report('huge'), host: 'x'.repeat(maxReportBytes) }),
    phase: JSON.stringify({ ...report('x'), phase: 'rebooting' }),
    count: JSON.stringify({ ...report('x'), memory_bytes: -1 }),
    // The page makes a link of the UUID, which is impossible with half of a surrogate pair.
    link: JSON.stringify({ ...report('x'), errors: [{ time: '', id: '40000', uuid: '\ud800', message: '' }] }),
  };
  for (const [node, text] of Object.entries(bad)) await put(node, text);
  for (let round = 0; round < 2; round++)
    assert.deepEqual(
      (await board.read()).map(({ uuid }) => uuid),
      ['a'],
    );
  assert.equal(
    told('the report of a node about itself cannot be read'),
    Object.keys(bad).length,
    'each invalid report causes one log line',
  );
  await put('count', JSON.stringify(report('mended')));
  assert.equal((await board.read()).length, 2);

  for (const time of ['-1e300', '1e300', '-inf', '+inf', String(Date.now() + 86_400_000)]) {
    await put('jumped', JSON.stringify(report('jumped')));
    await link.call(['ZADD', times, time, 'jumped']);
    assert.ok(
      (await board.read()).every(({ uuid, ageMs }) => uuid !== 'jumped' && ageMs >= 0 && ageMs <= 600_000),
      time,
    );
    await board.tell('a', report('one'));
    assert.equal(await link.call(['HEXISTS', reports, 'jumped']), 0, `${time} is forgotten`);
  }

  for (let index = 0; index < 150; index++) await put(`many-${index}`, JSON.stringify(report('many')));
  assert.equal((await board.read()).length, 100, 'only the first hundred reports of a flood are checked');
  await board.leave('a');
  assert.equal(await link.call(['HEXISTS', reports, 'a']), 0);
});

test('questions between nodes: each node answers for itself, in time or not at all; invalid answers are ignored and logged', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  const lines: string[] = [];
  const log = createLog({ level: 'debug', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const told = (text: string) => lines.filter((line) => line.includes(text)).length;
  const make = () => new NodeQuestions(new RedisNodeTexts(link), { clock: systemClock, log });
  const [asker, first, second, slow] = [make(), make(), make(), make()];
  const seen: string[] = [];
  first.begin('first', async (question) => {
    seen.push(question.kind);
    return question.kind === 'replay-results' ? `of ${question.replay}` : null;
  });
  second.begin('second', async () => {
    throw new ServiceError('not-found', 'It is not here.');
  });
  slow.begin('slow', () => new Promise(() => {}));
  t.after(() => {
    for (const questions of [first, second, slow]) questions.end();
  });

  const bad = [
    'no JSON',
    '{}',
    JSON.stringify({ id: job, kind: 'remove-all' }),
    JSON.stringify({ id: '../x', kind: 'reload' }),
    'x'.repeat(maxMessageBytes + 1),
  ];
  for (const text of bad) await link.call(['RPUSH', link.key('node-questions', 'first'), text]);
  const request = { kind: 'replay-results', replay: job } as const;
  assert.equal((await asker.ask(['slow'], request, 1000)).size, 0);
  const answers = await asker.ask(['first', 'second'], request, 60_000);
  assert.equal(answers.size, 2);
  assert.deepEqual(answers.get('first'), { node: 'first', reply: `of ${job}` });
  assert.deepEqual(answers.get('second'), { node: 'second', refused: { code: 'not-found', message: 'It is not here.' } });
  assert.deepEqual(seen, ['replay-results'], 'each question once, and no invalid one');
  assert.ok(told('a question of another node cannot be read') > 0);

  const asked = asker.ask(['silent'], { kind: 'reload' }, 60_000);
  const questions = link.key('node-questions', 'silent');
  await until('the question is in Redis', async () => Number(await link.call(['LLEN', questions])) > 0);
  assert.ok(Number(await link.call(['PTTL', questions])) > 0, 'a question does not wait forever');
  const { id } = JSON.parse(String(await link.call(['LPOP', questions]))) as { id: string };
  const wrong = [
    'no JSON',
    JSON.stringify({ node: 'silent', reply: 'not a report' }),
    JSON.stringify({ node: 'another', reply: null }),
    'x'.repeat(maxMessageBytes + 1),
  ];
  const right = { node: 'silent', refused: { code: 'not-found', message: 'It is not here.' } };
  for (const text of [...wrong, JSON.stringify(right)]) await link.call(['RPUSH', link.key('node-answers', id), text]);
  assert.deepEqual([...(await asked).values()], [right]);
  assert.equal(told(`"answers":${wrong.length}`), 1);

  const flooded = asker.ask(['flooded'], { kind: 'reload' }, 60_000);
  const flood = link.key('node-questions', 'flooded');
  await until('the question is in Redis', async () => Number(await link.call(['LLEN', flood])) > 0);
  const floodedBy = JSON.parse(String(await link.call(['LPOP', flood]))) as { id: string };
  await link.call(['RPUSH', link.key('node-answers', floodedBy.id), ...Array.from({ length: 200 }, () => 'x')]);
  assert.equal((await flooded).size, 0, 'garbage as an answer ends the wait');

  for (let index = 0; index < 120; index++) await link.call(['RPUSH', link.key('node-questions', 'full'), 'x']);
  await asker.ask(['full'], { kind: 'reload' }, 10);
  assert.equal(await link.call(['LLEN', link.key('node-questions', 'full')]), 120, 'a node that reads no questions gets no further ones');
});

test('a node whose state changes while it sends a report sends a second report, with the new state', async () => {
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const board = {
    silence: '',
    async tell(_: string, { name }: NodeReport) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      told.push(name);
    },
  };
  let name = 'before';
  const own = { uuid: 'a', name: 'a', report: async () => report(name), answer: async () => null };
  const installation = new Installation(own, { board, questions: {} } as unknown as NodeLink, silentLog);
  const release = () => until('a report is being sent', async () => waiting.length > 0).then(() => waiting.shift()?.());
  const first = installation.tell();
  await until('the first report is being sent', async () => waiting.length > 0);
  name = 'after';
  const [second, third] = [installation.tell(), installation.tell()];
  await release();
  await first;
  await release();
  await Promise.all([second, third]);
  assert.deepEqual(told, ['before', 'after']);
});

test('similar names of nodes are made distinct; counters that are summed over all nodes do not fall when nodes come, go and restart', () => {
  const node = (uuid: string, name: string, host: string) => ({ uuid, name, host });
  const names = nodeNames([
    node('11111111-a', 'one', 'x'),
    node('22222222-b', 'files', 'x'),
    node('33333333-c', 'files', 'y'),
    node('44444444-d', 'same', 'z'),
    node('55555555-e', 'same', 'z'),
  ]);
  assert.deepEqual([...names.values()], ['one', 'files (x)', 'files (y)', 'same (44444444)', 'same (55555555)']);

  const summed = new SummedCounts();
  const at = (uuid: string, requests: number, started = 'a') => ({ uuid, started, counts: { ...counts, requests } });
  const sums = [
    [at('1', 100), at('2', 1000)],
    [at('1', 105), at('2', 1001)],
    [at('1', 106)],
    [at('1', 107), at('2', 9000)],
    [at('1', 3, 'b'), at('2', 9001)],
  ].map((nodes) => summed.add(nodes).requests);
  assert.deepEqual(sums, [0, 6, 7, 8, 12]);
});
