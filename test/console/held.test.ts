import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TestRequest } from '../support/client.ts';
import { asOperator, asReviewer, asViewer, startConsole } from '../support/console.ts';
import { heldOf, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';

async function startHolding(t: TestContext) {
  const inspector = await startInspector(t);
  const group = { inspections: [['check']] };
  const { server, console } = await startConsole(t, {
    inspections: { check: { name: 'Content check', type: 'http', url: inspector.url } },
    group,
  });
  const hold = async (name: string) => {
    assert.equal((await server.put(`/home/${name}`, 'odd')).status, 202);
    return (await heldOf(server)).find(({ path }) => path === `/${name}`)?.id ?? '';
  };
  const act = (action: string, body: unknown, options: TestRequest = asReviewer) => console.post(`/api/held/${action}`, body, options);
  return { inspector, server, console, hold, act };
}

test('reviewers and operators release, discard and re-inspect held uploads; events name the administrator', async (t) => {
  const { inspector, server, console, hold, act } = await startHolding(t);
  const [a, b, c] = [await hold('a'), await hold('b'), await hold('c')];
  const { items } = (await console.get('/api/held', asViewer)).json<{
    items: { id: string; path: string; verdicts: { inspection: string; name: string }[] }[];
  }>();
  assert.deepEqual(items.map(({ path }) => path).sort(), ['/a', '/b', '/c']);
  assert.deepEqual(
    items[0]?.verdicts.map(({ inspection, name }) => [inspection, name]),
    [['check', 'Content check']],
  );
  assert.deepEqual((await act('release', { ids: [a, 'nothing'] })).json(), {
    results: [{ id: a }, { id: 'nothing', error: 'There is no such held upload.', code: 'not-found' }],
  });
  assert.deepEqual((await act('discard', { ids: [b], reason: 'Not ours.' }, asOperator)).json(), { results: [{ id: b }] });
  inspector.decide = () => ({ status: 204 });
  assert.deepEqual((await act('inspect-again', { ids: [c] })).json(), { results: [{ id: c }] });
  await until('both files appear', () => visible(server.home).length === 2);
  assert.deepEqual(visible(server.home).sort(), ['a', 'c']);
  const events = await server.events();
  assert.equal(events.find(({ id }) => id === '40073')?.data.administrator, 'rita');
  const ended = events.find(({ id }) => id === '40074');
  assert.deepEqual([ended?.data.reason, ended?.data.administrator, ended?.data.details], ['discarded', 'olga', 'Not ours.']);
  const actions = events.filter(({ id }) => id === '20191').map(({ data }) => [data.action, data.administrator, data.target, data.ids]);
  assert.deepEqual(actions, [
    ['held-release', 'rita', '/a (alice)', [a]],
    ['held-discard', 'olga', '/b (alice)', [b]],
    ['held-inspect-again', 'rita', '/c (alice)', [c]],
  ]);
});

test('reviewers can change nothing but held uploads; viewers can neither decide about these nor read their content', async (t) => {
  const { server, console, hold, act } = await startHolding(t);
  const id = await hold('a');
  for (const action of ['release', 'discard', 'inspect-again']) assert.equal((await act(action, { ids: [id] }, asViewer)).status, 403);
  assert.equal((await console.get(`/api/held/${id}/content`, asViewer)).status, 403);
  assert.equal((await console.send('DELETE', '/api/locks?all=1', asReviewer)).status, 403);
  assert.equal((await console.post('/api/configuration/reload', {}, asReviewer)).status, 403);
  for (const body of [{}, { ids: [] }, { ids: id }, { ids: [id], other: 1 }])
    assert.equal((await act('release', body)).status, 400, JSON.stringify(body));
  assert.deepEqual(visible(server.home), []);
});

test('before a release, reviewers are told what has the name of each upload, and whether it is replaced', async (t) => {
  const inspector = await startInspector(t);
  const { server, console } = await startConsole(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
    account: { permissions: [['allow-full-control'], ['/in/*', 'allow-create-file', 'allow-list']], on_name_taken: 'number' },
  });
  const hold = async (name: string, options: TestRequest = {}) => {
    const reply = await server.put(`/home/${name}`, 'odd', options);
    assert.equal(reply.status, 202, reply.text);
    return String(reply.json<{ results: { held: string }[] }>().results[0]?.held);
  };
  await server.put('/home/old', 'fine');
  mkdirSync(join(server.home, 'in'));
  await server.put('/home/in/old', 'fine');
  const ids = [
    await hold('old'),
    await hold('new'),
    await hold('in/old'),
    await hold('only-new', { headers: { 'if-none-match': '*' } }),
    'nothing',
  ];
  writeFileSync(join(server.home, 'only-new'), 'came first');
  const ask = (options: TestRequest) => console.post('/api/held/targets', { ids }, options);
  const { results } = (await ask(asReviewer)).json<{
    results: { target?: { size: number; modified: string; outcome: string } | null }[];
  }>();
  const { mtimeMs } = statSync(join(server.home, 'old'));
  assert.deepEqual(results[0]?.target, { size: 4, modified: new Date(mtimeMs).toISOString(), outcome: 'replaced' });
  assert.equal(results[1]?.target, null);
  assert.equal(results[2]?.target?.outcome, 'numbered');
  assert.deepEqual([results[3]?.target?.size, results[3]?.target?.outcome], [10, 'refused']);
  assert.deepEqual(results[4], { id: 'nothing', error: 'There is no such held upload.', code: 'not-found' });
  assert.equal((await ask(asViewer)).status, 403);
  assert.deepEqual(visible(server.home).sort(), ['in', 'old', 'only-new']);
});

test('a held file of any type is downloaded as an attachment, and the download is an event', async (t) => {
  const { inspector, server, console } = await startHolding(t);
  inspector.decide = () => ({ status: 202 });
  const content = Buffer.alloc(3_000_000, '<script>alert(1)</script>');
  assert.equal((await server.put('/home/%22x%3By.html', content)).status, 202);
  const [item] = await heldOf(server);
  const target = `/api/held/${item?.id}/content`;
  const head = await console.send('HEAD', target, asReviewer);
  assert.deepEqual([head.status, head.headers['content-length']], [200, '3000000']);
  const reply = await console.get(target, asReviewer);
  assert.equal(reply.status, 200);
  assert.ok(reply.body.equals(content));
  assert.equal(reply.headers['content-type'], 'application/octet-stream');
  assert.match(String(reply.headers['content-disposition']), /^attachment; /);
  assert.equal(reply.headers['x-content-type-options'], 'nosniff');
  assert.match(String(reply.headers['content-security-policy']), /default-src 'none'/);
  const downloads = (await server.events()).filter(({ data }) => data.action === 'held-download');
  assert.deepEqual(
    downloads.map(({ data }) => data.administrator),
    ['rita'],
  );
  assert.equal((await console.get('/api/held/unknown/content', asOperator)).status, 404);
  assert.equal((await console.get('/api/held/..%2Fx/content', asOperator)).status, 404);
  const { items } = (await console.get('/api/held', asReviewer)).json<{ items: { real_path: string }[] }>();
  assert.ok(readFileSync(String(items[0]?.real_path)).equals(content));
  unlinkSync(String(items[0]?.real_path));
  assert.equal((await console.get(target, asReviewer)).status, 404);
  assert.deepEqual(visible(join(server.home)), []);
});
