import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run, start, startMock } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';
import { configure, crm, files, project, upload, uploadThen } from '../support/webhook-project.ts';

test('events of the journal are sent again to matching handlers, rendered by the current configuration', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a', 'b', 'c');
  configure(cwd, crm(receiver.url, ', extra_data: {v: 2}'));
  const end = await run(t, ['webhook-replay'], { cwd });
  assert.equal(end.code, 0, end.stderr);
  assert.equal(end.stdout, '3 events in 3 requests: 3 delivered\n');
  const bodies = (await receiver.received(6)).map(
    ({ body }) => JSON.parse(body.toString('utf8')) as { v?: number; events: ServiceEvent[] },
  );
  assert.deepEqual(files(bodies.flatMap(({ events }) => events)), ['a', 'b', 'c', 'a', 'b', 'c']);
  assert.deepEqual(
    bodies.map(({ v }) => v),
    [undefined, undefined, undefined, 2, 2, 2],
  );
});

test('selection by IDs, UUIDs, times and limit; --force also sends events that the filters exclude', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a', 'b', 'c');
  const [, b] = receiver.events();
  const cases: [args: string[], sent: number][] = [
    [['--id', '40017'], 3],
    [['--id', '40021'], 0],
    [['--id', '40021', '--force'], 3],
    [['--id', '40021,40017', '--force'], 6],
    [['--id', '40021', '--id', '40017', '--force'], 6],
    [['--uuid', b?.uuid ?? ''], 1],
    [['--since', '1h'], 3],
    [['--until', '1h'], 0],
    [['--since', '2001-01-01', '--until', '2001-01-02T00:00:00Z'], 0],
    [['--limit', '2'], 2],
  ];
  for (const [args, sent] of cases) {
    const before = receiver.requests.length;
    const end = await run(t, ['webhook-replay', ...args], { cwd });
    assert.equal(end.code, 0, `${args.join(' ')}: ${end.stderr}`);
    assert.match(end.stdout, new RegExp(`^${sent} events? in`), args.join(' '));
    await receiver.received(before + sent);
    if (sent === 0) assert.match(end.stderr, /no handler wants any of the selected events/);
  }
});

test('--failed sends each event whose delivery failed, was discarded or was never made; --json reports each delivery', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, { status: 500 }, { status: 503, headers: { 'retry-after': '1' } }, {}] });
  const cwd = project(t, crm(receiver.url));
  await uploadThen(t, cwd, ['1', '2', '3', '4'], () => until('each event was sent once', () => receiver.events().length === 4));
  const late = await startReceiver(t);
  configure(cwd, `${crm(receiver.url)}, late: {type: http, target: 40017, url: "${late.url}", data_filter: "path, /4"}`);
  const end = await run(t, ['webhook-replay', '--failed', '--json'], { cwd });
  assert.equal(end.code, 0, end.stderr);
  const lines = end.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { handler: string; outcome: string; events: unknown[]; status: number });
  assert.deepEqual(lines.map(({ handler, outcome, status }) => [handler, outcome, status]).sort(), [
    ['crm', 'delivered', 200],
    ['crm', 'delivered', 200],
    ['late', 'delivered', 200],
  ]);
  for (const line of lines) jsonOutputs['webhook-replay'].parse(line);
  assert.deepEqual(files(receiver.events()), ['1', '2', '3', '4', '2', '3']);
  assert.deepEqual(files(late.events()), ['4'], 'the new handler gets the event that matches its filter');
  const again = await run(t, ['webhook-replay', '--failed'], { cwd });
  assert.match(again.stdout, /^0 events/);
  assert.match((await run(t, ['events', '--deliveries'], { cwd })).stdout, /\treplay\t/);
});

test('--failed omits events that a running service will still deliver', async (t) => {
  const receiver = await startReceiver(t, { script: [{ fault: 'hang' }] });
  const cwd = project(t, crm(receiver.url));
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  for (const name of ['a', 'b']) await client.put(`/home/${name}`, 'x', { user: null });
  await receiver.received(1);
  const end = await run(t, ['webhook-replay', '--failed'], { cwd });
  assert.match(end.stdout, /^0 events/, end.stdout);
  const all = await run(t, ['webhook-replay', '--handler', 'crm'], { cwd });
  assert.match(all.stdout, /^2 events in 2 requests: 2 delivered/, 'without --failed the journal of a live service is read');
  server.child.kill('SIGKILL');
});

