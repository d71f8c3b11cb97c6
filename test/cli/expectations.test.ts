import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { eventIds } from '../../src/events/event-ids.ts';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';
import { project } from '../support/webhook-project.ts';

// A file was due exactly once in the last day, regardless of when the test runs.
const daily = { every: '1d', from: '00:00' };

test('svc expectations: `check` needs no reload; `list`, `history`, `excuse` and `expect-again` ask a running service', async (t) => {
  const receiver = await startReceiver(t);
  const cwd = project(t, `crm: {type: http, url: "${receiver.url}", target: "40017, ${eventIds.expectationExcused}"}`);
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  await client.put('/home/orders.csv', 'x', { user: null });

  const none = await run(t, ['expectations', 'check'], { cwd });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /has no "expectations"/);
  const expectations = {
    orders: { ...daily, path: '/orders*.csv', grace: '1d', opens: '2d' },
    bills: { ...daily, path: '/bills*.csv', name: 'Bills' },
  };
  const file = join(cwd, 'svc.config.yaml');
  const withExpectations = (wanted: object) => `${readFileSync(file, 'utf8')}expectations: ${JSON.stringify(wanted)}\n`;
  const configuration = withExpectations(expectations);
  writeFileSync(join(cwd, 'new.yaml'), configuration);
  const before = await run(t, ['expectations', 'check', '--since', '1d', '--config', 'new.yaml', '--json'], { cwd });
  assert.equal(before.code, 3, before.stderr);
  const { occurrences } = jsonOutputs.expectations.parse(JSON.parse(before.stdout));
  const states = (all: typeof occurrences) => all.map(({ expectation, state }) => [expectation, state]).sort();
  assert.deepEqual(states(occurrences), [
    ['bills', 'missing'],
    ['orders', 'met'],
  ]);
  const [came] = occurrences.find(({ expectation }) => expectation === 'orders')?.files ?? [];
  assert.deepEqual([came?.path, came?.size, came?.account], ['/orders.csv', 1, 'anonymous']);
  writeFileSync(join(cwd, 'met.yaml'), withExpectations({ orders: expectations.orders }));
  const met = await run(t, ['expectations', 'check', '--since', '1d', '--config', 'met.yaml'], { cwd });
  assert.deepEqual([met.code, met.stderr], [0, 'svc: past occurrences: 1; with late, missing or malformed files: 0\n']);

  writeFileSync(file, configuration);
  assert.equal((await run(t, ['reload'], { cwd })).code, 0);
  const list = await run(t, ['expectations', 'list', '--json'], { cwd });
  const shown = jsonOutputs['expectations-list'].parse(JSON.parse(list.stdout)).expectations;
  assert.deepEqual(
    shown.map(({ expectation, name, last, next }) => [expectation, name, last?.state, next !== null]),
    [
      ['orders', 'orders', 'met', true],
      ['bills', 'Bills', 'missing', true],
    ],
  );
  const due = shown[1]?.last?.due ?? '';
  const excused = await run(t, ['expectations', 'excuse', 'bills', due, '--reason', 'none to pay', '--json'], { cwd });
  assert.equal(excused.code, 0, excused.stderr);
  assert.equal((JSON.parse(excused.stdout) as { state: string }).state, 'excused');
  const after = await run(t, ['expectations', 'check', '--since', '1d', '--json'], { cwd });
  assert.equal(after.code, 0, after.stdout);
  const history = await run(t, ['expectations', 'history', 'bills', '--since', '1d'], { cwd });
  assert.match(history.stdout, /^\S+\texcused\tbills\t-\tnone to pay\n\S+\twaiting\tbills\t-\n$/);
  const again = await run(t, ['expectations', 'expect-again', 'bills', due, '--until', '2h'], { cwd });
  assert.match(again.stdout, /^expected once more: bills, due \S+, until \S+\n$/, again.stderr);
  const waiting = await run(t, ['expectations', 'history', 'bills', '--since', '1d', '--json'], { cwd });
  const known = jsonOutputs.expectations.parse(JSON.parse(waiting.stdout));
  assert.deepEqual([states(known.occurrences)[0], known.punctuality], [['bills', 'waiting'], null]);
  const punctual = await run(t, ['expectations', 'history', 'orders', '--since', '1d'], { cwd });
  assert.match(punctual.stderr, /^svc: relative to the due time: 1 came, median \+\d+:\d\d:\d\d; half of them from /);
  const told = await run(t, ['events', '--id', String(eventIds.expectationExcused), '--json'], { cwd });
  assert.match(told.stdout, /"reason":"none to pay"/);
  await until('the handler gets the event', () => receiver.requests.some(({ body }) => String(body).includes('none to pay')));

  for (const [args, said] of [
    [['excuse', 'bills', 'soon', '--reason', 'x'], /The value of "due" must be a time such as/],
    [['excuse', 'nobody', due, '--reason', 'x'], /There is no expectation "nobody"/],
    [['history', 'bill'], /There is no expectation "bill" \(did you mean "bills"\?\)/],
  ] as const) {
    const wrong = await run(t, ['expectations', ...args], { cwd });
    assert.equal(wrong.code, 2, wrong.stderr);
    assert.match(wrong.stderr, said);
  }
});

test('svc validate reports expectations that no file can meet', async (t) => {
  const cwd = temporaryFolder(t);
  const dropper = { password: 'x'.repeat(20), permissions: [['allow-read'], ['/in/*', 'allow-create-file']] };
  const base = { accounts: { acme: { password: 'x'.repeat(20) }, dropper }, services: { web: { type: 'http', port: 0 } } };
  writeFileSync(join(cwd, 'bad-days.txt'), '25.12.2026\n');
  const findings = async (expectation: object) => {
    writeFileSync(join(cwd, 'svc.config.yaml'), JSON.stringify({ ...base, expectations: { orders: { path: '/in/*', ...expectation } } }));
    const { stdout } = await run(t, ['validate', '--json'], { cwd });
    const all = (JSON.parse(stdout) as { findings: { code: string; path: string }[] }).findings;
    return all.filter(({ path }) => path.startsWith('expectations')).map(({ code, path }) => `${code} ${path}`);
  };
  assert.deepEqual(await findings({ schedule: '0 6 * * *', time_zone: 'Europe/Berlin' }), []);
  assert.deepEqual(await findings({ schedule: '0 0 30 2 *' }), ['expectation-never expectations.orders.schedule']);
  for (const account of ['acme', 'dropper']) assert.deepEqual(await findings({ every: '1d', account }), []);
  const elsewhere = { every: '1d', path: '/out/orders-{yyyy}{MM}{dd}.csv', account: 'dropper' };
  assert.deepEqual(await findings(elsewhere), ['expectation-never expectations.orders.path']);
  assert.deepEqual(await findings({ every: '1h', grace: '2h' }), ['expectation-overlap expectations.orders.grace']);
  assert.deepEqual(await findings({ every: '1h', group: 'NONE' }), ['unknown-reference expectations.orders.group']);
  assert.deepEqual(await findings({ every: '1h', holidays: 'bad-days.txt' }), ['file-unreadable expectations.orders.holidays']);
  assert.deepEqual(await findings({ every: '1h', holidays: 'none.txt' }), ['file-unreadable expectations.orders.holidays']);
  assert.deepEqual(await findings({ every: '1h', time_zone: 'Europe/Atlantis' }), ['bad-value expectations.orders.time_zone']);
});
