import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { createTus, fillTus } from '../support/doors.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, testConfig } from '../support/server.ts';

test('tus gets 204 for accepted and held files, and 422 for refused ones; the ID of a held file is sent again', async (t) => {
  const server = await inspecting(t);
  const upload = async (name: string, content: string) => {
    const created = await createTus(server, { path: `/d/${name}` }, { 'upload-length': String(content.length) });
    assert.equal(created.status, 201);
    const url = String(created.headers.location);
    const headers = { 'tus-resumable': '1.0.0', 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
    return { url, reply: await server.send('PATCH', url, { body: content, headers }) };
  };
  assert.equal((await upload('fine', 'new')).reply.status, 204);
  assert.equal((await upload('refused', 'bad')).reply.status, 422);
  const { url, reply } = await upload('held', 'odd');
  assert.equal(reply.status, 204);
  const [item] = await heldOf(server);
  assert.equal(reply.headers.held, item?.id);
  assert.equal(reply.headers['upload-offset'], '3');
  const again = await fillTus(server, url, { 'upload-offset': '3' });
  assert.notEqual(again.status, 500);
  const asked = await server.send('PATCH', url, {
    headers: { 'tus-resumable': '1.0.0', 'upload-offset': '3', 'content-type': 'application/offset+octet-stream' },
  });
  assert.deepEqual([asked.status, asked.headers.held], [204, item?.id]);
  assert.deepEqual(visible(join(server.home, 'd')), ['fine']);
});

test('with public_error, the client gets only the message and the public response', async (t) => {
  const server = await inspecting(t, {}, { service: { public_error: true } });
  const reply = await server.put('/home/d/name', 'bad');
  assert.equal(reply.status, 422);
  const [error] = reply.json<{ errors: { message: string; inspection: string; response: unknown }[] }>().errors;
  assert.deepEqual(error, { message: 'Not this file.', inspection: 'check', response: { rule: 'r1' } });
});

test('the request to an inspection has all members of the contract, for each kind of content', async (t) => {
  for (const content of ['body', 'metadata', 'path']) {
    const server = await inspecting(t, { content }, { service: { metadata_fields: ['X-Meta', 'project'] } });
    await server.send('PUT', '/home/d/a%C3%A9.csv', { body: 'a,b\n', headers: { 'x-meta': 'project=x' } });
    const [request] = server.inspector.requests;
    const { facts, headers, body } = request as NonNullable<typeof request>;
    const digest = { 'sha-256': createHash('sha256').update('a,b\n').digest('base64') };
    const { real_path, modified, ...file } = facts.file as { real_path?: string; modified: number };
    const expected = { path: '/d/aé.csv', name: 'aé.csv', size: 4, digest, media_type: 'text/csv; charset=utf-8', replaces: false };
    assert.deepEqual(file, { ...expected, metadata: { project: ['x'] } });
    assert.ok(Math.abs(modified - Date.now() / 1000) < 3600);
    assert.deepEqual([facts.inspection.uuid, facts.inspection.name], ['check', 'check']);
    assert.deepEqual(facts.account, { username: 'alice', uuid: 'alice', group: 'DEFAULT_GROUP' });
    assert.deepEqual(facts.client, { address: '127.0.0.1' });
    assert.deepEqual(facts.creator, { uuid: 'web', type: 'http' });
    if (content === 'body') {
      assert.equal(body.toString(), 'a,b\n');
      assert.equal(headers['content-length'], '4');
      assert.equal(headers['repr-digest'], `sha-256=:${digest['sha-256']}:`);
      assert.equal(headers['content-type'], 'text/csv; charset=utf-8');
    } else assert.match(String(headers['content-type']), /^application\/json/);
    assert.equal(real_path !== undefined, content === 'path');
    if (real_path) assert.match(real_path, /\/d\/\.svc-[0-9a-f]{24}\.part$/);
  }
});

test('metadata that is too long for a header is omitted, and the request says so', async (t) => {
  const server = await inspecting(t, {}, { service: { metadata_fields: ['X-Meta'] } });
  await server.send('PUT', '/home/d/a', { body: 'x', headers: { 'x-meta': `key=${'v'.repeat(9000)}` } });
  const [request] = server.inspector.requests;
  assert.equal(request?.facts.truncated, true);
  assert.equal(request?.facts.file.metadata, undefined);
});

test('if an inspection is late, the upload is held until the verdict arrives', async (t) => {
  for (const [status, isThere] of [
    [204, true],
    [422, false],
  ] as const) {
    const server = await inspecting(t, { answer_within: 0.1 });
    assert.equal((await server.put('/home/d/name', 'wait')).status, 202);
    const [item] = await heldOf(server);
    assert.deepEqual([item?.state, item?.reason], ['inspecting', 'late']);
    server.inspector.answerAll(status);
    await until('the upload is no longer held', async () => (await heldOf(server)).length === 0);
    assert.deepEqual(visible(join(server.home, 'd')), isThere ? ['name'] : []);
    assert.deepEqual(hidden(join(server.home, 'd')), []);
    await until('the last event of the upload', async () => (await server.eventIds()).includes(isThere ? 40017 : 40022));
    const ended = (await server.events()).find(({ id }) => id === (isThere ? '40073' : '40074'));
    assert.equal(ended?.data.held_id, item?.id);
    if (!isThere) assert.equal(ended?.data.reason, 'refused');
    else assert.equal(ended?.data.administrator, undefined);
  }
});

test('a restart repeats unfinished inspections', async (t) => {
  const server = await inspecting(t, { answer_within: 0.1 });
  assert.equal((await server.put('/home/d/name', 'wait')).status, 202);
  const { inspector, folder } = server;
  await server.stop();
  inspector.answerAll(204);
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: () => {} });
  const config = await testConfig(folder, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [[], ['/d/*', 'check']] },
  });
  const next = new Server(config, { clock: systemClock, log });
  await next.start();
  try {
    await until('the file is visible', () => visible(join(folder, 'home/d')).length === 1);
  } finally {
    await next.stop();
  }
});