test('a failed delivery is reported with its reason; a failed delivery or an unreachable URL gives exit code 1', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 418, reason: 'Teapot' } });
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a');
  const end = await run(t, ['webhook-replay'], { cwd });
  assert.equal(end.code, 1);
  assert.match(end.stdout, /^crm: 40017 \S+: failed: 418 Teapot\n1 event in 1 request: 0 delivered, 1 failed\n$/);
  assert.equal((await run(t, ['webhook-replay', '--url', 'http://127.0.0.1:1/'], { cwd })).code, 1);
});

test('--dry-run prints method, URL, headers and body with masked secrets, and sends nothing', async (t) => {
  const receiver = await startReceiver(t);
  const more =
    ', username: u, password: marker-1, headers: "X-Api-Key: marker-2", signing_secret: whsec_bWFya2VyLTMtbWFya2VyLTMtbWFya2VyLTM=';
  const cwd = project(t, crm(`${receiver.url}?key=marker-4`, more));
  await upload(t, cwd, 'a');
  const text = await run(t, ['webhook-replay', '--dry-run'], { cwd });
  assert.equal(text.code, 0);
  assert.match(
    text.stdout,
    /^POST http:\/\/127\.0\.0\.1:\d+\/hook\?…\ncontent-type: application\/json\nx-api-key: \*\*\*\nwebhook-id: .*\nwebhook-timestamp: \d+\nwebhook-signature: \*\*\*\nauthorization: Basic \*\*\*\n/,
  );
  assert.match(text.stdout, /\n\n\{"events":\[\{"id":"40017"/);
  const json = jsonOutputs['webhook-replay-dry-run'].parse(
    JSON.parse((await run(t, ['webhook-replay', '--dry-run', '--json'], { cwd })).stdout),
  );
  assert.equal(json.method, 'POST');
  assert.equal(JSON.parse(String(json.body)).events[0].id, '40017');
  for (const stdout of [text.stdout, JSON.stringify(json)]) assert.equal(stdout.includes('marker-'), false);
  assert.equal(receiver.requests.length, 1);
});

test('--dry-run masks the value of every configured header', async (t) => {
  const cwd = project(t, '');
  writeFileSync(join(cwd, 'hook'), 'from-a-file\n');
  const input = JSON.stringify({
    id: '40017',
    timestamp: { timestamp: '1700000000' },
    message: 'm',
    account: { uuid: 'u', name: 'n', peer: { address: '127.0.0.1' } },
    component: { uuid: 'c' },
    server: { uuid: 's' },
    data: {},
  });
  const env = { HOOK: 'from-a-variable', LINES: 'x-e: from-a-variable\nx-g: shown' };
  const headers = async (written: string): Promise<Record<string, string>> => {
    configure(cwd, `crm: {type: http, url: "http://127.0.0.1:1/", headers: ${written}}`);
    const { stdout, stderr } = await run(t, ['webhook-replay', '-', '--dry-run', '--json'], { cwd, env, input });
    assert.equal(`${stdout}${stderr}`.includes('from-a'), false, stdout);
    const { 'content-type': _, ...shown } = jsonOutputs['webhook-replay-dry-run'].parse(JSON.parse(stdout)).headers;
    return shown;
  };
  assert.deepEqual(await headers('{X-Tenant: acme, Accept: text/plain, X-Number: 5}'), {
    'x-tenant': '***',
    accept: '***',
    'x-number': '***',
  });
  const secret = ['X-Authorization', 'My-Cookie', 'X-Token', 'Client-Secret', 'X-Api-Key', 'X-Signature-2', 'X-Password', 'X-Auth'];
  const masked = Object.fromEntries(secret.map((name) => [name.toLowerCase(), '***']));
  assert.deepEqual(await headers(JSON.stringify(secret.map((name) => `${name}: from-a-person`))), masked);
  assert.deepEqual(await headers(`"X-A: shown\\nX-B: \${env:HOOK}\\nX-C: a \${file:hook} b\\nX-D: \${env:NONE:-from-a-default}"`), {
    ...{ 'x-a': '***', 'x-b': '***', 'x-c': '***', 'x-d': '***' },
  });
  assert.deepEqual(
    await headers('"X-G: shown\\n${env:LINES}"'),
    { 'x-g': '***', 'x-e': '***' },
    'headers from lines that a variable adds are masked, too',
  );
});

test('--exact sends the original bytes with the same IDs; --diff shows the differences to the current rendering', async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }, { isHeld: true }] });
  const before = ', batch_size: 3, extra_data: {greeting: hello}, signing_secret: whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0';
  const cwd = project(
    t,
    `${crm(receiver.url, before)}, soap: {type: http, target: 40017, url: "${receiver.url}/soap", http_content_type: soap}`,
  );
  // Both handlers get their first reply only after all files are uploaded. So the other three events of `crm` become one batch.
  await uploadThen(t, cwd, ['a', 'b & "c"'.replace(/[ "&]/g, '_'), 'd', 'e'], async () => {
    await receiver.received(2);
    receiver.release();
  });
  const sent = receiver.requests.map(
    ({ url, body, headers }) => `${url} ${headers['webhook-id']} ${headers['content-type']}\n${body.toString('utf8')}`,
  );
  assert.equal(sent.length, 6, 'six requests, some of them with several events');
  const same = await run(t, ['webhook-replay', '--diff'], { cwd });
  assert.deepEqual([same.code, same.stdout], [0, '']);
  configure(
    cwd,
    `${crm(receiver.url, before.replace('hello', 'goodbye'))}, soap: {type: http, target: 40021, url: "${receiver.url}/soap", http_content_type: soap}`,
  );
  const exact = await run(t, ['webhook-replay', '--exact'], { cwd });
  assert.equal(exact.code, 0, exact.stdout + exact.stderr);
  const again = receiver.requests
    .slice(sent.length)
    .map(({ url, body, headers }) => `${url} ${headers['webhook-id']} ${headers['content-type']}\n${body.toString('utf8')}`);
  assert.deepEqual(again.sort(), sent.sort());
  const diff = await run(t, ['webhook-replay', '--diff'], { cwd });
  assert.equal(diff.code, 1);
  assert.match(diff.stdout, /crm 40017 \S+\n- {3}"greeting": "hello"\n\+ {3}"greeting": "goodbye"\n/);
  assert.match(diff.stdout, /soap 40017 \S+\n- the current filters exclude 40017/);
  const lines = (await run(t, ['webhook-replay', '--diff', '--json'], { cwd })).stdout.trim().split('\n');
  for (const line of lines) assert.ok(jsonOutputs['webhook-replay-diff'].parse(JSON.parse(line)).differences.length > 0);
  assert.equal(receiver.requests.length, 2 * sent.length, 'nothing was sent');
});

