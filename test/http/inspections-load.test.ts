import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { control } from '../support/control.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';

test('waiting for a turn counts towards answer_within: after this time the client gets 202, and the verdict comes later', async (t) => {
  const server = await inspecting(t, { maximum_concurrent: 1, answer_within: 0.3 });
  const first = server.put('/home/d/first', 'wait');
  await until('the first inspection is asked', () => server.inspector.requests.length === 1);
  const second = await server.put('/home/d/second', 'fine');
  assert.equal(second.status, 202);
  assert.equal(server.inspector.requests.length, 1, 'the second file was not yet sent to the inspection');
  assert.equal((await first).status, 202);
  assert.deepEqual(
    (await heldOf(server)).map(({ state, reason }) => [state, reason]),
    [
      ['inspecting', 'late'],
      ['inspecting', 'late'],
    ],
  );
  server.inspector.answerAll(204);
  await until('both files are visible', async () => visible(join(server.home, 'd')).length === 2 && (await heldOf(server)).length === 0);
});

test('maximum_concurrent is shared fairly: a file does not wait for all ten files of another account', async (t) => {
  const bob = `bob:${testPassword}`;
  const server = await inspecting(
    t,
    { maximum_concurrent: 1, answer_within: 60 },
    { accounts: { bob: { password: await cheapHash(testPassword) } } },
  );
  const { inspector, home } = server;
  const puts = Array.from({ length: 10 }, (_, index) => server.put(`/home/d/alice-${index}`, 'wait'));
  await until('all files of alice wait', () => hidden(join(home, 'd')).length === 10 && inspector.requests.length === 1);
  puts.push(server.put('/home/d/bob', 'wait', { user: bob }));
  await until('the file of bob waits, too', () => hidden(join(home, 'd')).length === 11);
  for (let answered = 1; answered <= puts.length; answered++) {
    await until('the next inspection is asked', () => inspector.requests.length === answered);
    assert.equal(inspector.requests.length, answered, 'files are inspected one at a time');
    inspector.answerWaiting(204);
  }
  for (const { status } of await Promise.all(puts)) assert.equal(status, 201);
  const order = inspector.requests.map(({ facts }) => (facts.account as { username: string }).username);
  // The hidden file appears shortly before the inspection is queued. In order of arrival, the file of bob would be the last.
  assert.ok(order.indexOf('bob') <= 5, order.join());
});

test('the metrics count verdicts, times, and held uploads by state', async (t) => {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url, answer_within: 0.2, maximum_size: 100 } },
    group: { inspections: [['check']] },
    services: { web: { type: 'http', port: 0 }, watch: { type: 'monitor', port: 0 } },
  });
  const watch = new Client(server.service.listening().find(({ uuid }) => uuid === 'watch')?.url ?? '');
  const metrics = async () => (await watch.send('GET', '/metrics', { user: null })).text;
  assert.match(await metrics(), /^svc_held_oldest_seconds 0$/m);
  for (const content of ['fine', 'fine', 'bad', 'odd', 'fail', 'x'.repeat(101), 'wait'])
    await server.put(`/home/${content.slice(0, 9)}`, content);
  const text = await metrics();
  const count = (verdict: string) =>
    Number(new RegExp(`^svc_inspections_total\\{inspection="check",verdict="${verdict}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  assert.deepEqual(['accept', 'refuse', 'hold', 'failure', 'larger'].map(count), [2, 1, 1, 1, 1]);
  assert.match(text, /^svc_inspection_duration_seconds_count\{inspection="check"\} 5$/m);
  assert.match(text, /^svc_held_uploads\{state="held"\} 3$/m);
  assert.match(text, /^svc_held_uploads\{state="inspecting"\} 1$/m);
  assert.match(text, /^svc_held_oldest_seconds 0\.\d+$/m);
});

test('on a full disk, held uploads stay and can be released; new files get 507 and leave nothing behind', async (t) => {
  const disk = smallDisk(t, 1024);
  if (!disk) return;
  const inspector = await startInspector(t);
  inspector.decide = ({ body }) => ({ status: body.includes('odd') ? 202 : 204 });
  const group = { home_folder_path: disk, inspections: [[], ['/d/*', 'check']] };
  const server = await startServer(t, { inspections: { check: { type: 'http', url: inspector.url } }, group });
  mkdirSync(join(disk, 'd'));
  const content = (word: string) => Buffer.alloc(300 * 1024, `${word} `);
  assert.equal((await server.put('/home/d/held', content('odd'))).status, 202);
  assert.equal((await server.put('/home/free', content('fine'))).status, 201);
  fillDisk(join(disk, 'filler'));
  assert.equal((await server.put('/home/d/new', content('fine'))).status, 507);
  // A move into inspected paths needs a copy for the inspection.
  assert.equal((await server.send('MOVE', '/home/free', { headers: { destination: '/home/d/free' } })).status, 507);
  assert.deepEqual(visible(disk).sort(), ['d', 'filler', 'free']);
  assert.deepEqual(visible(join(disk, 'd')), []);
  assert.equal(hidden(join(disk, 'd')).length, 1, 'only the held file is hidden');
  const [item] = await heldOf(server);
  assert.equal((await control(t, join(server.folder, 'data'), 'held', 'release', String(item?.id))).code, 0);
  assert.deepEqual(visible(join(disk, 'd')), ['held']);
});