test('a newer upload of the same name ends a held one unless the newer one is refused', async (t) => {
  const server = await inspecting(t);
  await server.put('/home/d/name', 'odd 1');
  const [first] = await heldOf(server);
  await server.put('/home/d/name', 'bad');
  assert.deepEqual(
    (await heldOf(server)).map(({ id }) => id),
    [first?.id],
  );
  await server.put('/home/d/name', 'odd 2');
  const [second, ...others] = await heldOf(server);
  assert.deepEqual(others, []);
  assert.notEqual(second?.id, first?.id);
  await server.put('/home/d/name', 'fine');
  assert.deepEqual(await heldOf(server), []);
  const ended = (await server.events()).filter(({ id }) => id === '40074');
  assert.deepEqual(
    ended.map(({ data }) => [data.held_id, data.reason]),
    [
      [first?.id, 'superseded'],
      [second?.id, 'superseded'],
    ],
  );
});

test('an account withdraws a held upload; a moved file goes back to its old place', async (t) => {
  const server = await inspecting(t);
  await server.put('/home/d/name', 'odd');
  const withdraw = async () => (await server.send('DELETE', `/home/__svc__/held/${(await heldOf(server))[0]?.id}`)).status;
  assert.equal(await withdraw(), 204);
  assert.deepEqual(hidden(join(server.home, 'd')), []);
  for (const back of ['spare.txt', 'spare (2).txt']) {
    writeFileSync(join(server.home, 'spare.txt'), 'odd');
    assert.equal((await server.send('MOVE', '/home/spare.txt', { headers: { destination: '/home/d/name' } })).status, 202);
    if (back !== 'spare.txt') writeFileSync(join(server.home, 'spare.txt'), 'another');
    assert.equal(await withdraw(), 204);
    assert.equal(readFileSync(join(server.home, back), 'utf8'), 'odd');
  }
  assert.deepEqual(visible(join(server.home, 'd')), []);
});

test('held uploads of other accounts are invisible', async (t) => {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
    accounts: { bob: { password: await cheapHash(testPassword) } },
  });
  await server.put('/home/name', 'odd');
  const [item] = await heldOf(server);
  const bob = { user: `bob:${testPassword}` };
  assert.deepEqual((await server.send('GET', '/home/__svc__/held/', bob)).json(), { held: [] });
  for (const method of ['GET', 'DELETE']) assert.equal((await server.send(method, `/home/__svc__/held/${item?.id}`, bob)).status, 404);
  assert.equal((await server.send('GET', `/home/__svc__/held/${item?.id}`)).status, 200);
});

test('a held upload beyond maximum_per_account gets 429, and nothing of it is kept', async (t) => {
  const server = await inspecting(t, {}, { server: { held: { maximum_per_account: 2 } } });
  for (const name of ['a', 'b']) assert.equal((await server.put(`/home/d/${name}`, 'odd')).status, 202);
  assert.equal((await server.put('/home/d/c', 'odd')).status, 429);
  assert.equal(hidden(join(server.home, 'd')).length, 2);
});

test('with answer: refuse, clients get 422 for a held file', async (t) => {
  const server = await inspecting(t, {}, { server: { held: { answer: 'refuse' } } });
  assert.equal((await server.put('/home/d/name', 'odd')).status, 422);
  assert.equal((await heldOf(server)).length, 1);
});

test('MOVE gives a held upload another name in its folder, for its own account only', async (t) => {
  const bob = { user: `bob:${testPassword}` };
  const server = await inspecting(t, {}, { accounts: { bob: { password: await cheapHash(testPassword) } } });
  await server.put('/home/d/x.tmp', 'odd');
  const move = (to: string, options = {}) => server.send('MOVE', '/home/d/x.tmp', { headers: { destination: `/home${to}` }, ...options });
  assert.equal((await move('/d/x', bob)).status, 404);
  assert.equal((await move('/x')).status, 422);
  server.inspector.decide = () => ({ status: 204 });
  assert.equal((await server.put('/home/d/taken', 'old')).status, 201);
  assert.equal((await move('/d/taken', { headers: { destination: '/home/d/taken', overwrite: 'F' } })).status, 412);
  server.inspector.decide = undefined;
  const moved = await move('/d/x');
  const [item] = await heldOf(server);
  assert.deepEqual([moved.status, moved.headers.location], [202, `/home/__svc__/held/${item?.id}`]);
  assert.equal(item?.path, '/d/x');
  const told = (await server.events()).filter(({ id }) => id === '40072').map(({ data }) => [data.path, data.moved_from]);
  assert.deepEqual(told, [
    ['/d/x.tmp', undefined],
    ['/d/x', '/d/x.tmp'],
  ]);
});