test('svc webhook-replay reads one event per line, request bodies, one indented document, and stdin; it reports malformed lines by number', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a', 'b');
  const [a, b] = receiver.events();
  const line = (event: unknown) => `${JSON.stringify(event)}\n`;
  writeFileSync(join(cwd, 'events.ndjson'), `\ufeff${line(a)}\r\n${line(b)}`);
  writeFileSync(join(cwd, 'bodies.ndjson'), line({ events: [a, b], server: {} }) + line({ events: [a] }));
  writeFileSync(join(cwd, 'body.json'), JSON.stringify({ events: [a, b] }, null, 2));
  writeFileSync(join(cwd, 'bad.ndjson'), `${line(a)}{"torn\n${line({ id: 1 })}${line({ ...b, account: null })}${line(b)}`);
  for (const [name, sent] of [
    ['events.ndjson', 2],
    ['bodies.ndjson', 3],
    ['body.json', 2],
  ] as const) {
    const end = await run(t, ['webhook-replay', name, '--handler', 'crm'], { cwd });
    assert.equal(end.code, 0, end.stderr);
    assert.match(end.stdout, new RegExp(`^${sent} events in ${sent} requests: ${sent} delivered`), name);
  }
  const piped = await run(t, ['webhook-replay', '-', '--limit', '1'], { cwd, input: line(b) + line(a) });
  assert.match(piped.stdout, /^1 event in/);
  assert.deepEqual(files(receiver.events()).slice(2), ['a', 'b', 'a', 'b', 'a', 'a', 'b', 'b']);
  const bad = await run(t, ['webhook-replay', 'bad.ndjson'], { cwd });
  assert.equal(bad.code, 1, 'malformed lines fail the run');
  assert.match(bad.stdout, /^2 events in 2 requests: 2 delivered, 3 malformed lines skipped/);
  assert.match(
    bad.stderr,
    /^bad\.ndjson:2: .*; skipped\nbad\.ndjson:3: "id" must be a string; skipped\nbad\.ndjson:4: "account" must have uuid and name; skipped\n/,
  );
  const strict = await run(t, ['webhook-replay', 'bad.ndjson', '--strict'], { cwd });
  assert.equal(strict.code, 1);
  assert.match(strict.stdout, /^1 event in 1 request: 1 delivered, 1 malformed line ended the run/);
  const lenient = await run(t, ['webhook-replay', 'bad.ndjson', '--skip-malformed'], { cwd });
  assert.equal(lenient.code, 0);
  assert.match(lenient.stdout, /2 delivered, 3 malformed lines skipped/);
  const shown = await run(t, ['webhook-replay', 'bad.ndjson', '--dry-run'], { cwd });
  assert.deepEqual([shown.code, shown.stderr.trim().split('\n').at(-1)], [1, 'svc: 3 malformed lines skipped']);
  const both = await run(t, ['webhook-replay', 'bad.ndjson', '--strict', '--skip-malformed'], { cwd });
  assert.deepEqual([both.code, both.stderr], [2, 'svc: --strict and --skip-malformed cannot be used together.\n']);
});

test('an event without a UUID gets one derived from its content', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a', 'b');
  const [a, b] = receiver.events();
  const { uuid: _, data, ...bare } = a as ServiceEvent;
  const written = [
    { ...bare, data },
    { data: Object.fromEntries(Object.entries(data).reverse()), ...bare, uuid: null },
    { ...bare, data, uuid: '' },
    { ...bare, data: { ...data, path: '/other' } },
    b,
  ];
  writeFileSync(join(cwd, 'events.ndjson'), written.map((event) => `${JSON.stringify(event)}\n`).join(''));
  for (let round = 0; round < 2; round++) {
    const end = await run(t, ['webhook-replay', 'events.ndjson', '--handler', 'crm'], { cwd });
    assert.equal(end.code, 0, end.stderr);
  }
  const uuids = receiver
    .events()
    .slice(2)
    .map(({ uuid }) => uuid);
  assert.match(uuids[0] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual([uuids[1], uuids[2]], [uuids[0], uuids[0]], 'different notations of an event give the same UUID');
  assert.notEqual(uuids[3], uuids[0]);
  assert.equal(uuids[4], b?.uuid);
  assert.deepEqual(uuids.slice(5), uuids.slice(0, 5));
  const selected = await run(t, ['webhook-replay', 'events.ndjson', '--uuid', uuids[3] ?? '', '--json'], { cwd });
  assert.equal(JSON.parse(selected.stdout).events[0].uuid, uuids[3]);
});

test('a usage error gives one line and exit code 2', async (t) => {
  const cwd = project(t, crm('http://127.0.0.1:1/'));
  for (const [args, message] of [
    [[], /There is no journal in .*data\/journal/],
    [['nowhere.ndjson'], /nowhere\.ndjson does not exist/],
    [['.'], /is not a file/],
    [['--handler', 'erp'], /no event handler "erp"; known: crm|There is no journal/],
    [['svc.config.yaml', '--url', 'ftp://x/'], /must be an http/],
    [['--exact', '--diff'], /cannot be used together/],
    [['x.ndjson', '--exact'], /they cannot be used with a file/],
    [['--since', 'yesterday'], /must be a time/],
    [['--id', 'abc'], /^svc: --id "abc" must be event IDs, separated by commas/],
    [['--limit', '0'], /above 0/],
  ] as const) {
    const end = await run(t, ['webhook-replay', ...args], { cwd });
    assert.equal(end.code, 2, `${args.join(' ')}: ${end.stdout}${end.stderr}`);
    assert.match(end.stderr, message);
    assert.equal(end.stdout, '');
  }
});

test('5,000 events are replayed in batches with --concurrency 8, and the mock records each event', async (t) => {
  const record = join(temporaryFolder(t), 'got.ndjson');
  const { url } = await startMock(t, ['webhook', '--record', record, '--fail-first', '2'], dirname(record));
  const cwd = project(t, `${crm(url, ', batch_size: 7, retry_count: 2, retry_increase: 0.01')}`);
  const template: ServiceEvent = {
    id: '40017',
    uuid: '',
    message: 'm',
    timestamp: { timestamp: '1700000000.000000', cwa_14051: '2023-11-14 22:13:20' },
    data: { path: '/x' },
    account: { uuid: 'a', name: 'a', peer: { address: '127.0.0.1', port: 1, protocol: 'TCP', family: 'IPv4' } },
    component: { uuid: 'web', type: 'http', name: 'web' },
    server: { uuid: 's', type: 'server', name: 's' },
  };
  const uuids = Array.from({ length: 5000 }, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`);
  writeFileSync(join(cwd, 'day.ndjson'), uuids.map((uuid) => `${JSON.stringify({ ...template, uuid })}\n`).join(''));
  const end = await run(t, ['webhook-replay', 'day.ndjson', '--concurrency', '8'], { cwd });
  assert.equal(end.code, 0, end.stderr);
  assert.match(end.stdout, /^5000 events in 715 requests: 715 delivered\n$/);
  assert.equal(end.stderr, '', 'without a terminal there is no progress');
  const recorded = readFileSync(record, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as ServiceEvent).uuid);
  assert.equal(new Set(recorded).size, 5000);
});

test('Ctrl-C ends a replay with exit code 130 and a summary', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, {}], otherwise: { fault: 'hang' } });
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, 'a', 'b');
  const replay = start(t, ['webhook-replay'], { cwd });
  await receiver.received(3);
  replay.child.kill('SIGINT');
  const end = await replay.ended;
  assert.equal(end.code, 130, end.stderr);
  assert.match(end.stdout, /^0 events in 0 requests/);
});

test('--failed sends failed and never sent events, also to a URL or from a file; --exact repeats a recorded request', async (t) => {
  const receiver = await startReceiver(t, { script: [{}, { status: 500 }] });
  const other = await startReceiver(t);
  const cwd = project(t, crm(receiver.url).replace('fail_after_errors: 0', 'fail_after_errors: 1'));
  await upload(t, cwd, '1', '2', '3');
  const all = (await run(t, ['events', '--id', '40017', '--json'], { cwd })).stdout;
  writeFileSync(join(cwd, 'all.ndjson'), all);
  const shown = (await run(t, ['events', '--failed', '--json'], { cwd })).stdout.trim().split('\n');
  assert.deepEqual(
    shown.map((line) => (JSON.parse(line) as ServiceEvent).data.file_name),
    ['2', '3'],
    'the delivery of 2 failed; 3 was never sent, because the handler had stopped',
  );
  const byUrl = await run(t, ['webhook-replay', '--failed', '--url', other.url], { cwd });
  assert.match(byUrl.stdout, /^2 events in 2 requests: 2 delivered/);
  assert.deepEqual(files(other.events()), ['2', '3']);
  const byFile = await run(t, ['webhook-replay', 'all.ndjson', '--failed'], { cwd });
  assert.match(byFile.stdout, /^2 events in 2 requests: 2 delivered/);
  assert.deepEqual(files(receiver.events()).slice(-2), ['2', '3']);
  const exact = await run(t, ['webhook-replay', '--exact', '--uuid', (JSON.parse(shown[0] ?? '') as ServiceEvent).uuid], { cwd });
  assert.match(exact.stdout, /^1 event in 1 request: 1 delivered/, 'the recorded request is sent again');
});

test('unusable URLs give one line without secrets; hostile files print no control characters; missing records are no error', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500, reason: 'No' } });
  const cwd = project(t, crm(receiver.url));
  await upload(t, cwd, '1');
  for (const args of [
    ['--url', 'http://user:marker-1@127.0.0.1/'],
    ['--url', 'http://user:marker-1@127.0.0.1/', '--handler', 'crm', '--dry-run'],
    ['--url', 'nonsense'],
  ]) {
    const end = await run(t, ['webhook-replay', ...args], { cwd });
    assert.deepEqual([end.code, end.stdout, end.stderr.trim().split('\n').length], [2, '', 1], end.stderr);
    assert.equal(end.stderr.includes('marker-1'), false);
  }
  const [event] = receiver.events();
  const deep = `{"id":"1","uuid":"u","data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  writeFileSync(
    join(cwd, 'hostile.ndjson'),
    `${JSON.stringify({ ...event, uuid: 'u1\u001b[2J' })}\n{"a\u001b[2J\n${deep}\n${JSON.stringify(event)}\n`,
  );
  const hostile = await run(t, ['webhook-replay', 'hostile.ndjson'], { cwd });
  assert.equal(hostile.code, 1);
  assert.equal((hostile.stdout + hostile.stderr).includes('\u001b'), false);
  assert.match(hostile.stdout, /2 events in 2 requests: 0 delivered, 2 failed, 2 malformed lines skipped/);
  const twice = await run(t, ['webhook-replay', '--handler', 'crm', '--handler', 'crm'], { cwd });
  assert.match(twice.stdout, /1 event in 1 request/);
  rmSync(join(cwd, 'data/deliveries'), { recursive: true });
  assert.deepEqual(
    [(await run(t, ['events', '--deliveries'], { cwd })).code, (await run(t, ['events', '--failed'], { cwd })).code],
    [0, 0],
  );
  const waiting = start(t, ['webhook-replay', '-'], { cwd, keepInput: true });
  const before = receiver.requests.length;
  waiting.child.stdin?.write(`${JSON.stringify(event)}\n`);
  await until('the command has read its input', () => receiver.requests.length > before);
  waiting.child.kill('SIGINT');
  assert.equal((await waiting.ended).code, 130, 'SIGINT ends the command, even if stdin stays open');
});
